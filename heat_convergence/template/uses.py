"""What a partly evaluated value reads of other resources.

Called for dependencies, and by whoever checks attributes against the types'
schemas.  Must not evaluate anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template.expression import Expression, expressions
from heat_convergence.template.folding import find_function
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function

Value = Any


@dataclass(frozen=True, slots=True)
class AttributeUse:
    """One reading of an attribute; ``attribute`` None reads all of them.

    ``where`` is the place within the value that was asked about.  ``path`` may hold
    expressions.
    """

    resource: str
    attribute: str | None
    path: tuple[Value, ...]
    where: str


def references(value: Value, functions: Mapping[str, Function] = NO_FUNCTIONS) -> frozenset[str]:
    """The names of the resources whose values it reads."""
    found = set()
    for _, call in expressions(value):
        function = find_function(call.function, call.variant, functions)
        if function.refers_to is not None:
            name = function.refers_to(call.arguments)
            if isinstance(name, str):
                found.add(name)
    return frozenset(found)


def attribute_uses(value: Value) -> Iterator[AttributeUse]:
    """Every reading of an attribute in a partly evaluated value."""
    for where, call in expressions(value):
        if call.function not in ("get_attr", "Fn::GetAtt"):
            continue
        if not isinstance(call.arguments, list) or not call.arguments:
            continue  # told as a mistake, or left to whoever reads an output
        resource, *rest = call.arguments
        name = rest[0] if rest else None
        if isinstance(resource, str) and not isinstance(name, Expression):
            yield AttributeUse(resource, name, tuple(rest[1:]), where)
