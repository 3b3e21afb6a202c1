"""A stored definition for users who debug a template.

Called by the controller that shows a resource, for its owner.  Decides what is masked:
once the value of a hidden parameter is part of a definition, it cannot be told from the
other values any more, so that every plain value is masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.template import expression
from heat_convergence.template.evaluation.resource_definition import restore_definition
from heat_convergence.template.text_redaction import MASK

Json = Any
_MASKED = ("properties", "metadata", "update_policy")
_NAMING = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})  # resources, no values


def format_definition(data: Mapping[str, Json], contents: Mapping[str, str]) -> dict[str, Json]:
    """Return the evaluated definition, with unresolved calls as maps.

    A call is ``{"$call": [function, variant, arguments]}``.
    """
    shown = restore_definition(data, contents)
    if shown.get("sensitive"):
        for key in _MASKED:
            if key in shown:
                shown[key] = expression.dump(_masked(expression.load(shown[key])))
    return shown


def _masked(value: Any) -> Any:
    if isinstance(value, expression.Expression):
        if value.function in _NAMING:
            return value
        return expression.Expression(value.function, value.variant, _masked(value.arguments))
    if isinstance(value, Mapping):
        return {key: _masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item) for item in value]
    return value if value is None or isinstance(value, bool) else MASK
