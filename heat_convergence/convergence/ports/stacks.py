"""The port to the rows of stacks."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol, TypedDict, Unpack

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack


class StackColumns(TypedDict, total=False):
    """Columns of a stack that callers may set, and its tags."""

    version: int
    action: Action
    status: Status
    status_reason: str
    goal_id: str
    username: str | None
    complete_goal_id: str | None
    disable_rollback: bool
    timeout_mins: int | None
    deadline_at: datetime | None
    updated_at: datetime | None
    deleted_at: datetime | None
    owner_id: str | None
    owner_resource_id: str | None
    root_id: str | None
    depth: int
    parent_resource: str | None
    tags: tuple[str, ...]
    started_at: datetime | None
    first_failure_reason: str | None
    quarantines: bool
    stabilization_s: int | None
    stabilizing: bool
    stable_since: datetime | None


class StackRepository(Protocol):
    """Rows of stacks and their tags; rows are read without tags."""

    def lock(self, stack_id: str) -> Stack | None:
        """Lock and return the stack; None if there is no such row."""

    def lock_with_resources(
        self, named: Mapping[str, Collection[str]]
    ) -> list[tuple[Stack, list[Resource]]]:
        """Lock stacks, and then those of their resources that are named.

        Args:
            named: the ids of resources by stack.

        Returns:
            The stacks that exist by id, each with its resources, narrow, by id.
        """

    def get(self, stack_id: str) -> Stack | None:
        """Return the stack without locking it; None if there is no such row."""

    def get_many(self, ids: Collection[str]) -> Mapping[str, Stack]:
        """Return those of the stacks that exist, by id."""

    def get_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """Return the stack and its project's workload, as ``jobs.get_workload`` does."""

    def remember(self, stack: Stack) -> None:
        """Note a stack that was read before the transaction, which inserts events of it.

        A store that forwards events needs its goal, and does not read it again.
        """

    def insert(self, *stacks: Stack) -> None:
        """Insert rows and their tags: one root stack, or any number of nested ones.

        Raises:
            StackExists: the project has a root stack of that name.
        """

    def update(self, stack_id: str, **values: Unpack[StackColumns]) -> None:
        """Set columns; ``tags`` replace all tags, ``deleted_at`` releases the name.

        Raises:
            StackExists: the stack becomes a root and its name is taken.
        """

    def update_each(self, changes: Mapping[str, StackColumns]) -> None:
        """Set columns by stack, as ``update`` does, but no tags and owners.

        Args:
            changes: stack id → its columns; those with the same columns share a statement.
        """

    def lock_quotas(self, project_id: str) -> None:
        """Lock what the project has, to be counted; no other lock may be taken after it."""

    def count_roots(self, project_id: str) -> int:
        """Return how many root stacks that are not deleted the project has."""

    def get_tags(self, stack_id: str) -> tuple[str, ...]:
        """Return the stack's tags in the user's order."""
