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
from heat_convergence.template.text_redaction import mask_values

Json = Any
_MASKED = ("properties", "metadata", "update_policy")


def format_definition(data: Mapping[str, Json], contents: Mapping[str, str]) -> dict[str, Json]:
    """Return the evaluated definition, with unresolved calls as maps.

    A call is ``{"$call": [function, variant, arguments]}``.
    """
    shown = restore_definition(data, contents)
    if shown.get("sensitive"):
        for key in _MASKED:
            if key in shown:
                shown[key] = expression.dump(mask_values(expression.load(shown[key])))
    return shown
