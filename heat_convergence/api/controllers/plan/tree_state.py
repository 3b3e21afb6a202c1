"""The state of a whole tree that a plan is made from and, before its execution, compared with.

Called by the controllers of plans. Reads with a number of statements that does not grow with the
tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.convergence.drift.repair_preview import RepairableResource
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.difference import capture_state
from heat_convergence.db.drift import repairable_resources
from heat_convergence.db.reads import resources
from heat_convergence.stacks.nested_preview import StackTree, read_stack_tree

Json = Any


@dataclass(frozen=True, slots=True)
class TreeState:
    """A stack with its descendants, and what was observed of their resources.

    Attributes:
        rows: the stack's own resources.
        tree: the descendants with theirs.
    """

    stack: Stack
    rows: Sequence[Resource] = ()
    tree: StackTree = field(default_factory=StackTree)
    observed: Sequence[RepairableResource] = ()

    @property
    def observed_by_place(self) -> Mapping[tuple[str, str], RepairableResource]:
        """The last observations, by id of the stack and name of the resource."""
        return {(each.stack_id, each.name): each for each in self.observed}

    def capture(self) -> Mapping[str, Json]:
        """Return what a plan depends on."""
        stacks = (self.stack, *self.tree.stacks.values())
        rows = [*self.rows, *(row for rows in self.tree.rows.values() for row in rows)]
        return capture_state(stacks, rows, self.observed)


def read_tree_state(conn: Any, stack: Stack, max_depth: int) -> TreeState:
    """Read the state of a stack's tree."""
    rows = resources.list_full(conn, stack.id)
    tree = read_stack_tree(conn, stack, max_depth)
    observed = repairable_resources.list_by_stacks(conn, {stack.id, *tree.stacks})
    return TreeState(stack, rows, tree, observed)
