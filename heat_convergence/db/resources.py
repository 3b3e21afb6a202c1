"""Statements about resources, inside a transaction of ``db.store``.

Rows are locked in the order of their ids (see ``convergence.ports``).  The light
reads leave out the wide columns, which the observer does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import (
    HAS_ROOM,
    Desired,
    Input,
    JobState,
    Resource,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Sweepable
from heat_convergence.db.sealing import Sealed
from heat_convergence.db.tables import resource, resource_graph
from heat_convergence.db.types import dumps

_FIELDS = Resource.__slots__
_WIDE = {"definition": {}, "properties": None, "attributes": {}, "data": {}}
_COLUMNS = tuple(resource.c[name] for name in _FIELDS)
_LIGHT_FIELDS = tuple(name for name in _FIELDS if name not in _WIDE)
_LIGHT = tuple(resource.c[name] for name in _LIGHT_FIELDS)
_INPUT_FIELDS = Input.__slots__
_APPLYING = (Verb.CONVERGE, Verb.ADOPT)  # jobs after which reality has the definition


# What runs for every job is built once: building it takes longer than running it.
_IDS = sa.bindparam("ids", expanding=True)

# Locks against writers; a foreign key that points at the row may do so meanwhile.
_LOCK = {"key_share": True}
_LOCK_FREE = {**_LOCK, "skip_locked": True}


def columns() -> tuple[sa.Column[Any], ...]:
    """What ``from_row`` reads, in its order."""
    return _COLUMNS


def light_columns() -> tuple[sa.Column[Any], ...]:
    """What ``from_light_row`` reads, in its order."""
    return _LIGHT


def from_row(row: Any) -> Resource:
    return Resource(**dict(zip(_FIELDS, row, strict=True)))


def from_light_row(row: Any) -> Resource:
    return Resource(**dict(zip(_LIGHT_FIELDS, row, strict=True)), **_WIDE)  # type: ignore[arg-type]


def _rows(
    connection: Connection,
    statement: sa.Select[Any],
    make: Callable[[Any], Resource] = from_row,
    **given: Any,
) -> list[Resource]:
    return [make(row) for row in connection.execute(statement, given)]


def _by_id(wanted: Sequence[Any]) -> sa.Select[Any]:
    return sa.select(*wanted).where(resource.c.id.in_(_IDS)).order_by(resource.c.id)


_GET = _by_id(_COLUMNS)
_CLAIM = _GET.with_for_update(**_LOCK_FREE)
_LOCK_LIGHT = _by_id(_LIGHT).with_for_update(**_LOCK)


def get(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _rows(connection, _GET, ids=sorted(ids)) if ids else []


def claimable(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _rows(connection, _CLAIM, ids=sorted(ids)) if ids else []


def lock_jobs(connection: Connection, ids: Collection[str]) -> list[Resource]:
    return _rows(connection, _LOCK_LIGHT, from_light_row, ids=sorted(ids)) if ids else []


def lock_unfinished(connection: Connection, stack_id: str) -> list[Resource]:
    statement = (
        _by_index(sa.select(*_LIGHT), _STEADY_INDEX)
        .where(resource.c.stack_id == stack_id, resource.c.job.is_not(None))
        .order_by(resource.c.id)
        .with_for_update(**_LOCK)
    )
    return _rows(connection, statement, from_light_row)


def lock_of_stack(connection: Connection, stack_id: str) -> list[Resource]:
    statement = (
        _by_index(sa.select(*_COLUMNS), _STEADY_INDEX)
        .where(resource.c.stack_id == stack_id)
        .order_by(resource.c.id)
        .with_for_update(**_LOCK)
    )
    return _rows(connection, statement)


def of_stack(connection: Connection, stack_id: str) -> list[Resource]:
    return _rows(
        connection,
        sa.select(*_COLUMNS).where(resource.c.stack_id == stack_id).order_by(resource.c.id),
    )


def _by_index(statement: sa.Select[Any], index: str) -> sa.Select[Any]:
    """InnoDB locks every index entry that it comes by, wanted or not, so that it
    matters which way it takes."""
    for dialect in ("mysql", "mariadb"):
        statement = statement.with_hint(resource, f"FORCE INDEX ({index})", dialect)
    return statement


# Entries of an index with the job's state would be in the way of engines, which hold
# the rows and move the state on; these stay as they are.  And InnoDB locks in the order
# of the index, whatever the order of the answer: this one's is that of ids.
_STEADY_INDEX = "ix_resource_stack_id_id"


_LOCK_LEASED = (
    sa.select(resource.c.id, resource.c.version)
    .where(resource.c.id.in_(_IDS), resource.c.lease_token == sa.bindparam("token"))
    .order_by(resource.c.id)
    .with_for_update(**_LOCK)
)


def lock_leased(connection: Connection, ids: Collection[str], token: str) -> dict[str, int]:
    found = connection.execute(_LOCK_LEASED, {"ids": sorted(ids), "token": token})
    return {row.id: row.version for row in found}


def holding(connection: Connection, stack_id: str, names: Collection[str]) -> list[Resource]:
    """The database finds rows that have a name's text in the list, which may be too
    many where it does not tell capitals from small letters."""
    if not names:
        return []
    held = sa.type_coerce(resource.c.held_requires, sa.Text)
    statement = (
        sa.select(*_LIGHT)
        .where(
            resource.c.stack_id == stack_id,
            resource.c.job.is_not(None),
            sa.or_(*(held.contains(dumps(name), autoescape=True) for name in sorted(names))),
        )
        .order_by(resource.c.id)
    )
    rows = _rows(connection, statement, from_light_row)
    return [row for row in rows if not set(names).isdisjoint(row.held_requires)]


_INPUTS = sa.select(*(resource.c[name] for name in _INPUT_FIELDS)).where(
    resource.c.stack_id == sa.bindparam("stack"),
    resource.c.name.in_(sa.bindparam("names", expanding=True)),
    resource.c.desired == Desired.PRESENT,
)


def inputs(connection: Connection, stack_id: str, names: Collection[str]) -> dict[str, Input]:
    if not names:
        return {}
    rows = connection.execute(_INPUTS, {"stack": stack_id, "names": sorted(names)})
    found = (dict(zip(_INPUT_FIELDS, row, strict=True)) for row in rows)
    return {row["name"]: Input(**{**row, "properties": row["properties"] or {}}) for row in found}


# -- writing ------------------------------------------------------------------


def insert(connection: Connection, new: Sequence[Resource]) -> None:
    if new:
        connection.execute(
            resource.insert(),
            [_sealed({name: getattr(row, name) for name in _FIELDS}) for row in new],
        )


def update(connection: Connection, ids: Collection[str], **values: Any) -> None:
    if ids:
        given = {f"new_{name}": value for name, value in values.items()}
        connection.execute(_setting(_ANY_OF, tuple(values)), {"ids": sorted(ids), **given})


@lru_cache(maxsize=128)
def _setting(where: sa.ColumnElement[bool], names: tuple[str, ...]) -> sa.Update:
    return resource.update().where(where).values(_new(names))


def _new(names: Iterable[str]) -> dict[str, Any]:
    return {name: sa.bindparam(f"new_{name}") for name in names}


_ANY_OF = resource.c.id.in_(_IDS)
_THE_ONE = resource.c.id == sa.bindparam("row_id")


def save(connection: Connection, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """One UPDATE prepared once and sent for each row, in the order of ids."""
    if not changes:
        return
    first = next(iter(changes.values()))
    connection.execute(
        _setting(_THE_ONE, tuple(first)),
        [
            {"row_id": row_id, **{f"new_{name}": value for name, value in columns.items()}}
            for row_id, columns in ((key, _sealed(changes[key])) for key in sorted(changes))
        ],
    )


def _sealed(columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns, with those that show values wrapped if the row is sensitive."""
    if not columns.get("sensitive"):
        return columns
    return {
        name: Sealed(value) if name in _WIDE and value is not None else value
        for name, value in columns.items()
    }


