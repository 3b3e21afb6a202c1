"""Rows of goals in the database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any

import sqlalchemy as sa

from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full, with_parameter_values
from heat_convergence.convergence.ports.goals import GoalRepository
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import safe_delete
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.contents import get_contents
from heat_convergence.db.statements.inserts import insert_into
from heat_convergence.db.statements.readable_rows import check_row
from heat_convergence.db.tables import goal as goal_table
from heat_convergence.db.tables import snapshot

_FIELDS = Goal.__slots__
_ENCRYPTED = ("environment", "parameters", "outputs")
_COLUMNS = tuple(goal_table.c[name] for name in _FIELDS)
_GET = sa.select(*_COLUMNS).where(goal_table.c.id.in_(sa.bindparam("ids", expanding=True)))
_STACKS = sa.bindparam("stacks", type_=goal_table.c.stack_id.type, expanding=True)
_GET_OLD = sa.select(goal_table.c.id).where(
    goal_table.c.stack_id.in_(_STACKS),
    goal_table.c.id.not_in(sa.bindparam("kept", expanding=True)),
    goal_table.c.id.not_in(sa.select(snapshot.c.goal_id).where(snapshot.c.stack_id.in_(_STACKS))),
)


class SqlGoalRepository(SqlRepository, GoalRepository):
    """Goals on a database connection."""

    def insert(self, *goals: Goal) -> None:
        """Insert rows; values of a sensitive goal are encrypted."""
        self._connection.execute(insert_into(goal_table), [_columns(goal) for goal in goals])

    def get(self, goal_id: str) -> Goal | None:
        """Return the goal with everything that its row holds by hash."""
        found = self.get_row(goal_id)
        return None if found is None else restore_full(found, self._get_contents())

    def get_with_parameters(self, goal_id: str) -> Goal | None:
        """Return the goal with its own parameters, without what it inherits."""
        found = self.get_row(goal_id)
        return None if found is None else with_parameter_values(found, self._get_contents())

    def get_row(self, goal_id: str) -> Goal | None:
        """Return the goal as its row has it."""
        return self.get_rows([goal_id]).get(goal_id)

    def get_rows(self, ids: Collection[str]) -> Mapping[str, Goal]:
        """Return those of the rows that exist, by id."""
        if not ids:
            return {}
        rows = self._connection.execute(_GET, {"ids": sorted(ids)})
        return {found.id: found for found in map(_from_row, rows)}

    def delete_except(self, stack_ids: Collection[str], keep: Collection[str]) -> None:
        """Delete the stacks' goals except ``keep`` and those of their snapshots."""
        if not stack_ids:
            return
        # Read first: a DELETE would lock the snapshots that its condition reads.
        parameters = {"stacks": sorted(stack_ids), "kept": sorted(keep)}
        ids = sorted(self._connection.scalars(_GET_OLD, parameters))
        if ids:
            self._connection.execute(safe_delete(goal_table).where(goal_table.c.id.in_(ids)))

    def _get_contents(self) -> Callable[[Collection[str]], Mapping[str, str]]:
        return partial(get_contents, self._connection)


def _columns(goal: Goal) -> dict[str, Any]:
    columns = {name: getattr(goal, name) for name in _FIELDS}
    if goal.sensitive:
        columns.update({name: SensitiveValue(columns[name]) for name in _ENCRYPTED})
    return columns


def _from_row(row: Any) -> Goal:
    return Goal(**dict(zip(_FIELDS, check_row("goal", _FIELDS, row), strict=True)))
