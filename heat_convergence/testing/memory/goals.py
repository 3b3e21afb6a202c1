"""Goals, and the contents that they refer to, in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.common.stored_values import ContentMap
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full
from heat_convergence.convergence.ports.contents import ContentRepository
from heat_convergence.convergence.ports.goals import GoalRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryContentRepository(MemoryRepository, ContentRepository):
    """Contents in a dictionary."""

    def put(self, contents: Mapping[str, str]) -> None:
        """Store texts by hash; a text that is stored already stays."""
        for key, body in contents.items():
            self._tables.contents.setdefault(key, body)

    def get(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return those of the texts that are stored, by hash."""
        stored = self._tables.contents
        return ContentMap((key, stored[key]) for key in hashes if key in stored)


class MemoryGoalRepository(MemoryRepository, GoalRepository):
    """Goals in a dictionary."""

    def insert(self, *goals: Goal) -> None:
        """Insert rows."""
        self._tables.goals.update({goal.id: goal for goal in goals})

    def get(self, goal_id: str) -> Goal | None:
        """Return the goal with everything that its row holds by hash."""
        found = self.get_row(goal_id)
        contents = MemoryContentRepository(self._tables)
        return None if found is None else restore_full(found, contents.get)

    def get_row(self, goal_id: str) -> Goal | None:
        """Return the goal as its row has it."""
        return self._tables.goals.get(goal_id)

    def get_rows(self, ids: Collection[str]) -> Mapping[str, Goal]:
        """Return those of the rows that exist, by id."""
        return {key: goal for key, goal in self._tables.goals.items() if key in ids}

    def delete_except(self, stack_ids: Collection[str], keep: Collection[str]) -> None:
        """Delete the stacks' goals except ``keep`` and those of their snapshots."""
        snapshots = [each for key in stack_ids for each in self._tables.snapshots_of_stack(key)]
        kept = {*keep, *(snapshot.goal_id for snapshot in snapshots)}
        for goal in list(self._tables.goals.values()):
            if goal.stack_id in stack_ids and goal.id not in kept:
                del self._tables.goals[goal.id]
