"""Stacks and their tags in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Unpack

from heat_convergence.common import errors
from heat_convergence.convergence.model.job import Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.stacks import StackColumns, StackRepository
from heat_convergence.testing.memory.jobs import MemoryJobRepository
from heat_convergence.testing.memory.tables import MemoryRepository
from heat_convergence.testing.memory.values import as_stored


class MemoryStackRepository(MemoryRepository, StackRepository):
    """Stacks in a dictionary."""

    def lock(self, stack_id: str) -> Stack | None:
        """Return the stack; there is only one transaction."""
        return self.get(stack_id)

    def lock_with_resources(
        self, named: Mapping[str, Collection[str]]
    ) -> list[tuple[Stack, list[Resource]]]:
        """Return stacks, and those of their resources that are named, narrow."""
        return [
            (
                stack,
                [narrow(row) for row in self._tables.resources_by_id(ids) if row.stack_id == key],
            )
            for key, ids in sorted(named.items())
            if (stack := self.get(key)) is not None
        ]

    def get(self, stack_id: str) -> Stack | None:
        """Return the stack; None if there is no such row."""
        return self._tables.stacks.get(stack_id)

    def get_many(self, ids: Collection[str]) -> Mapping[str, Stack]:
        """Return those of the stacks that exist, by id."""
        return {key: stack for key in ids if (stack := self.get(key)) is not None}

    def get_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        """Return the stack and its project's workload."""
        stack = self.get(stack_id)
        jobs = MemoryJobRepository(self._tables)
        return None if stack is None else (stack, jobs.get_workload(stack.project_id))

    def remember(self, stack: Stack) -> None:
        """Do nothing: this store forwards no events."""

    def insert(self, *stacks: Stack) -> None:
        """Insert rows and their tags."""
        for stack in stacks:
            self._check_name(stack)
            self._tables.stacks[stack.id] = replace(stack, tags=())
            self._tables.tags[stack.id] = tuple(stack.tags)

    def update(self, stack_id: str, **values: Unpack[StackColumns]) -> None:
        """Set columns; ``tags`` replace all tags."""
        if stack_id not in self._tables.stacks:
            return
        columns = as_stored({**values})
        if "tags" in columns:
            self._tables.tags[stack_id] = tuple(columns.pop("tags"))
        stack = replace(self._tables.stacks[stack_id], **columns)
        if "owner_id" in columns:
            self._check_name(stack)
        self._tables.stacks[stack_id] = stack

    def update_each(self, changes: Mapping[str, StackColumns]) -> None:
        """Set columns by stack."""
        for stack_id, values in changes.items():
            self.update(stack_id, **values)

    def lock_quotas(self, project_id: str) -> None:
        """Do nothing: there is only one transaction."""

    def count_roots(self, project_id: str) -> int:
        """Return how many root stacks that are not deleted the project has."""
        return sum(
            stack.project_id == project_id and stack.owner_id is None and stack.deleted_at is None
            for stack in self._tables.stacks.values()
        )

    def get_tags(self, stack_id: str) -> tuple[str, ...]:
        """Return the stack's tags in the user's order."""
        return self._tables.tags.get(stack_id, ())

    def _check_name(self, stack: Stack) -> None:
        for other in self._tables.stacks.values():
            is_live_root = other.owner_id is None and other.deleted_at is None
            same = other.name == stack.name and other.project_id == stack.project_id
            if stack.owner_id is None and is_live_root and same and other.id != stack.id:
                raise errors.StackExists(stack.name)
