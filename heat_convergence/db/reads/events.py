"""Reads of events for the API: pages with filters, one by id, and the newest ids.

Called by the API alone; one statement each, and one more for a marker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from heat_convergence.common.stored_values import readable_or_empty
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.db.reads.stacks import rows_after
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.readable_rows import replace_unreadable
from heat_convergence.db.statements.stack_rows import NO_TIME
from heat_convergence.db.tables import event as t

_STACKS_PER_STATEMENT = 500
_STARTS_PER_BATCH = 100
_NARROW = tuple(c for c in t.c if c.name not in ("properties", "version", "timeline"))
_SORTABLE = {"event_time": t.c.created_at, "resource_type": t.c.resource_type}
_FILTERS: Mapping[str, sa.ColumnElement[Any]] = {
    "resource_status": t.c.status,
    "resource_action": t.c.action,
    "resource_name": t.c.resource_name,
    "resource_type": t.c.resource_type,
}


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Filters, order and page of events; the marker's own event is left out."""

    matches: Mapping[str, Collection[str]] = field(default_factory=dict)
    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    descending: bool | None = None  # None: newest first, or ascending by ``sort_keys``


def list_page(
    conn: Connection, stack_ids: Collection[str], event_query: EventQuery
) -> list[Event]:
    """Return events without properties, which lists do not show."""
    query = sa.select(*_NARROW).where(t.c.stack_id.in_(stack_ids))
    for name, values in sorted(event_query.matches.items()):
        query = query.where(_FILTERS[name].in_(values))
    columns, descending = _order(event_query)
    if event_query.marker is not None:
        marked = sa.select(*columns).where(
            t.c.id == event_query.marker, t.c.stack_id.in_(stack_ids)
        )
        last = conn.execute(marked).first()
        if last is not None:
            query = query.where(rows_after(columns, tuple(last), descending))
    query = query.order_by(*(c.desc() if descending else c.asc() for c in columns))
    if event_query.limit is not None:
        query = query.limit(event_query.limit)
    return [_from_row(row, None) for row in conn.execute(query)]


def find_newest_ids(conn: Connection, stack_ids: Collection[str]) -> dict[str, str]:
    """Return the id of the newest event of each stack that has one; reads an index alone."""
    newest = sa.func.max(t.c.id)
    found: dict[str, str] = {}
    ids = list(stack_ids)
    for start in range(0, len(ids), _STACKS_PER_STATEMENT):
        some = ids[start : start + _STACKS_PER_STATEMENT]
        query = sa.select(t.c.stack_id, newest).where(t.c.stack_id.in_(some))
        found.update((row[0], row[1]) for row in conn.execute(query.group_by(t.c.stack_id)))
    return found


def get(conn: Connection, stack_id: str, event_id: str) -> Event | None:
    """Return an event of the stack with its properties; None if there is none.

    The properties stand with the event that started the action, and hold for those that follow.
    """
    row = conn.execute(sa.select(t).where(t.c.stack_id == stack_id, t.c.id == event_id)).first()
    if row is None:
        return None
    own = row.properties is not None or row.physical_id == row.stack_id
    start = row if own else _newest_start(conn, row)
    wide = {"properties": None if start is None else start.properties}
    value_dedup.load_shared(conn, [wide])
    sensitive = row.sensitive if start is None else start.sensitive
    return replace(_from_row(row, wide["properties"]), sensitive=sensitive)


@dataclass(frozen=True, slots=True)
class ResourceStart:
    """The properties that an action of a resource started with."""

    event_id: str
    stack_id: str
    resource_name: str
    properties: Mapping[str, Any]
    sensitive: bool


def iterate_starts(conn: Connection, stack_ids: Collection[str]) -> Iterator[ResourceStart]:
    """Yield the starts of actions in the stacks, the newest first, read in batches."""
    columns = (t.c.id, t.c.stack_id, t.c.resource_name, t.c.properties, t.c.sensitive)
    where = (t.c.stack_id.in_(stack_ids), t.c.properties.is_not(None))
    query = sa.select(*columns).where(*where).order_by(t.c.id.desc()).limit(_STARTS_PER_BATCH)
    last: str | None = None
    while True:
        rows = conn.execute(query if last is None else query.where(t.c.id < last)).all()
        wide = [{"properties": row.properties} for row in rows]
        value_dedup.load_shared(conn, wide)
        for row, values in zip(rows, wide, strict=True):
            properties = readable_or_empty(values["properties"])
            yield ResourceStart(
                row.id, row.stack_id, row.resource_name, properties, bool(row.sensitive)
            )
        if len(rows) < _STARTS_PER_BATCH:
            return
        last = rows[-1].id


def _newest_start(conn: Connection, event: Row[Any]) -> Any:
    """Return properties and sensitivity of the newest start before an event, or None."""
    query = sa.select(t.c.properties, t.c.sensitive).where(
        t.c.stack_id == event.stack_id,
        t.c.id < event.id,
        t.c.resource_name == event.resource_name,
        t.c.properties.is_not(None),
    )
    return conn.execute(query.order_by(t.c.id.desc()).limit(1)).first()


def _order(at: EventQuery) -> tuple[list[sa.ColumnElement[Any]], bool]:
    columns: list[sa.ColumnElement[Any]] = [
        _SORTABLE[key] for key in at.sort_keys if key in _SORTABLE
    ]
    if not columns:
        descending = True if at.descending is None else at.descending
        return [t.c.created_at, t.c.id], descending
    return [*columns, t.c.id], bool(at.descending)


def _from_row(row: Row[Any], properties: Mapping[str, Any] | None) -> Event:
    """Return an event to show: FAILED, with the reason, if its row cannot be decoded."""
    values, error = replace_unreadable("event", row._fields, row, {"created_at": NO_TIME})
    if error:
        values.update(status=Status.FAILED, reason=error)
    return Event(**{**values, "properties": properties})
