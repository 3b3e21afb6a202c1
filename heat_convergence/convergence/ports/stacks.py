"""The port to the rows of stacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from heat_convergence.convergence.model.job import Workload
from heat_convergence.convergence.model.stack import Stack


class StackRepository(Protocol):
    """Rows of stacks and their tags; rows are read without tags."""

    def lock(self, stack_id: str) -> Stack | None:
        """Lock and return the stack; None if there is no such row."""

    def get(self, stack_id: str) -> Stack | None:
        """Return the stack without locking it; None if there is no such row."""

    def get_many(self, ids: Collection[str]) -> Mapping[str, Stack]:
        """Return those of the stacks that exist, by id."""

    def get_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """Return the stack and its project's workload, as ``jobs.get_workload`` does."""

    def insert(self, stack: Stack) -> None:
        """Insert the row and its tags.

        Raises:
            StackExists: the project has a root stack of that name.
        """

    def update(self, stack_id: str, **values: Any) -> None:
        """Set columns; ``tags`` replace all tags, ``deleted_at`` releases the name.

        Raises:
            StackExists: the stack becomes a root and its name is taken.
        """

    def get_tags(self, stack_id: str) -> tuple[str, ...]:
        """Return the stack's tags in the user's order."""
