"""The start of a repair that no user has requested: an update of a stack to the goal that it has.

Called by the observer for resources whose repair was granted. Decides whether the stack may be
repaired now; what is changed, and in which order, is decided as for every update that observes.
RULE 8: any request of a user may supersede it at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heat_convergence.convergence.drift.policy import (
    AUTOMATIC_REPAIR,
    RESTORE_ONLY,
    ResourcePolicy,
    resolve_policy,
)
from heat_convergence.convergence.drift.repair_budget import RepairCandidate
from heat_convergence.convergence.drift.repair_end import is_at_rest
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.lifecycle.traversal import Initiator, TraversalRequest
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource, StateSource
from heat_convergence.convergence.planning.incarnations import is_at_goal, lasting_hooks
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.environment.drift_policies import DriftPolicy


def start_repair(
    tx: Transaction,
    granted: Sequence[RepairCandidate],
    stack_policy: DriftPolicy | None,
    context: TraversalContext,
) -> StartedTraversal | None:
    """Start the repair of resources of one stack.

    Args:
        tx: the transaction.
        granted: the resources.
        stack_policy: the policy that a user has set for the stack or its root.
        context: the time, the ids and the settings.

    Returns:
        None if the stack is not at rest, was updated since the repair was granted, or something
        else of it waits for the next update.
    """
    stack = tx.stacks.lock(granted[0].stack_id)
    if stack is None or stack.version != granted[0].stack_version:
        return None
    if not _may_be_repaired(tx, stack):
        return None
    rows = tx.resources.lock_by_stack(stack.id)
    desired = {row.name: _desired_of(row) for row in rows}
    if len(desired) < len(rows) or not all(is_at_goal(row, desired[row.name]) for row in rows):
        return None
    by_name = {each.resource_name: each for each in granted}
    operator = context.settings.drift.policies
    marked: dict[str, DesiredResource] = {}
    for row in rows:
        if row.name not in by_name:
            continue
        words, of_type = row.desired.hooks_and_restrictions, row.identity.type
        policy = resolve_policy(words, stack_policy, of_type, operator)
        if policy.repairs_anything:
            marked[row.name] = _marked(desired[row.name], by_name[row.name], policy)
    if not marked:
        return None
    request = TraversalRequest(
        stack.id,
        Action.UPDATE,
        desired_resources={**desired, **marked},
        initiator=Initiator.SERVICE,
        state_source=StateSource.OBSERVED,
        observed_names=frozenset(marked),
    )
    return traversal.start_traversal(tx, request, context)


def _may_be_repaired(tx: Transaction, stack: Stack) -> bool:
    """Return whether the stack and its root are at rest, and not suspended or deleted."""
    root = stack if stack.owner_id is None else tx.stacks.get(stack.tree_id)
    return all(each is not None and is_at_rest(each) for each in (stack, root))


def _desired_of(row: Resource) -> DesiredResource:
    """Return the resource as the goal of the stack has it, which the row says."""
    return DesiredResource(
        name=row.name,
        type=row.identity.type,
        implementation=row.desired.implementation,
        definition=row.desired.definition,
        definition_hash=row.desired.definition_hash,
        requires=frozenset(row.desired.requires),
        referenced_names=frozenset(row.desired.referenced_names),
        sensitive=row.desired.sensitive,
        hooks_and_restrictions=lasting_hooks(row),
    )


def _marked(
    desired: DesiredResource, candidate: RepairCandidate, policy: ResourcePolicy
) -> DesiredResource:
    """Return the resource with marks that tell engines what they may restore."""
    marks = [f"{AUTOMATIC_REPAIR}{policy.of_resource}"]
    if not candidate.is_destructive:
        marks.append(RESTORE_ONLY)
    return replace(desired, hooks_and_restrictions=(*desired.hooks_and_restrictions, *marks))
