"""The columns of a resource's parts, for stores and for changes of several parts.

``COLUMNS`` stands for the mapping once: stores write and read rows by it, transitions
and plans set columns by it.  Knows no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any, TypedDict, Unpack

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import (
    ActionState,
    DesiredDefinition,
    LastObservation,
    PhysicalState,
    Resource,
    ResourceIdentity,
    ResourceJob,
    ResourceLease,
)

_PARTS: Mapping[str, Any] = {
    "identity": ResourceIdentity,
    "desired": DesiredDefinition,
    "job": ResourceJob,
    "lease": ResourceLease,
    "observation": LastObservation,
    "physical": PhysicalState,
    "state": ActionState,
}
_OTHER_NAMES = {
    ("desired", "state"): "desired",
    ("job", "verb"): "job",
    ("job", "state"): "job_state",
    ("lease", "owner"): "lease_owner",
    ("lease", "token"): "lease_token",
    ("lease", "expires_at"): "lease_expires_at",
    ("observation", "state"): "observed",
    ("physical", "id"): "physical_id",
    ("physical", "dependencies"): "physical_dependencies",
    ("state", "reason"): "status_reason",
    ("state", "started_at"): "action_started_at",
}
"""The columns that are not called as the field is."""

COLUMNS: Mapping[str, tuple[str, str]] = {
    _OTHER_NAMES.get((part, field.name), field.name): (part, field.name)
    for part, part_type in _PARTS.items()
    for field in fields(part_type)
}
"""Column → part of the resource and its field; all columns of a part in the fields' order."""

_get_parts: Callable[[Resource], tuple[Any, ...]] = attrgetter(*_PARTS)
_READERS: Sequence[tuple[Any, Callable[[Any], tuple[Any, ...]]]] = tuple(
    (part_type, attrgetter(*(field.name for field in fields(part_type))))
    for part_type in _PARTS.values()
)
"""For each part its type and the function that returns the values of its fields."""

_get_all: Callable[[Resource], tuple[Any, ...]] = attrgetter(
    *(".".join(each) for each in COLUMNS.values())
)


WIDE_COLUMNS: Mapping[str, Any] = {
    "definition": {},
    "properties": None,
    "attributes": {},
    "data": {},
}
"""The columns that narrow rows leave out, and the values that they have instead."""

_NO_VALUES: Mapping[str, Any] = {"lease": ResourceLease(), "observation": LastObservation()}
"""Parts without values, as most rows have them: they share these instances."""


def _find_values() -> Iterator[tuple[Any, slice, tuple[Any, ...] | None, Any]]:
    start = 0
    for part, part_type in _PARTS.items():
        names = [field.name for field in fields(part_type)]
        shared = _NO_VALUES.get(part)
        none = None if shared is None else tuple(getattr(shared, name) for name in names)
        yield part_type, slice(start, start + len(names)), none, shared
        start += len(names)


_VALUES = tuple(_find_values())
"""For each part its type, where its values are among those of all columns, the values for
which rows share an instance, and that instance."""


class ResourceColumns(TypedDict, total=False):
    """Columns that callers may set; those of ``OWNED_COLUMNS`` change by transitions."""

    stack_id: str
    name: str
    type: str
    implementation: str
    version: int
    desired: DesiredState
    definition: Mapping[str, Json]
    definition_hash: str
    requires: Collection[str]
    referenced_names: Collection[str]
    physical_dependencies: Collection[str]
    sensitive: bool
    applied_hash: str | None
    suspended: bool
    job: Verb | None
    must_run: bool
    touched_version: int | None
    physical_id: str | None
    physical_name: str
    properties: Mapping[str, Json] | None
    properties_hash: str | None
    attributes: Mapping[str, Json]
    data: Mapping[str, Json]
    action: Action
    status: Status
    status_reason: str
    action_started_at: datetime | None
    replaces: str | None
    replaced_by: str | None
    updated_at: datetime | None
    root_id: str
    hooks_and_restrictions: Collection[str]


def get_column(row: Resource, column: str) -> Any:
    """Return the value of one column."""
    part, field = COLUMNS[column]
    return getattr(getattr(row, part), field)


def get_columns(row: Resource) -> dict[str, Any]:
    """Return the values of all columns, by column."""
    return dict(zip(COLUMNS, _get_all(row), strict=True))


def from_values(values: Sequence[Any]) -> Resource:
    """Return the resource with the values of all columns, in the order of ``COLUMNS``."""
    return Resource(
        *[
            shared if values[place] == none else part_type(*values[place])
            for part_type, place, none, shared in _VALUES
        ]
    )


def build_reader(
    names: Sequence[str], constants: Mapping[str, Any]
) -> Callable[[Sequence[Any]], Resource]:
    """Return a function that makes a resource of the values of some columns.

    Args:
        names: the columns, in the order of the values.
        constants: the values of all other columns.
    """
    available = (*names, *constants)
    arrange = itemgetter(*(available.index(name) for name in COLUMNS))
    others = tuple(constants.values())

    def read(values: Sequence[Any]) -> Resource:
        return from_values(arrange((*values, *others)))

    return read


def narrow(row: Resource) -> Resource:
    """Return the row without its wide columns, as stores read narrow rows."""
    return with_values(row, WIDE_COLUMNS)


def with_columns(row: Resource, **columns: Unpack[ResourceColumns]) -> Resource:
    """Return the row with other values in these columns."""
    return with_values(row, columns)


def with_values(row: Resource, columns: Mapping[str, object]) -> Resource:
    """Return the row with other values in these columns, owned by transitions or not."""
    parts = list(_get_parts(row))
    for part, places in _find_places(tuple(columns)):
        part_type, get_values = _READERS[part]
        values = list(get_values(parts[part]))
        for column, place in places:
            values[place] = columns[column]
        parts[part] = part_type(*values)
    return Resource(*parts)


@lru_cache(maxsize=1024)
def _find_places(columns: tuple[str, ...]) -> Sequence[tuple[int, Sequence[tuple[str, int]]]]:
    """Return the parts that the columns are in, each with its columns and their places in it."""
    parts = list(_PARTS)
    found: dict[int, list[tuple[str, int]]] = {}
    for column in columns:
        part, field = COLUMNS[column]
        names = [each.name for each in fields(_PARTS[part])]
        found.setdefault(parts.index(part), []).append((column, names.index(field)))
    return tuple(found.items())
