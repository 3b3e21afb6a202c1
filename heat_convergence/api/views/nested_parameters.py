"""The parameters of nested templates, as ``validate`` shows them.

Called by the controller that validates templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.stacks.goal.validation_target import ValidatedNestedStack
from heat_convergence.template import template_views

Json = Any


def format_nested_parameters(nested: Mapping[str, ValidatedNestedStack]) -> dict[str, Json]:
    """Return ``NestedParameters`` by resource, recursively; nothing without any."""
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
