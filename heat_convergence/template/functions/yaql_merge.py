"""YAQL's ``mergeWith``, in a time that the second map decides.

Registered by ``yaql_sandbox`` in place of the library's function, which looks at each key of the
first map: ``$.reduce($1.mergeWith($2), {})`` over the maps of a thousand nodes then looks at half
a million keys.  The result is the same.
"""

# The library's decorators are untyped.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from yaql.language import specs, utils, yaqltypes
from yaql.standard_library import queries

Value = Any


@dataclass(frozen=True, slots=True)
class _Mergers:
    """The merging of two lists, and of two other values, that a key has in both maps."""

    merge_lists: Callable[[Value, Value], Value]
    merge_items: Callable[[Value, Value], Value]


@specs.method
@specs.name("mergeWith")
@specs.parameter("d", utils.MappingType, alias="dict")
@specs.parameter("another", utils.MappingType)
@specs.parameter("list_merger", yaqltypes.Lambda())
@specs.parameter("item_merger", yaqltypes.Lambda())
@specs.parameter("max_levels", int)
@specs.inject("to_list", yaqltypes.Delegate("to_list", method=True))
def merge_with(  # noqa: PLR0913  # the parameters of the library's function
    engine: Any,
    to_list: Callable[[Value], Value],
    d: Mapping[Value, Value],
    another: Mapping[Value, Value],
    list_merger: Callable[[Value, Value], Value] | None = None,
    item_merger: Callable[[Value, Value], Value] | None = None,
    max_levels: int = 0,
) -> dict[Value, Value]:
    """Return both maps in one; maps and lists that they have in common are merged, too."""

    def join(one: Value, other: Value) -> Value:
        return to_list(queries.distinct(engine, one + other))

    mergers = _Mergers(list_merger or join, item_merger or (lambda _one, other: other))
    return _merge(d, another, mergers, max_levels)


def _merge(
    one: Mapping[Value, Value], other: Mapping[Value, Value], mergers: _Mergers, max_levels: int
) -> dict[Value, Value]:
    """Merge maps; ``max_levels`` is 1 where their values are taken as they are, 0 without end."""
    result = dict(one)
    for key, value in other.items():
        result[key] = (
            _merge_values(result[key], value, mergers, max_levels) if key in one else value
        )
    return result


def _merge_values(one: Value, other: Value, mergers: _Mergers, max_levels: int) -> Value:
    if max_levels != 1 and isinstance(other, utils.MappingType):
        _require(isinstance(one, utils.MappingType), one, other)
        return _merge(one, other, mergers, max_levels - 1 if max_levels else 0)
    if max_levels != 1 and utils.is_sequence(other):
        _require(utils.is_sequence(one), one, other)
        return mergers.merge_lists(one, other)
    return mergers.merge_items(one, other)


def _require(alike: bool, one: Value, other: Value) -> None:
    if not alike:
        names = (type(one).__name__, type(other).__name__)
        raise TypeError("Cannot merge {} with {}".format(*names))
