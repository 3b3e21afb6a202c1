"""Every policy rule of the API, gathered for oslo.policy and its tools.

Called by the enforcer and, through the entry point ``oslo.policy.policies``, by
the sample generator.  Decides nothing; the defaults stand in the files beside it.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies import (
    base,
    cloudformation,
    drift,
    plans,
    quarantine,
    resource_types,
    resources,
    service,
    software,
    stacks,
)


def list_rules() -> list[policy.RuleDefault]:
    """All rules, base rules first."""
    return [
        *base.list_rules(),
        *stacks.list_rules(),
        *resources.list_rules(),
        *drift.list_rules(),
        *quarantine.list_rules(),
        *plans.list_rules(),
        *resource_types.list_rules(),
        *service.list_rules(),
        *software.list_rules(),
        *cloudformation.list_rules(),
    ]