def set_version(connection: Connection, stack_id: str, version: int) -> None:
    connection.execute(
        resource.update().where(resource.c.stack_id == stack_id).values(version=version)
    )


_SETTLE = (
    resource.update()
    .where(_ANY_OF)
    .values(
        **_new(["observed_at", "updated_at"]),
        status=Status.COMPLETE,
        job=None,
        job_state=None,
        observe_at=None,
        # Set before ``job``, by the order of the columns: MySQL reads what is set already.
        applied_hash=sa.case(
            (resource.c.job.in_(_APPLYING), resource.c.definition_hash),
            else_=resource.c.applied_hash,
        ),
    )
)


def settle(connection: Connection, ids: Collection[str], now: datetime) -> None:
    if ids:
        given = {"ids": sorted(ids), "new_observed_at": now, "new_updated_at": now}
        connection.execute(_SETTLE, given)


def held(connection: Connection, stack_id: str, limit: int) -> list[tuple[str, str]]:
    statement = (
        sa.select(resource.c.name, resource.c.hook)
        .where(resource.c.stack_id == stack_id, resource.c.job_state == JobState.HELD)
        .order_by(resource.c.name)
        .limit(limit)
    )
    return [(row.name, row.hook or "") for row in connection.execute(statement)]


def count_tree(connection: Connection, root_id: str) -> int:
    wanted = sa.select(sa.func.count()).where(
        resource.c.root_id == root_id, resource.c.desired == Desired.PRESENT
    )
    return int(connection.scalar(wanted) or 0)


