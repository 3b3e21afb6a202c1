"""The port to the rows of goals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from heat_convergence.convergence.model.goal import Goal


class GoalRepository(Protocol):
    """Rows of goals: a row holds the hashes of long values, see ``model.goal_storage``."""

    def insert(self, *goals: Goal) -> None:
        """Insert rows, whose contents are stored already."""

    def get(self, goal_id: str) -> Goal | None:
        """Return the goal with everything that its row holds by hash."""

    def get_row(self, goal_id: str) -> Goal | None:
        """Return the goal as its row has it, without what it holds by hash."""

    def get_rows(self, ids: Collection[str]) -> Mapping[str, Goal]:
        """Return those of the rows that exist, by id."""

    def delete_except(self, stack_ids: Collection[str], keep: Collection[str]) -> None:
        """Delete the stacks' goals except ``keep`` and those of their snapshots."""
