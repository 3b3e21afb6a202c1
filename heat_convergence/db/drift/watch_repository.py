"""The watch in the database: groups, watched resources and observations.

Every method is one transaction of a few statements, whatever the number of resources.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, Unpack

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.observation import (
    ControlValues,
    MassLossBreaker,
    ReadPause,
    ResourceObservation,
    StackDriftControl,
    WatchedResource,
    WatchedResources,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.drift.repository import WatchRepository
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.db.connection.database import Database
from heat_convergence.db.drift import breaker_rows, control_rows, hinted_groups, observation_rows
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.statements import resource_rows, stack_rows
from heat_convergence.db.statements.readable_rows import (
    check_row,
    read_each,
    select_earliest,
)
from heat_convergence.db.tables import resource, stack, watch_group
from heat_convergence.template.environment.drift_policies import DriftPolicy

_FIELDS = tuple(field.name for field in fields(WatchGroup))
_COLUMNS = tuple(watch_group.c[name] for name in _FIELDS)
_CHUNK = 500  # few enough for the database to look rows up by key
_EXISTS = sa.and_(resource.c.desired == DesiredState.PRESENT, resource.c.physical_id.is_not(None))
_IS_WATCHED = sa.and_(
    stack.c.status == Status.COMPLETE,
    stack.c.deleted_at.is_(None),
    resource.c.job_state.is_(None),
    resource.c.status == Status.COMPLETE,
    _EXISTS,
)


def _group_of(row: Any) -> WatchGroup:
    return WatchGroup(**dict(zip(_FIELDS, check_row(watch_group.name, _FIELDS, row), strict=True)))


class SqlWatchRepository(WatchRepository):
    """The watch over a database."""

    def __init__(self, database: Database) -> None:
        """Use connections of ``database``, one for each method."""
        self._database = database

    def add_groups(
        self,
        stack_ids: Collection[str],
        implementations: Collection[str],
        next_at: datetime,
        interval_s: float,
    ) -> int:
        """Add the missing groups of the stacks' resources."""
        query = (
            sa.select(resource.c.project_id, resource.c.implementation)
            .outerjoin(watch_group, _is_group_of_resource())
            .where(
                resource.c.stack_id.in_(sorted(stack_ids)),
                resource.c.implementation.in_(sorted(implementations)),
                watch_group.c.project_id.is_(None),
                _EXISTS,
            )
            .distinct()
        )
        with self._database.read() as connection:
            missing = sorted(
                (row.project_id, row.implementation) for row in connection.execute(query)
            )
        if not missing:
            return 0
        values = {"interval_s": interval_s, "next_at": next_at, "reason": ""}
        with self._database.write() as connection:
            connection.execute(
                watch_group.insert(),
                [
                    {"project_id": project_id, "implementation": implementation, **values}
                    for project_id, implementation in missing
                ],
            )
        return len(missing)

    def list_complete_stacks(self, after: str, limit: int) -> list[str]:
        """Return ids of COMPLETE stacks that follow ``after``, in order."""
        query = (
            sa.select(stack.c.id)
            .where(
                stack.c.id > after,
                stack.c.status == Status.COMPLETE,
                stack.c.deleted_at.is_(None),
            )
            .order_by(stack.c.id)
            .limit(limit)
        )
        with self._database.read() as connection:
            return list(connection.scalars(query))

    def take_due_groups(self, now: datetime, until: datetime, limit: int) -> list[WatchGroup]:
        """Take groups whose ``next_at`` has come, and postpone it to ``until``."""
        due = watch_group.c.next_at <= now
        order = (watch_group.c.next_at, watch_group.c.project_id, watch_group.c.implementation)
        with self._database.write() as connection:
            query = sa.select(*_COLUMNS).where(due).order_by(*order).limit(limit)
            rows = connection.execute(query.with_for_update(skip_locked=True)).all()
            by_project: dict[str, list[str]] = {}
            for row in rows:
                by_project.setdefault(row.project_id, []).append(row.implementation)
            for project_id, names in sorted(by_project.items()):
                connection.execute(
                    watch_group.update()
                    .where(
                        watch_group.c.project_id == project_id,
                        watch_group.c.implementation.in_(names),
                    )
                    .values(next_at=until)
                )
        return read_each(rows, _group_of)

    def advance_groups(self, hints: ChangeHints, now: datetime, pause: ReadPause) -> int:
        """Make groups due to whose resources hints apply."""
        with self._database.read() as connection:
            keys = hinted_groups.find_groups(connection, hints, _IS_WATCHED)
        if not keys and not hints.types_of_any_project():
            return 0
        with self._database.write() as connection:
            return hinted_groups.advance(connection, keys, hints, now, pause)

    def get_next_time(self) -> datetime | None:
        """Return the earliest ``next_at`` of all groups."""
        with self._database.read() as connection:
            earliest: datetime | None = connection.scalar(select_earliest(watch_group.c.next_at))
            return earliest

    def list_watched(self, project_id: str, implementations: Collection[str]) -> WatchedResources:
        """Return a project's resources of the types, in COMPLETE stacks, that nothing acts on."""
        names = sorted(implementations)
        of_types = sa.and_(
            resource.c.project_id == project_id, resource.c.implementation.in_(names)
        )
        at_rest = sa.case((_IS_WATCHED, 1), else_=0).label("at_rest")
        exists = sa.case((_EXISTS, 1), else_=0).label("exists")
        known = sa.select(resource.c.id, resource.c.implementation, at_rest, exists).join(stack)
        with self._database.read() as connection:
            recorded = observation_rows.list_by_types(connection, project_id, names)
            found = connection.execute(known.where(of_types)).all()
            rows = _get_resources(connection, sorted(row.id for row in found if row.at_rest))
            stacks = _get_stacks(connection, sorted({row.stack_id for row in rows}))
            policies = control_rows.get_policies(connection, stacks.values())
            breakers = breaker_rows.list_by_project(connection, project_id, names)
        existing = {row.id: row.implementation for row in found}
        by_id = {each.resource_id: each for each in recorded}
        return WatchedResources(
            tuple(
                WatchedResource(
                    row, stacks[row.stack_id], by_id.get(row.id), policies.get(row.stack_id)
                )
                for row in rows
                if row.stack_id in stacks
            ),
            _obsolete(recorded, existing),
            frozenset(existing.values()),
            tuple(breakers),
            frozenset(row.implementation for row in found if row.exists and not row.at_rest),
        )

    def get_control(self, stack_id: str) -> StackDriftControl:
        """Return what users have set for the drift of a stack."""
        with self._database.read() as connection:
            return control_rows.get_control(connection, stack_id)

    def get_stack_policy(self, stack_id: str) -> DriftPolicy | None:
        """Return the policy that a user has set for the stack, else for its root."""
        with self._database.read() as connection:
            stacks = _get_stacks(connection, [stack_id])
            return control_rows.get_policies(connection, stacks.values()).get(stack_id)

    def change_control(self, stack_id: str, **values: Unpack[ControlValues]) -> StackDriftControl:
        """Change what users have set for the drift of a stack; return all of it."""
        with self._database.write() as connection:
            return control_rows.change_control(connection, stack_id, values)

    def list_breakers(self, project_id: str) -> list[MassLossBreaker]:
        """Return the breakers of a project, by type and region."""
        with self._database.read() as connection:
            return breaker_rows.list_by_project(connection, project_id)

    def confirm_breakers(self, project_id: str, ids: Collection[str]) -> int:
        """Mark breakers of a project confirmed, all or none; return how many of the ids exist."""
        with self._database.write() as connection:
            return breaker_rows.confirm(connection, project_id, ids)

    def record(self, group: WatchGroup, result: WatchResult) -> int:
        """Record what a read has found, and the group's times and reason."""
        key = sa.and_(
            watch_group.c.project_id == group.project_id,
            watch_group.c.implementation == group.implementation,
        )
        with self._database.write() as connection:
            valid = _unchanged(connection, result.changed)
            observation_rows.replace_rows(connection, valid)
            observation_rows.delete_rows(connection, result.obsolete)
            if result.is_empty:
                connection.execute(safe_delete(watch_group).where(key))
                breaker_rows.delete_of_type(connection, *group.key)
                return len(valid)
            values = {name: getattr(group, name) for name in _FIELDS[2:]}
            values["next_at"] = hinted_groups.keep_earlier(group.next_at, result.taken_until)
            updated = connection.execute(watch_group.update().where(key).values(**values))
            # The row of the group is locked now, so that of two reads one opens the breaker.
            breaker_rows.delete(connection, result.closed_breakers)
            if updated.rowcount:
                breaker_rows.store(connection, result.open_breakers)
        return len(valid)


