"""Rows of stacks and their tags in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Unpack

import sqlalchemy as sa
from oslo_db import exception as db_exc

from heat_convergence.common import errors
from heat_convergence.convergence.model.job import JobState, Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.stacks import StackColumns, StackRepository
from heat_convergence.db.connection.galera import is_on_galera
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import quota_locks, resource_rows
from heat_convergence.db.statements.inserts import insert_into
from heat_convergence.db.statements.stack_rows import COLUMNS, COUNT_ROOTS, FIELDS, from_row
from heat_convergence.db.tables import resource, stack_tag
from heat_convergence.db.tables import stack as stack_table

_GET = sa.select(*COLUMNS).where(stack_table.c.id == sa.bindparam("stack"))
# ``key_share``: a transaction that only adds a foreign key to the row need not wait.
_LOCK = _GET.with_for_update(key_share=True)
_ANY_OF_IDS = stack_table.c.id.in_(sa.bindparam("ids", expanding=True))
_LOCK_MANY = resource_rows.for_update(
    force_index(sa.select(*COLUMNS).where(_ANY_OF_IDS), stack_table).order_by(stack_table.c.id)
)
_CHANGE = force_index(stack_table.update().where(_ANY_OF_IDS), stack_table).values(
    lock_turn=stack_table.c.lock_turn + 1
)
_LOCK_RESOURCES = resource_rows.for_update(
    resource_rows.select_by_ids(resource_rows.NARROW_COLUMNS).where(
        resource.c.stack_id.in_(sa.bindparam("stacks", expanding=True))
    )
)
_FEW = 4
# The stack comes first in FROM: databases lock the rows of a join in this order.
_LOCK_WITH_RESOURCES = resource_rows.for_update(
    force_index(sa.select(*COLUMNS, *resource_rows.NARROW_COLUMNS), resource)
    .select_from(stack_table.join(resource, resource.c.stack_id == stack_table.c.id))
    .where(stack_table.c.id == sa.bindparam("stack"), resource_rows.ANY_OF_IDS)
    .order_by(resource.c.id)
)
_GET_MANY = sa.select(*COLUMNS).where(_ANY_OF_IDS)
_OF_PROJECT = resource.c.project_id == stack_table.c.project_id


def _count_jobs(state: JobState) -> sa.ScalarSelect[int]:
    jobs = sa.select(sa.func.count()).where(_OF_PROJECT, resource.c.job_state == state)
    return jobs.correlate(stack_table).scalar_subquery()


_GET_WITH_WORKLOAD = sa.select(
    *COLUMNS,
    _count_jobs(JobState.POSTED),
    _count_jobs(JobState.RUNNING),
    sa.exists()
    .where(_OF_PROJECT, resource.c.job_state == JobState.SCHEDULABLE)
    .correlate(stack_table),
).where(stack_table.c.id == sa.bindparam("stack"))


_GET_TAGS = (
    sa.select(stack_tag.c.tag)
    .where(stack_tag.c.stack_id == sa.bindparam("stack"))
    .order_by(stack_tag.c.position)
)


class SqlStackRepository(SqlRepository, StackRepository):
    """Stacks on a database connection."""

    def lock(self, stack_id: str) -> Stack | None:
        """Lock and return the stack; other transactions may still refer to it.

        On a Galera cluster the row is changed: of transactions on different nodes that lock it
        at the same time, only one commits.
        """
        if is_on_galera(self._connection):
            self._connection.execute(_CHANGE, {"ids": [stack_id]})
        row = self._connection.execute(_LOCK, {"stack": stack_id}).first()
        return None if row is None else from_row(row)

    def lock_with_resources(
        self, named: Mapping[str, Collection[str]]
    ) -> list[tuple[Stack, list[Resource]]]:
        """Lock stacks, and then those of their resources that are named.

        One statement does both for a few resources of one stack, beside each of which it repeats
        the stack.
        """
        ids = sorted(row_id for of_stack in named.values() for row_id in of_stack)
        if len(named) == 1 and 0 < len(ids) <= _FEW and not is_on_galera(self._connection):
            parameters = {"stack": next(iter(named)), "ids": ids}
            found = self._connection.execute(_LOCK_WITH_RESOURCES, parameters).all()
            if found:
                width = len(COLUMNS)
                rows = [resource_rows.from_narrow_row(row[width:]) for row in found]
                return [(from_row(found[0][:width]), rows)]
        stacks = self._lock_many(named)
        if not stacks or not ids:
            return [(stack, []) for stack in stacks]
        parameters = {"stacks": [stack.id for stack in stacks], "ids": ids}
        by_stack: dict[str, list[Resource]] = {}
        for row in resource_rows.select_narrow_rows(
            self._connection, _LOCK_RESOURCES, **parameters
        ):
            by_stack.setdefault(row.stack_id, []).append(row)
        return [
            (stack, [row for row in by_stack.get(stack.id, ()) if row.id in named[stack.id]])
            for stack in stacks
        ]

    def _lock_many(self, ids: Collection[str]) -> list[Stack]:
        """Lock stacks in the order of their ids, and return those that exist."""
        if len(ids) == 1:
            found = self.lock(next(iter(ids)))
            return [] if found is None else [found]
        parameters = {"ids": sorted(ids)}
        if is_on_galera(self._connection):
            self._connection.execute(_CHANGE, parameters)
        return [from_row(row) for row in self._connection.execute(_LOCK_MANY, parameters)]

    def get(self, stack_id: str) -> Stack | None:
        """Return the stack without locking it."""
        row = self._connection.execute(_GET, {"stack": stack_id}).first()
        return None if row is None else from_row(row)

    def get_many(self, ids: Collection[str]) -> Mapping[str, Stack]:
        """Return those of the stacks that exist, by id."""
        if not ids:
            return {}
        rows = self._connection.execute(_GET_MANY, {"ids": sorted(ids)})
        return {found.id: found for found in map(from_row, rows)}

    def get_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """Return the stack and its project's workload, with one statement."""
        row = self._connection.execute(_GET_WITH_WORKLOAD, {"stack": stack_id}).first()
        if row is None:
            return None
        posted, running, schedulable = row[-3:]
        return from_row(row[:-3]), Workload(posted, running, has_schedulable=bool(schedulable))

    def remember(self, stack: Stack) -> None:
        """Do nothing: this store forwards no events."""

    def insert(self, *stacks: Stack) -> None:
        """Insert rows and their tags; a root stack takes its name."""
        rows = [
            {
                **{name: getattr(stack, name) for name in FIELDS},
                "live_name": stack.name if stack.owner_id is None else None,
            }
            for stack in stacks
        ]
        try:
            self._connection.execute(insert_into(stack_table), rows)
        except db_exc.DBDuplicateEntry as error:
            raise errors.StackExists(stacks[0].name) from error
        for stack in stacks:
            self._insert_tags(stack.id, stack.tags)

    def update(self, stack_id: str, **values: Unpack[StackColumns]) -> None:
        """Set columns; a deleted stack releases its name, a stack that becomes a root takes it."""
        columns = _with_live_name(values)
        tags = columns.pop("tags", None)
        update = stack_table.update().where(stack_table.c.id == stack_id)
        try:
            self._connection.execute(update.values(**columns))
        except db_exc.DBDuplicateEntry as error:
            raise errors.StackExists(stack_id) from error
        if tags is not None:
            self._connection.execute(
                safe_delete(stack_tag).where(stack_tag.c.stack_id == stack_id)
            )
            self._insert_tags(stack_id, tags)

    def update_each(self, changes: Mapping[str, StackColumns]) -> None:
        """Set columns by stack; those with the same columns share a statement."""
        groups: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
        for stack_id, values in changes.items():
            columns = _with_live_name(values)
            groups.setdefault(tuple(sorted(columns)), {})[stack_id] = columns
        for names, members in groups.items():
            values_of = {name: _by_stack(name, members) for name in names}
            of_members = stack_table.update().where(stack_table.c.id.in_(sorted(members)))
            self._connection.execute(force_index(of_members, stack_table).values(values_of))

    def lock_quotas(self, project_id: str) -> None:
        """Lock what the project has, to be counted."""
        quota_locks.lock_quotas(self._connection, project_id)

    def count_roots(self, project_id: str) -> int:
        """Return how many root stacks that are not deleted the project has."""
        return int(self._connection.scalar(COUNT_ROOTS, {"project": project_id}) or 0)

    def get_tags(self, stack_id: str) -> tuple[str, ...]:
        """Return the stack's tags in the user's order."""
        return tuple(self._connection.scalars(_GET_TAGS, {"stack": stack_id}))

    def _insert_tags(self, stack_id: str, tags: Sequence[str]) -> None:
        if tags:
            self._connection.execute(
                insert_into(stack_tag),
                [
                    {"stack_id": stack_id, "position": position, "tag": tag}
                    for position, tag in enumerate(tags)
                ],
            )


def _with_live_name(values: StackColumns) -> dict[str, Any]:
    """Return columns with the name of a root stack, as far as they take or release it."""
    columns: dict[str, Any] = {**values}
    if columns.get("deleted_at") is not None:
        columns["live_name"] = None
    elif "owner_id" in columns and columns["owner_id"] is None:
        columns["live_name"] = stack_table.c.name
    return columns


def _by_stack(name: str, members: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the value that a column is set to in all of the stacks, or in each of them."""
    values = {stack_id: columns[name] for stack_id, columns in members.items()}
    first = next(iter(values.values()))
    if all(value == first for value in values.values()):
        return first
    of_type = stack_table.c[name].type
    return sa.case(
        {stack_id: sa.literal(value, of_type) for stack_id, value in values.items()},
        value=stack_table.c.id,
    )
