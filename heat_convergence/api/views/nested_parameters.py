"""The parameters of the templates behind resources, as ``validate_properties`` tells of them.

Source: heat-facts ``rest_api.md``, view ``validate_properties``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.stacks.goal.nested_validation import ValidatedNestedStack
from heat_convergence.template import template_views

Json = Any


def format_nested_parameters(nested: Mapping[str, ValidatedNestedStack]) -> dict[str, Json]:
    """``NestedParameters`` by resource, all the way down; nothing without any."""
    if not nested:
        return {}
    return {
        "NestedParameters": {
            name: {
                "Type": each.resource_type,
                **template_views.template_view(each.evaluated),
                **format_nested_parameters(each.nested),
            }
            for name, each in nested.items()
        }
    }
