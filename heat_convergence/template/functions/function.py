"""What a template function is, and what it may ask.

Decides the contract between the evaluator and the functions.  Functions are pure:
they see their arguments, already evaluated, and a scope; they must not know
templates, environments or stacks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Any, Final, Protocol

from heat_convergence.common.errors import Error, StackValidationFailed
from heat_convergence.template.expression import Expression
from heat_convergence.template.limits import TemplateLimits

Json = Any
Value = Any


class Marker(Enum):
    """Results that are no values."""

    UNKNOWN = "unknown"  # not to be had yet: the call stays as an expression
    OMIT = "omit"  # drop the member, key or property that the call stands for


UNKNOWN: Final = Marker.UNKNOWN
OMIT: Final = Marker.OMIT


class FunctionError(Exception):
    """A call that cannot be right; ``error`` is what the client is to get."""

    def __init__(self, message: str, error: Error | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.error = error or StackValidationFailed(message)


class FunctionScope(Protocol):
    """What a function may ask.  Each answer may be ``MISSING_REFERENCES``, and each question
    may raise ``FunctionError``."""

    yaql_steps_left: int  # of YAQL, for all that is evaluated within this scope

    @property
    def limits(self) -> TemplateLimits: ...

    def charge(self, size: int) -> None:
        """Account for a result; raises ``RequestLimitExceeded`` beyond the limit."""

    def parameter(self, name: str) -> Json: ...
    def has_parameter(self, name: str) -> bool: ...
    def file(self, name: str) -> Json: ...
    def facade(self, key: str) -> Json: ...
    def mapping(self, name: str) -> Json: ...
    def availability_zones(self) -> Json: ...

    def reference_id(self, resource: str) -> Json: ...

    def attribute(self, resource: str, name: str | None, path: tuple[Json, ...]) -> Json:
        """The attribute, with ``path`` applied; all attributes when ``name`` is None."""


def _anything(arguments: Value) -> None:
    """Any shape will do."""


@dataclass(frozen=True, slots=True)
class Function:
    """``check`` looks at the shape of arguments that may still hold expressions,
    ``evaluate`` gets arguments without any.  Both raise ``FunctionError``.

    ``referenced_resource`` picks the resource's name out of the arguments, for functions that
    make the resource a dependency.  ``simplify`` gives arguments that come to the same
    and are smaller, where some have to wait.  ``summary`` is shown in the API's list.
    """

    summary: str
    evaluate: Callable[[Json, FunctionScope], Value]
    check: Callable[[Value], None] = _anything
    referenced_resource: Callable[[Value], Value] | None = None
    simplify: Callable[[Value], Value] | None = None


NO_FUNCTIONS: Mapping[str, Function] = {}


def is_unresolved(value: Value) -> bool:
    """Whether it is still to be evaluated, and may turn out to be anything."""
    return isinstance(value, Expression)


def json_type_name(value: Json) -> str:
    names = {dict: "map", list: "list", str: "string", bool: "boolean", type(None): "null"}
    return names.get(type(value), "number")


def require_list(
    value: Value, form: str, *, at_least: int = 0, at_most: int | None = None
) -> None:
    """``form`` shows what the arguments should look like."""
    if is_unresolved(value):
        return
    if not isinstance(value, list):
        raise FunctionError(f"Arguments must be a list of the form {form}")
    if len(value) < at_least or (at_most is not None and len(value) > at_most):
        raise FunctionError(f"Wrong number of arguments ({len(value)}); the form is {form}")


def require_map(
    value: Value, form: str, *, required: Sequence[str] = (), optional: Sequence[str] = ()
) -> None:
    """A map with the required keys and none but the optional ones beside."""
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


def require_string(value: Value, what: str) -> None:
    if not isinstance(value, str) and not is_unresolved(value):
        raise FunctionError(f"{what} must be a string, not a {json_type_name(value)}")


def require_type(value: Value, kind: type, what: str) -> None:
    """A map or list; null will do as an empty one."""
    if value is not None and not isinstance(value, kind) and not is_unresolved(value):
        wanted = "map" if kind is dict else "list"
        raise FunctionError(f"{what} must be a {wanted}, not a {json_type_name(value)}")


def merge_adjacent(
    parts: Value, fits: Callable[[Value], bool], join: Callable[[list[Json]], Json]
) -> Value:
    """A list in which neighbours that fit are joined to one part."""
    if not isinstance(parts, list):
        return parts
    joined: list[Value] = []
    for together, run in groupby(parts, fits):
        members = list(run)
        joined += [join(members)] if together and len(members) > 1 else members
    return joined


def to_json_text(value: Json) -> str:
    """The form in which maps and lists go into strings."""
    return json.dumps(value, sort_keys=True)


def select_path(value: Json, path: Sequence[Json], missing: Json) -> Json:
    """Walk into maps by key, and into lists and strings by index."""
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
