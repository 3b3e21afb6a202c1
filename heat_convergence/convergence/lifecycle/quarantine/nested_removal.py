"""The removal of a nested stack whose parent's resource is in quarantine.

Called by the observer in a transaction of its own. The nested stack is deleted by a traversal as
every stack; it was left alone while something in quarantine might have used what it has.
"""

from __future__ import annotations

from dataclasses import dataclass

from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.nested import detach
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalRequest
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.planning.step_selection import select_removal_step
from heat_convergence.convergence.ports.store import Transaction


def detach_nested_stack(tx: Transaction, row: Resource) -> None:
    """Make the nested stack of a resource a root stack, if it is not deleted."""
    tree = detach.lock_nested_tree(tx, row.physical.id or "")
    if tree and tree[-1][0].owner_resource_id == row.id:
        detach.promote_to_root(tx, tree)


@dataclass(frozen=True, slots=True)
class NestedRemoval:
    """The state of the removal of a nested stack.

    Attributes:
        is_removed: whether the nested stack is deleted or not the parent's any more.
        outgoing_messages: messages to send after the commit.
    """

    is_removed: bool
    outgoing_messages: tuple[OutgoingMessage, ...] = ()


def remove_nested_stack(
    tx: Transaction, row: Resource, context: TraversalContext
) -> NestedRemoval:
    """Delete or detach the nested stack of a resource in quarantine, as its policy says."""
    if select_removal_step(row) is JobStep.ABANDON_PHYSICAL:
        detach_nested_stack(tx, row)
        return NestedRemoval(is_removed=True)
    nested = tx.stacks.lock(row.physical.id or "")
    if nested is None or nested.deleted_at is not None or nested.owner_resource_id != row.id:
        return NestedRemoval(is_removed=True)
    if nested.in_progress and nested.action is Action.DELETE:
        return NestedRemoval(is_removed=False)
    request = TraversalRequest(
        nested.id, Action.DELETE, stack_values={"quarantines": True}, initiator=Initiator.PARENT
    )
    started = traversal.start_traversal(tx, request, context)
    is_removed = started.stack.deleted_at is not None
    return NestedRemoval(is_removed, started.outgoing_messages)
