"""Reads of resources for the API: lists, and one by name.

Called by the API alone.  A list is one statement whatever its length, and loads no
definition, properties or data that its view does not show.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from heat_convergence.common.stored_values import is_readable, readable_or_empty
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.drift.reads import (
    DRIFT_COLUMNS,
    RESOURCES_WITH_DRIFT,
    ResourceDrift,
    read_drift,
)
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.readable_rows import replace_unreadable
from heat_convergence.db.statements.resource_rows import (
    COLUMNS,
    from_rows,
    read_named_rows,
    read_planned_rows,
)
from heat_convergence.db.statements.stack_rows import NO_TIME
from heat_convergence.db.tables import resource as t
from heat_convergence.db.tables import stack as stack_table

_NARROW = (
    t.c.id,
    t.c.stack_id,
    t.c.name,
    t.c.type,
    t.c.implementation,
    t.c.physical_id,
    t.c.physical_name,
    t.c.action,
    t.c.status,
    t.c.status_reason,
    t.c.created_at,
    t.c.updated_at,
    t.c.requires,
    t.c.desired,
    t.c.hooks_and_restrictions.label("hooks_and_restrictions"),
    *DRIFT_COLUMNS,
)
_DRIFT_FIELDS = frozenset(column.name for column in DRIFT_COLUMNS)
_SUBSTITUTES: Mapping[str, Any] = {
    "action": Action.INIT,
    "created_at": NO_TIME,
    "requires": (),
    "desired": DesiredState.PRESENT,
    "hooks_and_restrictions": (),
}
_WIDE = (t.c.definition, t.c.properties, t.c.attributes, t.c.data)
_FILTERS: Mapping[str, sa.ColumnElement[Any]] = {
    "name": t.c.name,
    "status": t.c.status,
    "action": t.c.action,
    "id": t.c.id,
    "physical_resource_id": t.c.physical_id,
}


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """The columns of a resource that views show; narrow rows leave the last four empty."""

    id: str
    stack_id: str
    name: str
    type: str
    implementation: str
    physical_id: str | None
    physical_name: str
    action: Action
    status: Status
    status_reason: str
    created_at: datetime
    updated_at: datetime | None
    requires: tuple[str, ...]
    desired: DesiredState
    hooks_and_restrictions: tuple[str, ...] = ()
    drift: ResourceDrift = field(default_factory=ResourceDrift)
    definition: Mapping[str, Json] = field(default_factory=dict)
    properties: Mapping[str, Json] = field(default_factory=dict)
    attributes: Mapping[str, Json] = field(default_factory=dict)
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def readable(self) -> bool:
        """True if the last four columns can be decoded."""
        return is_readable(self.definition, self.properties, self.attributes, self.data)


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """Values by name, one of which must match; ``type_contains`` is a part of the type."""

    matches: Mapping[str, Collection[str]] = field(default_factory=dict)
    type_contains: str | None = None


def list_by_stacks(
    conn: Connection,
    stack_ids: Collection[str],
    *,
    detailed: bool = False,
    names: Collection[str] | None = None,
) -> list[ResourceRow]:
    """Return the resources of the stacks, one for each name.

    Of several incarnations the desired one is returned, else the newest.

    Args:
        conn: an open connection.
        stack_ids: the stacks.
        detailed: whether the wide columns are read, too.
        names: those of the resources to return; None for all.
    """
    columns = (*_NARROW, *_WIDE) if detailed else _NARROW
    query = sa.select(*columns).select_from(RESOURCES_WITH_DRIFT)
    query = query.where(t.c.stack_id.in_(stack_ids), _is_shown())
    if names is not None:
        query = query.where(t.c.name.in_(names))
    query = query.order_by(t.c.stack_id, t.c.name, _desired_first(), t.c.id.desc())
    rows: list[Row[Any]] = []
    last = None
    for row in conn.execute(query):
        if (row.stack_id, row.name) == last:
            continue
        last = (row.stack_id, row.name)
        rows.append(row)
    return _from_rows(conn, rows)


def find_matching(
    conn: Connection, stack_ids: Collection[str], resource_filter: ResourceFilter
) -> dict[str, str]:
    """Return the names of the rows that match the filter, by their ids."""
    query = sa.select(t.c.id, t.c.name).where(t.c.stack_id.in_(stack_ids))
    for name, values in sorted(resource_filter.matches.items()):
        query = query.where(_FILTERS[name].in_(values))
    if resource_filter.type_contains is not None:
        query = query.where(t.c.type.contains(resource_filter.type_contains, autoescape=True))
    return {row.id: row.name for row in conn.execute(query)}


def get_by_name(conn: Connection, stack_id: str, name: str) -> ResourceRow | None:
    """Return the resource of that name, its desired incarnation first, with wide columns."""
    query = (
        sa.select(*_NARROW, *_WIDE)
        .select_from(RESOURCES_WITH_DRIFT)
        .where(t.c.stack_id == stack_id, t.c.name == name, _is_shown())
        .order_by(_desired_first(), t.c.id.desc())
        .limit(1)
    )
    return _first(conn, query)


def get_by_physical_id(conn: Connection, stack_id: str, physical_id: str) -> ResourceRow | None:
    """Return the resource of that physical id, with wide columns."""
    query = sa.select(*_NARROW, *_WIDE).select_from(RESOURCES_WITH_DRIFT)
    query = query.where(t.c.stack_id == stack_id, t.c.physical_id == physical_id)
    return _first(conn, query.order_by(_desired_first()).limit(1))


def list_by_physical_id(conn: Connection, project_id: str, physical_id: str) -> list[ResourceRow]:
    """Return the project's desired resources of that physical id, with wide columns."""
    query = sa.select(*_NARROW, *_WIDE).select_from(RESOURCES_WITH_DRIFT)
    query = query.where(
        t.c.physical_id == physical_id,
        t.c.project_id == project_id,
        t.c.desired == DesiredState.PRESENT,
    )
    return _from_rows(conn, list(conn.execute(query.order_by(t.c.id))))


