"""Rules of resources and events.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    ALLOW_EVERYBODY,
    MEMBER,
    READER,
    READER_OR_STACK_USER,
    PolicyRule,
    rule_defaults,
)

_STACK = "/stacks/{stack_name}/{stack_id}"

_RULES = (
    PolicyRule("events:index", READER, method="GET", path=_STACK + "/events"),
    PolicyRule(
        "events:show",
        READER,
        method="GET",
        path=_STACK + "/resources/{resource_name}/events/{event_id}",
    ),
    PolicyRule("resource:index", READER, method="GET", path=_STACK + "/resources"),
    PolicyRule(
        "resource:metadata",
        READER_OR_STACK_USER,
        ALLOW_EVERYBODY,
        method="GET",
        path=_STACK + "/resources/{resource_name}/metadata",
    ),
    PolicyRule(
        "resource:signal",
        READER_OR_STACK_USER,
        ALLOW_EVERYBODY,
        method="POST",
        path=_STACK + "/resources/{resource_name}/signal",
    ),
    PolicyRule(
        "resource:mark_unhealthy",
        MEMBER,
        method="PATCH",
        path=_STACK + "/resources/{resource_name}",
    ),
    PolicyRule("resource:show", READER, method="GET", path=_STACK + "/resources/{resource_name}"),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
