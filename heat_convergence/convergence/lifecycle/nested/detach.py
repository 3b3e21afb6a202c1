"""The detachment of a nested stack that outlives its parent's resource.

Decides what becomes of a nested stack whose resource is deleted with the deletion
policy Retain: from then on it is a root stack under the name that it has, so that users
can find and delete it; ADR 6 has the reasons.  Called by engines in the transaction
that records the deletion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heat_convergence.common.errors import StackExists
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction

LockedTree = Sequence[tuple[Stack, Sequence[Resource]]]
"""Stacks with their rows, all locked, from the deepest to the root of the tree."""


def lock_nested_tree(tx: Transaction, stack_id: str) -> LockedTree:
    """Lock a nested stack and its descendants, the deepest first, with their rows.

    Returns:
        The locked tree, with stacks that were being created meanwhile; empty if the
        stack is deleted.
    """
    stack = tx.stacks.get(stack_id)
    if stack is None:
        return ()
    locked = _lock_descendants(tx, stack)
    while len(_list_descendants(tx, stack)) + 1 > len(locked):  # one was just being created
        locked = _lock_descendants(tx, stack)
    living = tuple(each for each in locked if each[0].deleted_at is None)
    return living if living and living[-1][0].id == stack_id else ()


def promote_to_root(tx: Transaction, tree: LockedTree) -> None:
    """Make the last stack of the tree a root stack.

    Raises:
        StackExists: the project has another root stack of that name.
    """
    root, _rows = tree[-1]
    for stack, rows in tree:
        try:
            if stack.id == root.id:
                tx.stacks.update(
                    stack.id,
                    root_id=root.id,
                    depth=0,
                    owner_id=None,
                    owner_resource_id=None,
                    parent_resource=None,
                )
            else:
                tx.stacks.update(stack.id, root_id=root.id, depth=stack.depth - root.depth)
        except StackExists as error:
            raise StackExists(root.name) from error
        tx.resources.update([row.id for row in rows], root_id=root.id)


def _lock_descendants(tx: Transaction, stack: Stack) -> list[tuple[Stack, Sequence[Resource]]]:
    locked: list[tuple[Stack, Sequence[Resource]]] = []
    for each in (*_list_descendants(tx, stack), stack):
        current = tx.stacks.lock(each.id)
        rows = tx.resources.lock_by_stack(each.id)
        if current is not None:
            locked.append((current, rows))
    return locked


def _list_descendants(tx: Transaction, stack: Stack) -> list[Stack]:
    """List the stacks nested in this one, the deepest first."""
    others = tx.tree.list_descendants(stack.tree_id)
    owners: Mapping[str, str | None] = {each.id: each.owner_id for each in others}

    def is_descendant(stack_id: str | None) -> bool:
        while stack_id is not None and stack_id != stack.id:
            stack_id = owners.get(stack_id)
        return stack_id is not None

    return [each for each in others if is_descendant(each.owner_id)]
