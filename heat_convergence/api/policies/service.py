"""Rules of the service itself.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    ADMIN,
    CONTEXT_IS_ADMIN,
    READER,
    SERVICE_ADMIN,
    PolicyRule,
    rule_defaults,
)

_RULES = (
    PolicyRule("inventory:index", READER, method="GET", path="/inventory"),
    PolicyRule("build_info:build_info", READER, method="GET", path="/build_info"),
    PolicyRule("service:index", ADMIN, CONTEXT_IS_ADMIN),
    PolicyRule("service:overview", SERVICE_ADMIN, None, method="GET", path="/overview"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
