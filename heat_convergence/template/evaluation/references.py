"""The references to other resources in a partly evaluated value.

Called to find dependencies, and by callers that check attributes against the types'
schemas.  Must not evaluate anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template.evaluation.partial_evaluation import get_function
from heat_convergence.template.expression import is_known, iter_expressions
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function

Value = Any

NO_NAMES: frozenset[str] = frozenset()  # one object for the many that refer to nothing


@dataclass(frozen=True, slots=True)
class AttributeReference:
    """One reference to an attribute of a resource.

    Attributes:
        attribute: The attribute's name; None refers to all attributes.
        path: The path into the attribute; it may hold expressions.
        location: The position within the value that was searched.
        function: The name of the function that refers to it.
    """

    resource: str
    attribute: str | None
    path: tuple[Value, ...]
    location: str
    function: str


def referenced_resources(
    value: Value, functions: Mapping[str, Function] = NO_FUNCTIONS
) -> frozenset[str]:
    """Return the names of the resources whose values the value reads."""
    if is_known(value):
        return NO_NAMES
    found: set[str] = set()
    for _, call in iter_expressions(value):
        function = get_function(call.function, call.variant, functions)
        if function.referenced_resource is not None:
            name = function.referenced_resource(call.arguments)
            if isinstance(name, str):
                found.add(name)
    return frozenset(found) if found else NO_NAMES


def attribute_references(value: Value) -> Iterator[AttributeReference]:
    """Yield every reference to an attribute in a partly evaluated value."""
    if is_known(value):
        return
    for location, call in iter_expressions(value):
        if call.function not in ("get_attr", "Fn::GetAtt"):
            continue
        if not isinstance(call.arguments, list) or not call.arguments:
            continue  # Reported as an error, or raised when the output is read.
        resource, *rest = call.arguments
        name = rest[0] if rest else None
        if isinstance(resource, str) and (name is None or isinstance(name, str)):
            yield AttributeReference(resource, name, tuple(rest[1:]), location, call.function)
