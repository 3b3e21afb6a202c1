"""Rules of drift.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import MEMBER, READER, PolicyRule, rule_defaults

_STACK_POLICY = "/stacks/{stack_name}/{stack_id}/drift/policy"
_REPAIRS = "/stacks/{stack_name}/{stack_id}/drift/repairs"

_RULES = (
    PolicyRule("drift:index", READER, method="GET", path="/drift"),
    PolicyRule("drift:show", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/drift"),
    PolicyRule("drift:show_policy", READER, method="GET", path=_STACK_POLICY),
    PolicyRule("drift:update_policy", MEMBER, method="PUT", path=_STACK_POLICY),
    PolicyRule("drift:list_repairs", READER, method="GET", path=_REPAIRS),
    PolicyRule("drift:resume_repairs", MEMBER, method="DELETE", path=_REPAIRS),
    PolicyRule("drift:list_breakers", READER, method="GET", path="/drift/breakers"),
    PolicyRule("drift:confirm_breakers", MEMBER, method="PUT", path="/drift/breakers"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
