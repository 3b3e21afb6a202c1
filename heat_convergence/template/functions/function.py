"""The interface between the evaluator and the template functions.

Functions are pure: they receive their evaluated arguments and a scope.  They must not
know templates, environments or stacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Any, Final, Protocol

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template.evaluation_budget import EvaluationBudget
from heat_convergence.template.expression import Expression

Json = Any
Value = Any


class Marker(Enum):
    """Results of a function that are not values."""

    UNKNOWN = "unknown"  # not available yet: the call stays an expression
    OMIT = "omit"  # drop the member, key or property that the call is the value of


UNKNOWN: Final = Marker.UNKNOWN
OMIT: Final = Marker.OMIT


class FunctionError(Exception):
    """A call is invalid; ``error`` is the error for the client."""

    def __init__(self, message: str, error: Error | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.error = error or StackValidationFailed(message)


class FunctionScope(Protocol):
    """The data that a function may read.

    Every method may return ``UNKNOWN`` and may raise ``FunctionError``.

    Attributes:
        budget: The work that the evaluation may still take.  The evaluator charges it for the
            arguments and the result of every call; a function whose work is not proportional to
            them charges it for the rest before it begins.
    """

    budget: EvaluationBudget

    def parameter(self, name: str) -> Json:
        """Return the value of a parameter."""

    def has_parameter(self, name: str) -> bool:
        """Return whether the template declares the parameter."""

    def file(self, name: str) -> Json:
        """Return the content of a file of the request."""

    def facade(self, key: str) -> Json:
        """Return a section of the resource that this stack implements in its parent."""

    def mapping(self, name: str) -> Json:
        """Return a map of the Mappings section (CFN)."""

    def availability_zones(self) -> Json:
        """Return the names of the availability zones."""

    def reference_id(self, resource: str) -> Json:
        """Return the reference id of another resource."""

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """Return an attribute with ``path`` applied, or all attributes if ``name`` is None."""


def _accept_any(arguments: Value) -> None:
    """Accept arguments of any form."""


@dataclass(frozen=True, slots=True)
class Function:
    """A template function.

    Attributes:
        summary: A sentence for the API's list of functions.
        evaluate: Returns the result for arguments without expressions.
        check: Checks the form of arguments that may still hold expressions.  Like
            ``evaluate``, it raises ``FunctionError``.
        referenced_resource: Returns the resource's name from the arguments, for functions
            that make the resource a dependency.
        simplify: Returns smaller, equivalent arguments while some are still unresolved.
    """

    summary: str
    evaluate: Callable[[Json, FunctionScope], Value]
    check: Callable[[Value], None] = _accept_any
    referenced_resource: Callable[[Value], Value] | None = None
    simplify: Callable[[Value], Value] | None = None


NO_FUNCTIONS: Mapping[str, Function] = {}


def is_unresolved(value: Value) -> bool:
    """Return whether the value is an expression, which may resolve to any value."""
    return isinstance(value, Expression)


def json_type_name(value: Json) -> str:
    """Return the JSON name of a value's type."""
    names = {dict: "map", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def require_list(
    value: Value, form: str, *, at_least: int = 0, at_most: int | None = None
) -> None:
    """Raise ``FunctionError`` unless the arguments are a list of the right length.

    ``form`` shows the expected arguments.
    """
    if is_unresolved(value):
        return
    if not isinstance(value, list):
        raise FunctionError(f"Arguments must be a list of the form {form}")
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        raise FunctionError(f"Wrong number of arguments ({len(value)}); the form is {form}")


def require_map(
    value: Value, form: str, *, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> None:
    """Raise ``FunctionError`` unless the arguments are a map with the right keys.

    All ``required`` keys must be present, and no others except the ``optional`` ones.
    """
    if is_unresolved(value):
        return
    if not isinstance(value, dict):
        raise FunctionError(f"Arguments must be a map of the form {form}")
    for key in required:
        if key not in value:
            raise FunctionError(f'"{key}" is missing; the form is {form}')
    for key in value:
        if key not in required and key not in optional:
            raise FunctionError(f'"{key}" is not an argument; the form is {form}')


def require_string(value: Value, description: str) -> None:
    """Raise ``FunctionError`` unless the value is a string or unresolved."""
    if not isinstance(value, str) and not is_unresolved(value):
        raise FunctionError(f"{description} must be a string, not a {json_type_name(value)}")


def require_type(value: Value, expected_type: type, description: str) -> None:
    """Raise ``FunctionError`` unless the value is of the type, null or unresolved."""
    if value is not None and not isinstance(value, expected_type) and not is_unresolved(value):
        expected_name = "map" if expected_type is dict else "list"
        raise FunctionError(
            f"{description} must be a {expected_name}, not a {json_type_name(value)}"
        )


def merge_adjacent(
    parts: Value, fits: Callable[[Value], bool], join: Callable[[list[Json]], Json]
) -> Value:
    """Return a list in which neighbouring parts that fit are joined into one."""
    if not isinstance(parts, list):
        return parts
    joined: list[Value] = []
    for is_fitting, run in groupby(parts, fits):
        members = list(run)
        joined += [join(members)] if is_fitting and len(members) > 1 else members
    return joined


def to_json_text(value: Json) -> str:
    """Return the text that stands for a map or list inside a string."""
    return json.dumps(value, sort_keys=True)


def select_path(value: Json, path: Sequence[Json], missing: Json) -> Json:
    """Follow a path into maps by key, and into lists and strings by index."""
    for part in path:
        if isinstance(value, dict):
            key = part if isinstance(part, str) else _key_text(part)
            if key not in value:
                return missing
            value = value[key]
        elif isinstance(value, list | str):
            index = _index(part)
            if index is None or not -len(value) <= index < len(value):
                return missing
            value = value[index]
        else:
            return missing
    return value


def _key_text(part: Json) -> str:
    return json.dumps(part)


def _index(part: Json) -> int | None:
    if isinstance(part, bool) or not isinstance(part, int | str):
        return None
    try:
        return int(part)
    except ValueError:
        return None
