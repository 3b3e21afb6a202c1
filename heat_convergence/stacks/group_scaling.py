"""Scaling a group when a signal asks for it: an update of the stack behind it.

Called for signals to scaling policies, in the signal's transaction: the scaling begins
in it or not at all, so that a crash loses neither half (RULE 4).  Decides when a signal
is passed over: while the group is at work, still scaling or cooling down, and when
nothing would change.  Source: heat-facts ``resource_groups.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import EntityNotFound, RequestLimitExceeded
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.snapshot_completion import (
    get_ancestors_taking_snapshot,
)
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.resources.nested.nested_type import (
    COOLDOWN_END_KEY,
    SCALING_KEY,
    ScalableGroupType,
)
from heat_convergence.resources.protocol.scaling_adjustment import ScalingAdjustment
from heat_convergence.stacks.goal.nested_builder import (
    NestedStackBuilder,
    PreparedNestedStack,
)

Json = Any


@dataclass(slots=True)
class GroupScaler:
    """Of the group behind which is the stack ``group_id``, for one transaction.

    ``hold`` comes before any other lock: first a stack, then the row in its parent.
    """

    group_id: str
    builder: NestedStackBuilder
    max_resources: int = -1  # of a tree; negative: any number
    _child: Stack | None = field(default=None, init=False)

    def lock_group(self, tx: Transaction, stack: Stack) -> str | None:
        """Locks the group's stack; id of the row to lock next."""
        found = tx.stacks.lock(self.group_id)
        if found is None or found.deleted_at is not None or found.owner_id != stack.id:
            return None
        self._child = found
        return found.owner_resource_id

    def adjust(
        self, tx: Transaction, stack: Stack, asked: ScalingAdjustment, means: TraversalContext
    ) -> tuple[OutgoingMessage, ...] | None:
        """Begins the scaling; None when the signal is passed over.

        Raises ``EntityNotFound`` where the stack has no such group, and what is wrong
        with members that would be made.
        """
        child, row = self._child, self._row(tx)
        kind = None if row is None else self.builder.registry.find(row.implementation)
        if child is None or row is None or not isinstance(kind, ScalableGroupType):
            raise EntityNotFound("Alarm target group", self.group_id)
        if not _at_rest(row, child, means.now) or get_ancestors_taking_snapshot(tx, child):
            return None
        members = [
            each
            for each in tx.resources.get_by_stack(child.id)
            if each.desired is DesiredState.PRESENT
        ]
        current = sum(each.status is not Status.FAILED for each in members)
        bounds = kind.scaling_bounds(row.properties or {})
        size = asked.new_size(current, bounds)
        if size == current:
            return None
        self._check_limit(tx, row, size - current)
        draft = self._draft(tx, stack, row, members, child, size, means)
        cooldown_s = bounds.cooldown_s if asked.cooldown_s is None else asked.cooldown_s
        scaling = {
            "cooldown_s": cooldown_s,
            "why": f"{asked.adjustment_type} : {asked.amount:g}",
            "adjustment_type": str(asked.adjustment_type),
            "adjustment": asked.amount,
            "from": current,
            "to": size,
        }
        data = {**draft.data, SCALING_KEY: scaling}
        tx.resources.update_each({row.id: {"data": data, "sensitive": row.sensitive}})
        tx.contents.put(draft.contents)
        begun = traversal.start_traversal(
            tx,
            stack_id=child.id,
            action=Action.UPDATE,
            initiator=Initiator.SERVICE,
            goal=draft.goal,
            desired_resources=draft.desired_resources,
            context=means,
        )
        return begun.outgoing_messages

    def _row(self, tx: Transaction) -> Resource | None:
        """The group's, if it is wanted and its stack is behind it."""
        owner_id = None if self._child is None else self._child.owner_resource_id
        if owner_id is None:
            return None
        for row in tx.resources.get([owner_id]):
            if row.physical_id == self.group_id and row.desired is DesiredState.PRESENT:
                return row
        return None

    def _draft(
        self,
        tx: Transaction,
        stack: Stack,
        row: Resource,
        members: list[Resource],
        child: Stack,
        size: int,
        means: TraversalContext,
    ) -> PreparedNestedStack:
        return self.builder.prepare(
            self.builder.load_parent(stack, tx.goals.get_row, tx.contents.get),
            row,
            row.properties or {},
            means.ids,
            facade={},
            load_members=lambda: members,
            load_goal=lambda: tx.goals.get_row(child.goal_id),
            requested_size=size,
        )

    def _check_limit(self, tx: Transaction, row: Resource, more: int) -> None:
        number = tx.tree.count_resources(row.root_id) + more
        if 0 <= self.max_resources < number and more > 0:
            raise RequestLimitExceeded(
                f"Maximum resources per stack exceeded: {number},"
                f" {self.max_resources} are allowed",
                path=f"resources.{row.name}",
            )


def _at_rest(row: Resource, child: Stack, now: datetime) -> bool:
    """Whether the group may scale now."""
    if row.job is not None or row.status is not Status.COMPLETE:
        return False
    if child.in_progress or SCALING_KEY in row.data:
        return False
    ends = row.data.get(COOLDOWN_END_KEY) or {}
    return all(datetime.fromisoformat(until) <= now for until in ends)
