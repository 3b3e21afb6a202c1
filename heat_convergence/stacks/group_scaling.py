"""Scaling of a group at a signal: an update of the group's nested stack.

Called for signals to scaling policies, in the signal's transaction: the scaling starts
in it or not at all, so that a crash loses neither half (RULE 4).  The new template is
evaluated outside of the transaction, which is repeated for it.  Decides when a signal
is ignored: while the group is at work, still scaling or cooling down, and when nothing
would change.  Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.common.errors import EntityNotFound
from heat_convergence.common.evaluation.deferred_evaluation import evaluate_outside
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import (
    get_ancestors_taking_snapshot,
)
from heat_convergence.convergence.lifecycle.traversal import Initiator
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.resources.nested.nested_type import (
    COOLDOWN_END_KEY,
    SCALING_KEY,
    ScalableGroupType,
)
from heat_convergence.resources.protocol.scaling_adjustment import ScalingAdjustment, ScalingBounds
from heat_convergence.resources.reference_scope import is_own_group
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.nested_builder import (
    NestedStackBuilder,
    ParentResource,
    PreparedNestedStack,
)

Json = Any


@dataclass(frozen=True, slots=True)
class _ScalingInputs:
    """Everything that the template of a group's new size is made of; goals do not change."""

    stack: Stack
    goal_id: str
    row: Resource
    members: Sequence[Resource]
    size: int


@dataclass(slots=True)
class GroupScaler:
    """The scaling of one group, for one transaction.

    ``lock_group`` comes before any other lock: first a stack, then the row in its parent.

    Attributes:
        group_id: the id of the group's nested stack.
        store: from which the evaluation of the new template reads.
        max_resources: of a tree; negative for no limit.
    """

    group_id: str
    builder: NestedStackBuilder
    store: Store
    max_resources: int = -1
    _group: Stack | None = field(default=None, init=False)

    def lock_group(self, tx: Transaction, stack: Stack) -> str | None:
        """Lock the group's nested stack and return the id of the row to lock next."""
        # First without a lock: the id may be that of another project's stack.
        if not is_own_group(tx.stacks.get(self.group_id), stack):
            return None
        found = tx.stacks.lock(self.group_id)
        if found is None or not is_own_group(found, stack):
            return None
        self._group = found
        return found.owner_resource_id

    def adjust(
        self,
        tx: Transaction,
        stack: Stack,
        adjustment: ScalingAdjustment,
        context: TraversalContext,
    ) -> tuple[OutgoingMessage, ...] | None:
        """Start the scaling; None when the signal is ignored.

        Raises:
            EntityNotFound: the stack has no such group.
            Error: a mistake in the members that would be created.
        """
        group, row = self._group, self._row(tx)
        resource_type = None if row is None else self._registry.find(row.desired.implementation)
        if group is None or row is None or not isinstance(resource_type, ScalableGroupType):
            raise EntityNotFound("Alarm target group", self.group_id)
        if not _may_scale(row, group, context.now) or get_ancestors_taking_snapshot(tx, group):
            return None
        rows = tx.resources.get_by_stack(group.id)
        members = [each for each in rows if each.desired.state is DesiredState.PRESENT]
        current = sum(each.state.status is not Status.FAILED for each in members)
        bounds = resource_type.scaling_bounds(row.physical.properties or {})
        size = adjustment.new_size(current, bounds)
        if size == current:
            return None
        inputs = _ScalingInputs(stack, group.goal_id, row, members, size)
        prepared: PreparedNestedStack = evaluate_outside(
            ("scaling", group.id), inputs, lambda: self._prepare(inputs, context.ids)
        )
        scaling = _scaling_record(adjustment, bounds, current, size)
        data = {**prepared.data, SCALING_KEY: scaling}
        tx.resources.update_each({row.id: {"data": data, "sensitive": row.desired.sensitive}})
        started = self._start(tx, prepared, context)
        quotas.check_tree_size(tx, row, self.max_resources, started.growth)
        return started.outgoing_messages

    def _prepare(self, inputs: _ScalingInputs, ids: IdFactory) -> PreparedNestedStack:
        """Evaluate the template of the new size; reads in transactions of its own."""
        parent = self.builder.load_parent(inputs.stack, self._load_goal, self._load_contents)
        resource = ParentResource(
            inputs.row,
            inputs.row.physical.properties or {},
            facade={},
            load_members=lambda: inputs.members,
            load_goal=lambda: self._load_goal(inputs.goal_id),
            requested_size=inputs.size,
        )
        return self.builder.prepare(parent, resource, ids)

    def _load_goal(self, goal_id: str) -> Goal | None:
        with self.store.read() as tx:
            return tx.goals.get_row(goal_id)

    def _load_contents(self, hashes: Collection[str]) -> Mapping[str, str]:
        with self.store.read() as tx:
            return tx.contents.get(hashes)

    def _start(
        self, tx: Transaction, prepared: PreparedNestedStack, context: TraversalContext
    ) -> StartedTraversal:
        return traversal.start_traversal(
            tx,
            traversal.TraversalRequest(
                stack_id=self.group_id,
                action=Action.UPDATE,
                initiator=Initiator.SERVICE,
                goal=prepared.goal,
                desired_resources=prepared.desired_resources,
                contents=prepared.contents,
            ),
            context,
        )

    @property
    def _registry(self) -> ResourceTypeRegistry:
        return self.builder.services.registry

    def _row(self, tx: Transaction) -> Resource | None:
        """Return the group's row if it is desired and still has the nested stack."""
        row_id = None if self._group is None else self._group.owner_resource_id
        if row_id is None:
            return None
        for row in tx.resources.get([row_id]):
            if row.physical.id == self.group_id and row.desired.state is DesiredState.PRESENT:
                return row
        return None


def _scaling_record(
    adjustment: ScalingAdjustment, bounds: ScalingBounds, current: int, size: int
) -> dict[str, Json]:
    """Return what the group's row remembers until the scaling has ended."""
    return {
        "cooldown_s": bounds.cooldown_s
        if adjustment.cooldown_s is None
        else adjustment.cooldown_s,
        "why": f"{adjustment.adjustment_type} : {adjustment.amount:g}",
        "adjustment_type": str(adjustment.adjustment_type),
        "adjustment": adjustment.amount,
        "from": current,
        "to": size,
    }


def _may_scale(row: Resource, group: Stack, now: datetime) -> bool:
    """Return whether the group is at rest and has cooled down."""
    if row.job.verb is not None or row.state.status is not Status.COMPLETE:
        return False
    if group.in_progress or SCALING_KEY in row.physical.data:
        return False
    ends = row.physical.data.get(COOLDOWN_END_KEY) or {}
    return all(datetime.fromisoformat(until) <= now for until in ends)