def delete(connection: Connection, ids: Collection[str]) -> None:
    if ids:
        connection.execute(resource.delete().where(resource.c.id.in_(sorted(ids))))


def purge_gone(connection: Connection, stack_id: str) -> None:
    gone = (
        resource.c.stack_id == stack_id,
        resource.c.desired == Desired.ABSENT,
        resource.c.job.is_(None),
    )
    ids = list(connection.scalars(sa.select(resource.c.id).where(*gone)))
    for at in range(0, len(ids), 500):
        _purge(connection, stack_id, sorted(ids[at : at + 500]))


def _purge(connection: Connection, stack_id: str, some: list[str]) -> None:
    with _keys_only(connection):
        connection.execute(
            resource_graph.delete().where(
                resource_graph.c.stack_id == stack_id,
                sa.or_(
                    resource_graph.c.resource_id.in_(some), resource_graph.c.needed_by.in_(some)
                ),
            )
        )
        delete(connection, some)


def erase(connection: Connection, stack_id: str) -> None:
    with _keys_only(connection):
        connection.execute(resource_graph.delete().where(resource_graph.c.stack_id == stack_id))
        connection.execute(resource.delete().where(resource.c.stack_id == stack_id))


@contextmanager
def _keys_only(connection: Connection) -> Iterator[None]:
    """On a small table InnoDB would rather read all of it to delete a few rows, and so
    wait for rows of other stacks, whose deletion waits for these."""
    if connection.dialect.name not in ("mysql", "mariadb"):
        yield
        return
    connection.exec_driver_sql("SET SESSION sql_safe_updates = 1")
    try:
        yield
    finally:
        connection.exec_driver_sql("SET SESSION sql_safe_updates = 0")


# -- jobs ---------------------------------------------------------------------


_HAS_ROOM = sorted(HAS_ROOM)
_IN_HAND = sorted({JobState.POSTED, JobState.BEGUN})


def _counts(whose: sa.ColumnElement[bool], states: Sequence[JobState]) -> sa.Select[Any]:
    return (
        sa.select(resource.c.job_state, sa.func.count())
        .where(whose, resource.c.job_state.in_(states))
        .group_by(resource.c.job_state)
    )


_OF_PROJECT = resource.c.project_id == sa.bindparam("project")
_ONE_DUE = (
    sa.select(resource.c.job_state)
    .where(_OF_PROJECT, resource.c.job_state == JobState.DUE)
    .limit(1)
    .subquery()
)
_COUNT_JOBS = _counts(resource.c.stack_id == sa.bindparam("stack"), _HAS_ROOM)
_COUNT_IN_HAND = sa.union_all(
    _counts(_OF_PROJECT, _IN_HAND), sa.select(_ONE_DUE.c.job_state, sa.literal(1))
)


def count_jobs(connection: Connection, stack_id: str) -> dict[JobState, int]:
    return {row[0]: row[1] for row in connection.execute(_COUNT_JOBS, {"stack": stack_id})}


