"""Rules of stored plans.

Registered through ``rules``; a table, and nothing else. To execute a plan, a caller must pass the
rule of its action as well.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import MEMBER, READER, PolicyRule, rule_defaults

_PLANS = "/stacks/{stack_name}/{stack_id}/plans"

_RULES = (
    PolicyRule("plans:create", MEMBER, method="POST", path=_PLANS),
    PolicyRule("plans:index", READER, method="GET", path=_PLANS),
    PolicyRule("plans:show", READER, method="GET", path=_PLANS + "/{plan_id}"),
    PolicyRule("plans:delete", MEMBER, method="DELETE", path=_PLANS + "/{plan_id}"),
    PolicyRule("plans:execute", MEMBER, method="POST", path=_PLANS + "/{plan_id}/execute"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
