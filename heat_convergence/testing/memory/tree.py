"""Reads across a tree of stacks in memory."""

from __future__ import annotations

from collections.abc import Collection

from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow
from heat_convergence.convergence.model.stack import BreakpointLocation, Stack
from heat_convergence.convergence.ports.tree import TreeRepository
from heat_convergence.testing.memory.tables import MemoryRepository


class MemoryTreeRepository(MemoryRepository, TreeRepository):
    """Trees of stacks in dictionaries."""

    def list_descendants(self, root_id: str) -> list[Stack]:
        """Return the existing nested stacks of the tree, the deepest first."""
        found = [
            stack
            for stack in self._tables.stacks.values()
            if stack.root_id == root_id and stack.id != root_id and stack.deleted_at is None
        ]
        return sorted(found, key=lambda stack: (-stack.depth, stack.id))

    def list_ancestor_resources(self, stack_id: str) -> list[Resource]:
        """Return the resources that stand for the stack and its ancestors in their parents."""
        found: list[Resource] = []
        stack = self._tables.stacks.get(stack_id)
        while stack is not None and stack.owner_id is not None:
            rows = self._tables.resources_by_id([stack.owner_resource_id or ""])
            found += [narrow(row) for row in rows]
            stack = self._tables.stacks.get(stack.owner_id)
        return found

    def count_resources(self, root_id: str) -> int:
        """Return how many resources the stacks of the tree want present."""
        rows = self._tables.resources.values()
        return sum(
            row.identity.root_id == root_id
            and row.desired.state is DesiredState.PRESENT
            and all(
                owner.desired.state is DesiredState.PRESENT
                for owner in self.list_ancestor_resources(row.stack_id)
            )
            for row in rows
        )

    def find_breakpoint_locations(self, stacks: Collection[Stack]) -> list[BreakpointLocation]:
        """Return where those of ``stacks`` that are in progress wait at breakpoints."""
        requested = {stack.id for stack in stacks if stack.in_progress}
        found = []
        for row in self._tables.resources.values():
            at: Stack | None = self._tables.stacks.get(row.stack_id)
            path: tuple[str, ...] = (row.name,)
            while row.job.state is JobState.AT_BREAKPOINT and at is not None:
                if at.id in requested:
                    found.append(BreakpointLocation(at.id, path, row.job.hook or ""))
                path = (at.parent_resource or "", *path)
                at = self._tables.stacks.get(at.owner_id or "") if at.in_progress else None
        return sorted(found, key=lambda location: (location.stack_id, location.path))
