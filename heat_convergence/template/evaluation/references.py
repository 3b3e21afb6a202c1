"""What a partly evaluated value reads of other resources.

Called for dependencies, and by whoever checks attributes against the types'
schemas.  Must not evaluate anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template.evaluation.partial_evaluation import get_function
from heat_convergence.template.expression import Expression, iter_expressions
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function

Value = Any


@dataclass(frozen=True, slots=True)
class AttributeReference:
    """One reading of an attribute; ``attribute`` None reads all of them.

    ``where`` is the place within the value that was asked about.  ``path`` may hold
    expressions.
    """

    resource: str
    attribute: str | None
    path: tuple[Value, ...]
    location: str


def referenced_resources(
    value: Value, functions: Mapping[str, Function] = NO_FUNCTIONS
) -> frozenset[str]:
    """The names of the resources whose values it reads."""
    found = set()
    for _, call in iter_expressions(value):
        function = get_function(call.function, call.variant, functions)
        if function.referenced_resource is not None:
            name = function.referenced_resource(call.arguments)
            if isinstance(name, str):
                found.add(name)
    return frozenset(found)


def attribute_references(value: Value) -> Iterator[AttributeReference]:
    """Every reading of an attribute in a partly evaluated value."""
    for where, call in iter_expressions(value):
        if call.function not in ("get_attr", "Fn::GetAtt"):
            continue
        if not isinstance(call.arguments, list) or not call.arguments:
            continue  # told as a mistake, or left to whoever reads an output
        resource, *rest = call.arguments
        name = rest[0] if rest else None
        if isinstance(resource, str) and not isinstance(name, Expression):
            yield AttributeReference(resource, name, tuple(rest[1:]), where)
