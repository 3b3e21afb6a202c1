"""The parameters of the templates behind resources, as ``validate`` tells of them.

Source: heat-facts ``rest_api.md``, view ``validate``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.nesting.facades import Nested
from heat_convergence.template import describe

Json = Any


def nested_view(nested: Mapping[str, Nested]) -> dict[str, Json]:
    """``NestedParameters`` by resource, all the way down; nothing without any."""
    if not nested:
        return {}
    return {
        "NestedParameters": {
            name: {
                "Type": each.type,
                **describe.template_view(each.evaluated),
                **nested_view(each.nested),
            }
            for name, each in nested.items()
        }
    }
