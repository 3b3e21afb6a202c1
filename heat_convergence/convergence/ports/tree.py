"""The port to questions about a tree of stacks: a root and its nested stacks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import BreakpointLocation, Stack


class TreeRepository(Protocol):
    """Reads across the stacks of a tree; none of them locks."""

    def list_descendants(self, root_id: str) -> list[Stack]:
        """Return the existing nested stacks of the tree, the deepest first."""

    def list_ancestor_resources(self, stack_id: str) -> list[Resource]:
        """Return the resources that stand for the stack and its ancestors in their parents.

        Returns:
            Narrow rows, as ``resources.lock`` does, from the parent's up to the root's.
        """

    def count_resources(self, root_id: str) -> int:
        """Return how many resources the stacks of the tree want present.

        Those of a nested stack that is to be deleted, or whose ancestor is, do not count.
        """

    def find_breakpoint_locations(self, stacks: Collection[Stack]) -> list[BreakpointLocation]:
        """Return where those of ``stacks`` that are in progress wait at breakpoints.

        Returns:
            Resources AT_BREAKPOINT of the stacks themselves and of nested stacks in
            progress, by stack and path; a thousand at most.
        """
