"""Rows of resources in the database, locked in the order of their ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Unpack

import sqlalchemy as sa

from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import (
    ResourceColumns,
    get_columns,
)
from heat_convergence.convergence.model.transition_rules import reject_owned_columns
from heat_convergence.convergence.ports.resources import ResourceRepository
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.inserts import insert_rows
from heat_convergence.db.statements.resource_rows import (
    COLUMNS,
    NARROW_COLUMNS,
    STACK_INDEX,
    find_unsettled_names,
    for_update,
    from_readable_rows,
    read_named_rows,
    read_planned_rows,
    select_by_ids,
    select_narrow_rows,
    select_rows,
)
from heat_convergence.db.statements.resource_updates import (
    update_each_row,
    update_rows,
    with_encryption,
)
from heat_convergence.db.tables import physical_dependency, resource, resource_graph

_CHUNK = 500  # few enough for the database to look rows up by key
_INSERTED = 1000  # rows at once
_GET = select_by_ids(COLUMNS)
_LOCK = for_update(select_by_ids(NARROW_COLUMNS))
_SELECT_ABSENT = force_index(
    sa.select(resource.c.id).where(
        resource.c.desired == DesiredState.ABSENT,
        resource.c.stack_id.in_(sa.bindparam("stacks", expanding=True)),
        resource.c.job.is_(None),
    ),
    resource,
    "ix_resource_desired_stack_id",
)


class SqlResourceRepository(SqlRepository, ResourceRepository):
    """Resources on a database connection."""

    def insert(self, resources: Iterable[Resource]) -> None:
        """Insert rows; long values become contents, those of sensitive rows are encrypted.

        The columns of a row take several kilobytes on their way to the database, so that those
        of a large stack are made a chunk at a time.
        """
        left = iter(resources)
        while rows := [get_columns(row) for row in islice(left, _INSERTED)]:
            value_dedup.store_shared(self._connection, rows)
            insert_rows(self._connection, resource, [with_encryption(row) for row in rows])

    def lock(self, ids: Collection[str]) -> list[Resource]:
        """Lock those of the rows that exist and return them, narrow, by id."""
        return select_narrow_rows(self._connection, _LOCK, ids=sorted(ids)) if ids else []

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Lock the stack's rows and return them, by id, as planning needs them."""
        return read_planned_rows(self._connection, stack_id, lock=True)

    def lock_by_names(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        """Lock the stack's rows of these names and return them, by id, as planning needs them."""
        return read_named_rows(self._connection, stack_id, names, lock=True)

    def find_unsettled(self, stack_id: str, implementations: Mapping[str, str]) -> list[str]:
        """Return the names of the stack's rows that are not at rest."""
        return list(self._connection.scalars(find_unsettled_names(stack_id, implementations)))

    def get(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist, whole, by id."""
        return select_rows(self._connection, _GET, ids=sorted(ids)) if ids else []

    def get_readable(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the rows that exist and can be decoded, whole, by id."""
        rows = self._connection.execute(_GET, {"ids": sorted(ids)}) if ids else ()
        return from_readable_rows(self._connection, rows)

    def get_by_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's rows, whole, by id."""
        statement = sa.select(*COLUMNS).where(resource.c.stack_id == stack_id)
        return select_rows(self._connection, statement.order_by(resource.c.id))

    def list_by_physical_ids(
        self, project_id: str, physical_ids: Collection[str]
    ) -> list[Resource]:
        """Return the project's rows of these physical ids, whole, by id."""
        found: list[Resource] = []
        for some in _chunks(sorted(physical_ids)):
            statement = sa.select(*COLUMNS).where(
                resource.c.physical_id.in_(some), resource.c.project_id == project_id
            )
            found.extend(select_rows(self._connection, statement))
        return sorted(found, key=lambda row: row.id)

    def update(self, ids: Collection[str], **values: Unpack[ResourceColumns]) -> None:
        """Set the same values in all of the rows, with one statement."""
        reject_owned_columns(values)
        update_rows(self._connection, ids, dict(values))

    def update_each(self, changes: Mapping[str, Mapping[str, object]]) -> None:
        """Set values by row, with one UPDATE prepared once and sent in the order of ids."""
        for values in changes.values():
            reject_owned_columns(values)
        update_each_row(self._connection, changes)

    def set_versions(self, stack_id: str, version: int) -> None:
        """Set the version of all of the stack's rows, and clear their timelines."""
        of_stack = resource.update().where(resource.c.stack_id == stack_id)
        self._connection.execute(
            force_index(of_stack, resource, STACK_INDEX).values(version=version, timeline=None)
        )

    def set_versions_of(self, ids: Collection[str], version: int) -> None:
        """Set the version of the rows, and clear their timelines."""
        for some in _chunks(sorted(ids)):
            update_rows(self._connection, some, {"version": version, "timeline": None})

    def count_by_stack(self, stack_id: str) -> int:
        """Return the number of the stack's rows."""
        of_stack = sa.select(sa.func.count()).where(resource.c.stack_id == stack_id)
        return self._connection.execute(of_stack).scalar_one()

    def delete(self, ids: Collection[str]) -> None:
        """Delete rows that the graph does not name any more."""
        for some in _chunks(sorted(ids)):
            self._connection.execute(safe_delete(resource).where(resource.c.id.in_(some)))

    def delete_absent(self, stack_ids: Collection[str]) -> None:
        """Delete the stacks' rows that are desired absent and have no job, with their edges."""
        if not stack_ids:
            return
        absent = self._connection.scalars(_SELECT_ABSENT, {"stacks": sorted(stack_ids)})
        for some in _chunks(sorted(absent)):
            touched = sa.or_(
                resource_graph.c.resource_id.in_(some), resource_graph.c.needed_by.in_(some)
            )
            self._connection.execute(
                safe_delete(resource_graph).where(
                    resource_graph.c.stack_id.in_(sorted(stack_ids)), touched
                )
            )
            self.delete(some)

    def delete_by_stacks(self, stack_ids: Collection[str], kept: Collection[str] = ()) -> None:
        """Delete the stacks' edges, physical dependencies and resources, apart from ``kept``."""
        if not stack_ids:
            return
        ids = sorted(stack_ids)
        for table in (resource_graph, physical_dependency):
            self._connection.execute(safe_delete(table).where(table.c.stack_id.in_(ids)))
        of_stacks = safe_delete(resource).where(resource.c.stack_id.in_(ids))
        if kept:
            of_stacks = of_stacks.where(resource.c.id.not_in(sorted(kept)))
        self._connection.execute(of_stacks)

    def any_status_reason_startswith(self, stack_id: str, action: Action, beginning: str) -> bool:
        """Return whether a present resource has such a status reason in that action."""
        statement = (
            sa.select(sa.literal(1))
            .where(
                resource.c.stack_id == stack_id,
                resource.c.desired == DesiredState.PRESENT,
                resource.c.action == action,
                resource.c.status_reason.startswith(beginning, autoescape=True),
            )
            .limit(1)
        )
        return self._connection.execute(statement).first() is not None


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[at : at + _CHUNK] for at in range(0, len(ids), _CHUNK))
