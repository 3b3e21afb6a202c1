"""Statements about stacks and their tags.

Called by ``db.store`` inside its transaction.  Decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc
from sqlalchemy.engine import Connection

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import IN_FLIGHT, JobState, ObservedState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.tables import resource, stack, stack_tag

_FIELDS = tuple(name for name in Stack.__slots__ if name != "tags")
_COLUMNS = tuple(stack.c[name] for name in _FIELDS)


def from_row(row: Any, tags: Sequence[str] = ()) -> Stack:
    """A stack from a row of ``select(*get_columns())``."""
    return Stack(**dict(zip(_FIELDS, row, strict=True)), tags=tuple(tags))


def get_columns() -> tuple[sa.Column[Any], ...]:
    """What ``from_row`` reads, in its order."""
    return _COLUMNS


_GET = sa.select(*_COLUMNS).where(stack.c.id == sa.bindparam("wanted"))
# ``key_share``: who only points at the row by a foreign key need not wait.
_LOCK = _GET.with_for_update(key_share=True)
_GET_ALL = sa.select(*_COLUMNS).where(stack.c.id.in_(sa.bindparam("wanted", expanding=True)))


def get(connection: Connection, stack_id: str) -> Stack | None:
    row = connection.execute(_GET, {"wanted": stack_id}).first()
    return None if row is None else from_row(row)


def get_many(connection: Connection, ids: Collection[str]) -> Mapping[str, Stack]:
    if not ids:
        return {}
    rows = connection.execute(_GET_ALL, {"wanted": sorted(ids)})
    return {found.id: found for found in map(from_row, rows)}


def lock(connection: Connection, stack_id: str) -> Stack | None:
    row = connection.execute(_LOCK, {"wanted": stack_id}).first()
    return None if row is None else from_row(row)


def get_descendants(connection: Connection, root_id: str) -> list[Stack]:
    statement = (
        sa.select(*_COLUMNS)
        .where(stack.c.root_id == root_id, stack.c.id != root_id, stack.c.deleted_at.is_(None))
        .order_by(stack.c.depth.desc(), stack.c.id)
    )
    return [from_row(row) for row in connection.execute(statement)]


def insert(connection: Connection, new: Stack) -> None:
    values = {name: getattr(new, name) for name in _FIELDS}
    values["live_name"] = new.name if new.owner_id is None else None
    try:
        connection.execute(stack.insert(), values)
    except db_exc.DBDuplicateEntry as error:
        raise errors.StackExists(new.name) from error
    _insert_tags(connection, new.id, new.tags)


def update(connection: Connection, stack_id: str, **values: Any) -> None:
    """Sets columns; ``deleted_at`` also frees the name, ``tags`` replace all tags.  Who
    has no owner any more takes its name; raises ``StackExists``."""
    tags = values.pop("tags", None)
    if values.get("deleted_at") is not None:
        values["live_name"] = None
    elif values.get("owner_id", stack_id) is None:
        values["live_name"] = stack.c.name
    try:
        connection.execute(stack.update().where(stack.c.id == stack_id).values(**values))
    except db_exc.DBDuplicateEntry as error:
        raise errors.StackExists(stack_id) from error
    if tags is not None:
        connection.execute(safe_delete(stack_tag).where(stack_tag.c.stack_id == stack_id))
        _insert_tags(connection, stack_id, tags)


def get_tags(connection: Connection, stack_id: str) -> tuple[str, ...]:
    statement = sa.select(stack_tag.c.tag).where(stack_tag.c.stack_id == stack_id)
    return tuple(connection.scalars(statement.order_by(stack_tag.c.position)))


def _insert_tags(connection: Connection, stack_id: str, tags: Sequence[str]) -> None:
    if tags:
        connection.execute(
            stack_tag.insert(),
            [
                {"stack_id": stack_id, "position": position, "tag": tag}
                for position, tag in enumerate(tags)
            ],
        )


def get_overdue(connection: Connection, now: datetime, limit: int) -> list[str]:
    statement = (
        sa.select(stack.c.id)
        .where(stack.c.status == Status.IN_PROGRESS, stack.c.deadline_at <= now)
        .order_by(stack.c.deadline_at)
        .limit(limit)
    )
    return list(connection.scalars(statement))


def get_cancelled_nested(connection: Connection, limit: int) -> list[str]:
    given_up = sa.exists().where(
        resource.c.id == stack.c.owner_resource_id,
        resource.c.physical_id == stack.c.id,
        resource.c.job_state == JobState.CANCELLED,
        resource.c.observed == ObservedState.BUSY,
    )
    statement = (
        sa.select(stack.c.id)
        .where(stack.c.status == Status.IN_PROGRESS, given_up)
        .order_by(stack.c.id)
        .limit(limit)
    )
    return list(connection.scalars(statement))


def get_stalled(connection: Connection, before: datetime, limit: int) -> list[tuple[str, int]]:
    busy = sa.exists().where(
        resource.c.stack_id == stack.c.id,
        resource.c.job_state.in_(sorted(IN_FLIGHT | {JobState.AT_BREAKPOINT})),
    )
    statement = (
        sa.select(stack.c.id, stack.c.version)
        .where(stack.c.status == Status.IN_PROGRESS, stack.c.started_at < before, ~busy)
        .limit(limit)
    )
    return [(row.id, row.version) for row in connection.execute(statement)]


def find_projects_with_schedulable_jobs(
    connection: Connection, before: datetime, limit: int
) -> list[str]:
    waits = sa.exists().where(
        resource.c.stack_id == stack.c.id,
        resource.c.job_state == JobState.SCHEDULABLE,
        resource.c.posted_at < before,
    )
    statement = (
        sa.select(stack.c.project_id)
        .where(stack.c.status == Status.IN_PROGRESS, waits)
        .distinct()
        .order_by(stack.c.project_id)
        .limit(limit)
    )
    return list(connection.scalars(statement))
