"""Rules of software configurations and deployments.

Registered through ``rules``; a table, and nothing else.
Source: docs/reference/policies.rst.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    DENY_EVERYBODY,
    MEMBER,
    READER,
    READER_OR_STACK_USER,
    PolicyRule,
    rule_defaults,
)

_RULES = (
    PolicyRule("software_configs:index", READER, method="GET", path="/software_configs"),
    PolicyRule("software_configs:create", MEMBER, method="POST", path="/software_configs"),
    PolicyRule(
        "software_configs:show", READER, method="GET", path="/software_configs/{config_id}"
    ),
    PolicyRule(
        "software_configs:delete", MEMBER, method="DELETE", path="/software_configs/{config_id}"
    ),
    PolicyRule("software_deployments:index", READER, method="GET", path="/software_deployments"),
    PolicyRule("software_deployments:create", MEMBER, method="POST", path="/software_deployments"),
    PolicyRule(
        "software_deployments:show",
        READER,
        method="GET",
        path="/software_deployments/{deployment_id}",
    ),
    PolicyRule(
        "software_deployments:update",
        MEMBER,
        method="PUT",
        path="/software_deployments/{deployment_id}",
    ),
    PolicyRule(
        "software_deployments:delete",
        MEMBER,
        method="DELETE",
        path="/software_deployments/{deployment_id}",
    ),
    PolicyRule(
        "software_deployments:metadata",
        READER_OR_STACK_USER,
        None,
        method="GET",
        path="/software_deployments/metadata/{server_id}",
    ),
)

# Asked beside the rule of the route, when a request is not for one project alone.
_GLOBAL = (policy.RuleDefault("software_configs:global_index", DENY_EVERYBODY),)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return [*rule_defaults(_RULES), *_GLOBAL]
