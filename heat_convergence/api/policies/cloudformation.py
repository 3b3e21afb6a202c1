"""Rules of the CloudFormation-compatible API.

Registered through ``rules``; a table, and nothing else.
Source: heat-facts/policies.json.
"""

from __future__ import annotations

from oslo_policy import policy

from heat_convergence.api.policies.base import (
    ALLOW_EVERYBODY,
    MEMBER,
    READER,
    READER_OR_STACK_USER,
    Rule,
    defaults,
)

_RULES = (
    Rule("cloudformation:ListStacks", READER),
    Rule("cloudformation:CreateStack", MEMBER),
    Rule("cloudformation:DescribeStacks", READER),
    Rule("cloudformation:DeleteStack", MEMBER),
    Rule("cloudformation:UpdateStack", MEMBER),
    Rule("cloudformation:CancelUpdateStack", MEMBER),
    Rule("cloudformation:DescribeStackEvents", READER),
    Rule("cloudformation:ValidateTemplate", READER),
    Rule("cloudformation:GetTemplate", READER),
    Rule("cloudformation:EstimateTemplateCost", READER),
    Rule("cloudformation:DescribeStackResource", READER_OR_STACK_USER, ALLOW_EVERYBODY),
    Rule("cloudformation:DescribeStackResources", READER),
    Rule("cloudformation:ListStackResources", READER),
)


def list_rules() -> list[policy.RuleDefault]:
    return defaults(_RULES)