def list_named(conn: Connection, stack_id: str, names: Collection[str]) -> list[ResourceRow]:
    """Return the resources of these names, with wide columns: one for each name."""
    columns: tuple[Any, ...] = (*_NARROW, *_WIDE)
    query = sa.select(*columns).select_from(RESOURCES_WITH_DRIFT)
    query = query.where(t.c.stack_id == stack_id, t.c.name.in_(names))
    query = query.order_by(t.c.name, _desired_first(), t.c.id.desc())
    rows: list[Row[Any]] = []
    for row in conn.execute(query):
        if not rows or rows[-1].name != row.name:
            rows.append(row)
    return _from_rows(conn, rows)


def list_data_by_physical_id(
    conn: Connection, tree_id: str, physical_id: str
) -> list[Mapping[str, Any]]:
    """Return the data of the tree's resources of that physical id; it reads all of its rows."""
    query = sa.select(t.c.data).where(t.c.root_id == tree_id, t.c.physical_id == physical_id)
    wide_columns = [{"data": readable_or_empty(row.data)} for row in conn.execute(query)]
    value_dedup.load_shared(conn, wide_columns)
    return [wide["data"] for wide in wide_columns]


def list_full(conn: Connection, stack_id: str) -> list[Resource]:
    """Return all rows of the stack with all columns, as planning takes them."""
    return list_full_of_stacks(conn, [stack_id])


def list_full_of_stacks(conn: Connection, stack_ids: Collection[str]) -> list[Resource]:
    """Return all rows of the stacks with all columns, by id."""
    query = sa.select(*COLUMNS).where(t.c.stack_id.in_(stack_ids)).order_by(t.c.id)
    return from_rows(conn, conn.execute(query))


def list_planned(
    conn: Connection, stack_id: str, names: Collection[str] | None = None
) -> list[Resource]:
    """Return the rows of the stack, or of some names, as planning takes them.

    They come without their contents.
    """
    if names is None:
        return read_planned_rows(conn, stack_id)
    return read_named_rows(conn, stack_id, names)


@cache
def _is_shown() -> sa.ColumnElement[bool]:
    """Return a condition without what an update or rollback has deleted already.

    The rows of these stay until their traversal is complete.
    """
    deletes = sa.select(stack_table.c.id).where(
        stack_table.c.id == t.c.stack_id, stack_table.c.action == Action.DELETE
    )
    return sa.or_(
        t.c.desired == DesiredState.PRESENT,
        t.c.action != Action.DELETE,
        t.c.status != Status.COMPLETE,
        deletes.exists(),
    )


@cache
def _desired_first() -> sa.ColumnElement[int]:
    return sa.case((t.c.desired == DesiredState.PRESENT, 0), else_=1)


def _first(conn: Connection, query: sa.Select[Any]) -> ResourceRow | None:
    row = conn.execute(query).first()
    return None if row is None else _from_rows(conn, [row])[0]


def _from_rows(conn: Connection, rows: Sequence[Row[Any]]) -> list[ResourceRow]:
    wide_columns = [_read_wide(row) for row in rows]
    value_dedup.load_shared(conn, wide_columns)
    return [_from_row(row, wide) for row, wide in zip(rows, wide_columns, strict=True)]


def _read_wide(row: Row[Any]) -> dict[str, Any]:
    if "definition" not in row._fields:
        return {}
    return {
        "definition": row.definition,
        "properties": _or_empty(row.properties),
        "attributes": _or_empty(row.attributes),
        "data": _or_empty(row.data),
    }


def _or_empty(value: Mapping[str, Json] | None) -> Mapping[str, Json]:
    return {} if value is None else value


def _from_row(row: Row[Any], wide_columns: dict[str, Any]) -> ResourceRow:
    """Return a resource to show: FAILED, with the reason, if its row cannot be decoded."""
    own = {name: value for name, value in row._mapping.items() if name not in _DRIFT_FIELDS}
    values, error = replace_unreadable("resource", tuple(own), tuple(own.values()), _SUBSTITUTES)
    values.update(wide_columns, drift=read_drift(row))
    if error:
        values.update(status=Status.FAILED, status_reason=error)
    return ResourceRow(**values)
