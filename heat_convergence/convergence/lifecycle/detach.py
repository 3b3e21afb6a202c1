"""A nested stack that outlives the resource that it was behind: a stack of its own.

Decides what becomes of it where a deletion policy retains the resource: it is a root
from then on, under the name that it has, so that users find it and can delete it; ADR 6
has the reasons.  Called by engines in the transaction that records the deletion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from heat_convergence.common.errors import StackExists
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction

LockedTree = Sequence[tuple[Stack, Sequence[Resource]]]


def lock_nested_tree(tx: Transaction, stack_id: str) -> LockedTree:
    """The stack, last, and all below it, from the deepest up, with their rows, as whoever
    abandons a tree locks it: what is being made behind one of the rows is there, too.
    Empty where the stack is gone."""
    stack = tx.stacks.get(stack_id)
    if stack is None:
        return ()
    found = _locked(tx, stack)
    while len(_below(tx, stack)) + 1 > len(found):  # one was just being made
        found = _locked(tx, stack)
    living = tuple(each for each in found if each[0].deleted_at is None)
    return living if living and living[-1][0].id == stack_id else ()


def promote_to_root(tx: Transaction, tree: LockedTree) -> None:
    """The last of the tree is its root.  Raises ``StackExists`` where the project has
    another root of that name."""
    root, _rows = tree[-1]
    owned = {"owner_id": None, "owner_resource_id": None, "parent_resource": None}
    for stack, rows in tree:
        more = owned if stack.id == root.id else {}
        try:
            tx.stacks.update(stack.id, root_id=root.id, depth=stack.depth - root.depth, **more)
        except StackExists as error:
            raise StackExists(root.name) from error
        tx.resources.update([row.id for row in rows], root_id=root.id)


def _locked(tx: Transaction, stack: Stack) -> list[tuple[Stack, Sequence[Resource]]]:
    found: list[tuple[Stack, Sequence[Resource]]] = []
    for each in (*_below(tx, stack), stack):
        now = tx.stacks.lock(each.id)
        rows = tx.resources.lock_by_stack(each.id)
        if now is not None:
            found.append((now, rows))
    return found


def _below(tx: Transaction, stack: Stack) -> list[Stack]:
    """Of the stack's tree what is below it, the deepest first."""
    others = tx.tree.list_descendants(stack.tree_id)
    owners: Mapping[str, str | None] = {each.id: each.owner_id for each in others}

    def is_below(stack_id: str | None) -> bool:
        while stack_id is not None and stack_id != stack.id:
            stack_id = owners.get(stack_id)
        return stack_id is not None

    return [each for each in others if is_below(each.owner_id)]
