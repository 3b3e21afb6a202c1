"""Rules of the quarantine.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import MEMBER, READER, PolicyRule, rule_defaults

_ENTRY = "/quarantine/{quarantined_id}"

_RULES = (
    PolicyRule("quarantine:index", READER, method="GET", path="/quarantine"),
    PolicyRule("quarantine:retry", MEMBER, method="POST", path=f"{_ENTRY}/retry"),
    PolicyRule("quarantine:dismiss", MEMBER, method="DELETE", path=_ENTRY),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
