"""Rules of drift.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import READER, PolicyRule, rule_defaults

_RULES = (
    PolicyRule("drift:index", READER, method="GET", path="/drift"),
    PolicyRule("drift:show", READER, method="GET", path="/stacks/{stack_name}/{stack_id}/drift"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