def _is_group_of_resource() -> sa.ColumnElement[bool]:
    return sa.and_(
        watch_group.c.project_id == resource.c.project_id,
        watch_group.c.implementation == resource.c.implementation,
    )


def _get_resources(connection: Connection, ids: Sequence[str]) -> list[Any]:
    found: list[Any] = []
    query = resource_rows.select_by_ids(resource_rows.COLUMNS)
    for start in range(0, len(ids), _CHUNK):
        rows = connection.execute(query, {"ids": list(ids[start : start + _CHUNK])})
        found += resource_rows.from_readable_rows(connection, rows)
    return found


def _get_stacks(connection: Connection, ids: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for start in range(0, len(ids), _CHUNK):
        query = sa.select(*stack_rows.COLUMNS).where(
            stack.c.id.in_(ids[start : start + _CHUNK]), stack.c.status == Status.COMPLETE
        )
        for read in read_each(connection.execute(query), stack_rows.from_row):
            found[read.id] = read
    return found


def _obsolete(
    recorded: Sequence[ResourceObservation], existing: dict[str, str]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for each in recorded:
        if each.resource_id not in existing:
            found.setdefault(each.implementation, []).append(each.resource_id)
    return {name: tuple(sorted(ids)) for name, ids in found.items()}


def _unchanged(
    connection: Connection, observations: Sequence[ResourceObservation]
) -> list[ResourceObservation]:
    """Return the observations of resources that no action has begun on, or ended, since."""
    ids = sorted(each.resource_id for each in observations)
    times: dict[str, datetime | None] = {}
    for start in range(0, len(ids), _CHUNK):
        query = (
            sa.select(resource.c.id, resource.c.updated_at)
            .join(stack)
            .where(resource.c.id.in_(ids[start : start + _CHUNK]), _IS_WATCHED)
        )
        times.update((row.id, row.updated_at) for row in connection.execute(query))
    return [
        each
        for each in observations
        if each.resource_id in times and times[each.resource_id] == each.resource_updated_at
    ]
