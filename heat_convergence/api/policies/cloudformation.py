"""Rules of the CloudFormation-compatible API.

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

_RULES = (
    PolicyRule("cloudformation:ListStacks", READER),
    PolicyRule("cloudformation:CreateStack", MEMBER),
    PolicyRule("cloudformation:DescribeStacks", READER),
    PolicyRule("cloudformation:DeleteStack", MEMBER),
    PolicyRule("cloudformation:UpdateStack", MEMBER),
    PolicyRule("cloudformation:CancelUpdateStack", MEMBER),
    PolicyRule("cloudformation:DescribeStackEvents", READER),
    PolicyRule("cloudformation:ValidateTemplate", READER),
    PolicyRule("cloudformation:GetTemplate", READER),
    PolicyRule("cloudformation:EstimateTemplateCost", READER),
    PolicyRule("cloudformation:DescribeStackResource", READER_OR_STACK_USER, ALLOW_EVERYBODY),
    PolicyRule("cloudformation:DescribeStackResources", READER),
    PolicyRule("cloudformation:ListStackResources", READER),
)


def list_rules() -> list[policy.RuleDefault]:
    """Return the defaults of this module's rules."""
    return rule_defaults(_RULES)
