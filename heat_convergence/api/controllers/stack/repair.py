"""The repair of drift at a user's request: an update to the stack's own goal.

Called by ``stack_actions``.  Decides which resources the update observes; what it changes, and in
which order, is decided as for every update with ``converge``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api.controllers.base import run_in_transaction
from heat_convergence.api.http import ApiRequest
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.stack_body import StackBody
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.common.failures import RowsContradict
from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.lifecycle import traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.drift import reads as drift_reads
from heat_convergence.db.reads import resources, stacks
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder
from heat_convergence.stacks.source.template_source import StoredGoal
from heat_convergence.template.environment.drift_policies import DriftPolicy


@dataclass(frozen=True, slots=True)
class StackRepair:
    """A repair of one stack: the goal that it has, and the resources to observe."""

    stack: Stack
    goal: StoredGoal | None
    names: frozenset[str]


def load_repair(
    conn: Any,
    services: ApiServices,
    builder: StackBuilder,
    stack: Stack,
    requested: tuple[str, ...] | None,
) -> StackRepair:
    """Read what a repair needs.

    Args:
        conn: the connection.
        services: the services of the API.
        builder: reads the stack's goal.
        stack: the stack.
        requested: names of its resources; None for all that have drifted.

    Raises:
        ResourceNotFound: a name is not one of the stack's.
        NotSupported: the stack is suspended or deleted.
    """
    quotas.check_updatable(stack)
    if requested is None:
        names = _drifted_names(conn, stack, services.options.max_nested_stack_depth)
    else:
        names = frozenset(requested)
        known = {row.name for row in resources.list_by_stacks(conn, [stack.id])}
        for name in sorted(names - known):
            raise errors.ResourceNotFound(name, stack.name)
    goal = builder.load_goal(conn, stack) if names else None
    return StackRepair(stack, goal, names)


def start_repair(
    request: ApiRequest,
    services: ApiServices,
    builder: StackBuilder,
    enforcer: PolicyEnforcer,
    repair: StackRepair,
    context: TraversalContext,
) -> StartedTraversal:
    """Start the update that observes the resources and restores what has drifted."""
    prepared = prepare_repair(request, services, builder, enforcer, repair)
    return run_in_transaction(
        services, lambda tx: start_prepared_repair(tx, repair, prepared, context)
    )


def prepare_repair(
    request: ApiRequest,
    services: ApiServices,
    builder: StackBuilder,
    enforcer: PolicyEnforcer,
    repair: StackRepair,
) -> PreparedStack:
    """Return the stack's own goal, as a new one that the repair leads to."""
    source = builder.sources.from_patch_request(StackBody(), _goal_of(repair))
    stack = repair.stack
    return builder.prepare_update(
        source,
        replace(stack, goal_id=services.ids()),
        enforcer.type_forbidden_for(request),
        UpdateBase(repair.goal),
    )


def start_prepared_repair(
    tx: Transaction, repair: StackRepair, prepared: PreparedStack, context: TraversalContext
) -> StartedTraversal:
    """Start the traversal of a repair.

    Raises:
        ActionInProgress: another request has given the stack a new goal since it was read; the
            repair would undo it.
    """
    stack = tx.stacks.lock(repair.stack.id)
    if stack is not None and stack.goal_id != repair.stack.goal_id:
        raise errors.ActionInProgress(stack.name, stack.action)
    request = traversal.TraversalRequest(
        stack_id=repair.stack.id,
        action=Action.UPDATE,
        goal=prepared.goal,
        desired_resources=prepared.desired_resources,
        state_source=StateSource.OBSERVED,
        observed_names=repair.names,
        contents=prepared.contents,
    )
    return traversal.start_traversal(tx, request, context)


def _goal_of(repair: StackRepair) -> StoredGoal:
    if repair.goal is None:
        raise RowsContradict(f"Stack {repair.stack.id} has no goal to repair it to")
    return repair.goal


def _drifted_names(conn: Any, stack: Stack, max_depth: int) -> frozenset[str]:
    """Return the stack's resources that have drifted, or whose nested stacks have.

    Those that are only observed are left out.
    """
    locate = ancestor_finder(conn, stack, max_depth)
    found = (
        locate(entry.observation.stack_id, entry.resource_name)
        for entry in drift_reads.list_by_tree(conn, stack, DRIFTED)
        if entry.observation.policy is not DriftPolicy.OBSERVE_ONLY
    )
    return frozenset(name for name in found if name is not None)


def ancestor_finder(conn: Any, stack: Stack, max_depth: int) -> Callable[[str, str], str | None]:
    """Return a function that finds a stack's resource above one of a nested stack.

    It takes the id of the stack and the name of the resource; it returns None for those of
    other trees.
    """
    parents = {
        each.id: (each.owner_id, each.parent_resource or "")
        for each, _depth in stacks.get_tree(conn, stack.id, max_depth)
    }

    def find(stack_id: str, name: str) -> str | None:
        while stack_id != stack.id and stack_id in parents:
            owner_id, name = parents[stack_id]
            stack_id = owner_id or stack.id
        return name if stack_id == stack.id else None

    return find