def count_in_hand(connection: Connection, project_id: str) -> dict[JobState, int]:
    found = connection.execute(_COUNT_IN_HAND, {"project": project_id})
    return {row[0]: row[1] for row in found}


def _due(place: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        _by_index(
            sa.select(resource.c.stack_id, resource.c.version, resource.c.id),
            "ix_resource_project_id_job_state",
        )
        .where(_OF_PROJECT, resource.c.job_state == JobState.DUE, place)
        .order_by(resource.c.root_id, resource.c.id)
        .limit(_ROOM)
        .with_for_update(**_LOCK_FREE)
    )


_ROOM = sa.bindparam("room", type_=sa.Integer)
_DUE_IN_TURN = (
    _due(resource.c.root_id > sa.bindparam("after")),
    _due(resource.c.root_id <= sa.bindparam("after")),
)


def take_due(
    connection: Connection, project_id: str, after: str, limit: int
) -> list[Sweepable]:
    """Two ranges of one index; nothing is sorted and nothing waited for."""
    found: list[Sweepable] = []
    for statement in _DUE_IN_TURN:
        room = limit - len(found)
        if room > 0:
            given = {"project": project_id, "after": after, "room": room}
            found.extend(Sweepable(*row) for row in connection.execute(statement, given))
    return found


def repost(connection: Connection, ids: Collection[str], now: datetime) -> None:
    if ids:
        connection.execute(
            resource.update()
            .where(resource.c.id.in_(sorted(ids)), resource.c.job_state == JobState.BEGUN)
            .values(job_state=JobState.POSTED, posted_at=now)
        )


_QUEUED = (
    sa.select(resource.c.id)
    .where(
        resource.c.stack_id == sa.bindparam("stack"), resource.c.job_state == JobState.QUEUED
    )
    .order_by(resource.c.id)
    .limit(_ROOM)
)


def take_queued(connection: Connection, stack_id: str, limit: int) -> list[str]:
    return list(connection.scalars(_QUEUED, {"stack": stack_id, "room": limit}))


def lost_jobs(
    connection: Connection, now: datetime, posted_before: datetime, limit: int
) -> list[Any]:
    """Candidates are read without locks, then those nobody holds are locked by key."""
    candidates = (
        sa.select(resource.c.id)
        .where(
            resource.c.job_state.in_(_IN_HAND),
            resource.c.posted_at < posted_before,
            resource.c.observe_at.is_(None),
            sa.or_(resource.c.lease_expires_at.is_(None), resource.c.lease_expires_at < now),
        )
        .order_by(resource.c.posted_at)
        .limit(limit)
    )
    ids = list(connection.scalars(candidates))
    rows = _still(connection, ids, resource.c.posted_at < posted_before)
    update(connection, [row.id for row in rows], job_state=JobState.POSTED, posted_at=now)
    return rows


def due_observations(
    connection: Connection, now: datetime, until: datetime, limit: int
) -> list[Resource]:
    candidates = (
        sa.select(resource.c.id)
        .where(resource.c.observe_at <= now)
        .order_by(resource.c.observe_at)
        .limit(limit)
    )
    ids = [row.id for row in _still(
        connection, list(connection.scalars(candidates)), resource.c.observe_at <= now
    )]
    update(connection, ids, observe_at=until)
    return get(connection, ids)


def _still(connection: Connection, ids: Collection[str], condition: Any) -> list[Any]:
    if not ids:
        return []
    statement = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.version)
        .where(resource.c.id.in_(sorted(ids)), condition)
        .order_by(resource.c.id)
        .with_for_update(**_LOCK_FREE)
    )
    return list(connection.execute(statement))


def next_observation(connection: Connection) -> datetime | None:
    return connection.scalar(sa.select(sa.func.min(resource.c.observe_at)))


def renew_leases(
    connection: Connection, owner: str, tokens: Collection[str], until: datetime
) -> int:
    statement = (
        sa.select(resource.c.id)
        .where(resource.c.lease_owner == owner, resource.c.lease_token.in_(tokens))
        .order_by(resource.c.id)
        .with_for_update(**_LOCK_FREE)
    )
    ids = list(connection.scalars(statement))
    update(connection, ids, lease_expires_at=until)
    return len(ids)


