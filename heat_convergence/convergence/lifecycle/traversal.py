"""The start of a traversal: the stack, its rows and its graph in one transaction.

Called by the API, by the observer (rollback) and by engines (nested stacks).
RULE 8: any action may start at any moment of any other; the newest version wins.
Must not send anything: messages are returned and sent after the commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle.completion import fail_ancestor_snapshots
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.partial.part_checks import (
    list_hashes_of_others,
    lock_rows,
)
from heat_convergence.convergence.lifecycle.plan_storage import (
    StartedTraversal,
    store_first_plans,
    store_plan,
)
from heat_convergence.convergence.lifecycle.readiness.window_reads import (
    cancel_reads,
    longest_window_s,
)
from heat_convergence.convergence.lifecycle.snapshots import snapshot_completion
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import deduplicate
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    DesiredResource,
    PlanContext,
    StateSource,
)
from heat_convergence.convergence.planning.first_plan import (
    AdoptedResource,
    FirstPlan,
    plan_new_stack,
)
from heat_convergence.convergence.planning.goal_part import GoalPart
from heat_convergence.convergence.planning.plan import Plan, plan_action, plan_goal
from heat_convergence.convergence.ports.store import Transaction

_VERBS = {
    Action.SUSPEND: Verb.SUSPEND,
    Action.RESUME: Verb.RESUME,
    Action.CHECK: Verb.CHECK,
    Action.SNAPSHOT: Verb.SNAPSHOT,
}


class Initiator(Enum):
    """The initiator of a traversal."""

    USER = "user"  # it fails the snapshots that ancestors take
    PARENT = "owner"  # the job of the parent's resource
    SERVICE = "service"  # a rollback or a scaling


@dataclass(frozen=True, slots=True)
class TraversalRequest:
    """A request for the next traversal of a stack.

    Attributes:
        goal: the goal of UPDATE, ROLLBACK and RESTORE; its version is set by the start.
        desired_resources: the resources of the goal by name.
        stack_values: further columns of the stack.
        initiator: whose request it is.
        state_source: OBSERVED observes everything before it is left as it is.
        observed_names: with OBSERVED, the names of the resources that are observed; None for all.
        part: the part of the goal that ``desired_resources`` are; None for all of it.
        contents: texts that the goal refers to, by hash, which may not be stored yet.
    """

    stack_id: str
    action: Action
    goal: Goal | None = None
    desired_resources: Mapping[str, DesiredResource] = field(default_factory=dict)
    stack_values: Mapping[str, Any] = field(default_factory=dict)
    initiator: Initiator = Initiator.USER
    state_source: StateSource = StateSource.RECORDED
    observed_names: frozenset[str] | None = None
    part: GoalPart | None = None
    contents: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewGoal:
    """A goal that is not stored yet.

    Attributes:
        desired_resources: the resources of the goal by name.
        contents: texts that the goal refers to, by hash, which may not be stored yet.
    """

    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str] = field(default_factory=dict)


def create_stack(
    tx: Transaction,
    stack: Stack,
    new: NewGoal,
    context: TraversalContext,
    *,
    adopted_resources: Mapping[str, AdoptedResource] | None = None,
) -> StartedTraversal:
    """Store a new stack with its first traversal.

    Args:
        tx: the transaction.
        stack: the stack, with version 1 and its action: CREATE or ADOPT.
        new: its goal.
        context: the time, the ids and the settings.
        adopted_resources: for ADOPT, what exists already, by resource name.

    Raises:
        StackExists: a living root stack of the project has the name.
    """
    if stack.action is Action.ADOPT:  # only a CREATE leaves this time null, as in Heat
        stack = replace(stack, updated_at=context.now)
    (started,) = _store_new(tx, [(stack, new)], context, adopted_resources)
    return started


def create_stacks(
    tx: Transaction, new_stacks: Sequence[tuple[Stack, NewGoal]], context: TraversalContext
) -> list[StartedTraversal]:
    """Store new stacks of one project with their first traversals, CREATE."""
    return _store_new(tx, new_stacks, context)


def _store_new(
    tx: Transaction,
    new_stacks: Sequence[tuple[Stack, NewGoal]],
    context: TraversalContext,
    adopted_resources: Mapping[str, AdoptedResource] | None = None,
) -> list[StartedTraversal]:
    plans = [_first_traversal(stack, new, context, adopted_resources) for stack, new in new_stacks]
    goals = [new for _stack, new in new_stacks]
    tx.stacks.insert(*(stack for stack, _plan in plans))
    _store_goals(tx, goals)
    return [
        replace(started, growth=len(new.desired_resources))
        for started, new in zip(store_first_plans(tx, plans, context), goals, strict=True)
    ]


def _first_traversal(
    stack: Stack,
    new: NewGoal,
    context: TraversalContext,
    adopted_resources: Mapping[str, AdoptedResource] | None,
) -> tuple[Stack, FirstPlan]:
    stack = _in_progress(stack, context)
    plan = plan_new_stack(new.desired_resources, _plan_context(stack, context), adopted_resources)
    with_windows = new.desired_resources.values() if plan.has_hooks else ()
    return replace(stack, stabilization_s=longest_window_s(stack.action, with_windows)), plan


def start_traversal(
    tx: Transaction, request: TraversalRequest, context: TraversalContext
) -> StartedTraversal:
    """Start the next traversal of a stack, over whatever it is doing.

    Raises:
        EntityNotFound: there is no such stack.
        NotSupported: the stack's state forbids the action.
        GoalPartOutdated: the stack beside the request's part of the goal is not at rest.
    """
    stack = tx.stacks.lock(request.stack_id)
    if stack is None or stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", request.stack_id)
    before, action = stack, request.action
    _reject_impossible(stack, action, request.initiator)
    messages: tuple[OutgoingMessage, ...] = ()
    if request.initiator is Initiator.USER:
        messages = fail_ancestor_snapshots(tx, stack, action, context)
    snapshot_completion.supersede_snapshot(tx, stack, action)
    if _leaves_goal(before, action):
        _mark_ancestors_changed(tx, stack)
    stack = replace(stack, version=stack.version + 1, action=action, **dict(request.stack_values))
    stack = _in_progress(replace(stack, updated_at=context.now), context)
    if request.goal is not None:
        window_s = longest_window_s(action, request.desired_resources.values())
        stack = replace(stack, stabilization_s=window_s)
        goal = replace(request.goal, version=stack.version)
        new = NewGoal(goal, request.desired_resources, request.contents)
        _store_goals(tx, [new], list_hashes_of_others(tx, before, request.part))
        stack = replace(stack, goal_id=goal.id, complete_goal_id=_rollback_goal(before, action))
    if before.quarantines:  # the new traversal tries to delete them itself
        tx.quarantine.delete_by_stack(stack.id)
    rows, others = lock_rows(tx, before, stack.version, request.part)
    if before.stabilizing:
        cancel_reads(tx, rows)
    plan = _plan(tx, stack, rows, request, context)
    _save_stack(tx, stack, request.stack_values)
    started = store_plan(tx, stack, plan, context, rows, others)
    messages = (*messages, *started.outgoing_messages)
    return replace(started, outgoing_messages=messages, growth=_growth(rows, request))


def _leaves_goal(before: Stack, action: Action) -> bool:
    """Return whether a nested stack stops on its way to a goal, for an action without one."""
    on_its_way = before.in_progress and not before.goal_reached
    return action in _VERBS and on_its_way and before.owner_id is not None


def _mark_ancestors_changed(tx: Transaction, stack: Stack) -> None:
    """Have the next goals of all ancestors lead the nested stack to its goal."""
    ancestors = [row.id for row in tx.tree.list_ancestor_resources(stack.id)]
    tx.resources.update(ancestors, properties_hash=None)


def _growth(rows: Sequence[Resource], request: TraversalRequest) -> int:
    """Return how many resources more than before the stack wants present."""
    if request.goal is None:
        return 0
    before = sum(row.desired.state is DesiredState.PRESENT for row in rows)
    return len(request.desired_resources) - before


def _rollback_goal(before: Stack, action: Action) -> str | None:
    """Return the goal that a rollback of the action returns to; None for nothing at all.

    It is the goal before the action, reached or not.  What a rollback has deleted as a
    whole is not created again.
    """
    deleted = before.action is Action.ROLLBACK and before.complete_goal_id is None
    if action is Action.ROLLBACK or deleted:
        return before.complete_goal_id
    return before.goal_id


def _plan(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    request: TraversalRequest,
    context: TraversalContext,
) -> Plan:
    plan_context = _plan_context(stack, context)
    unattempted = _find_unattempted(tx, stack, rows)
    if request.action in _VERBS:
        return plan_action(rows, _VERBS[request.action], plan_context, unattempted)
    plan_context = replace(
        plan_context, state_source=request.state_source, observed_names=request.observed_names
    )
    return plan_goal(rows, request.desired_resources, plan_context, unattempted)


def _store_goals(
    tx: Transaction, new_goals: Sequence[NewGoal], further_hashes: Collection[str] = ()
) -> None:
    """Store goals, and the contents that they and their definitions refer to, all at once.

    Args:
        tx: the transaction.
        new_goals: the goals, with their resources as far as they are known.
        further_hashes: of stored contents that their other definitions may refer to.
    """
    contents: dict[str, str] = {}
    goals = []
    for new in new_goals:
        texts = {
            key: text
            for desired in new.desired_resources.values()
            for key, text in desired.contents.items()
        }
        hashes = (*further_hashes, *texts)
        stored, own_texts = deduplicate(replace(new.goal, content_hashes=hashes))
        contents |= {**new.contents, **texts, **own_texts}
        goals.append(stored)
    tx.contents.put(contents)
    tx.goals.insert(*goals)


def _find_unattempted(tx: Transaction, stack: Stack, rows: Sequence[Resource]) -> frozenset[str]:
    """Find rows whose job of the last traversal was cancelled before it could start.

    The graph of that traversal is still stored.
    """
    if all(row.job.state is not JobState.CANCELLED for row in rows):
        return frozenset()
    edges = tx.graph.get_unready_edges(stack.id, stack.version - 1)
    return frozenset(edge.needed_by for edge in edges if edge.needed_by is not None)


def _plan_context(stack: Stack, context: TraversalContext) -> PlanContext:
    return PlanContext(
        stack.id,
        stack.name,
        stack.version,
        context.now,
        context.ids,
        project_id=stack.project_id,
        root_id=stack.tree_id,
        action=stack.action,
    )


def _in_progress(stack: Stack, context: TraversalContext) -> Stack:
    default_s = context.settings.action_timeout_s
    timeout_s = stack.timeout_mins * 60 if stack.timeout_mins else default_s
    return replace(
        stack,
        status=Status.IN_PROGRESS,
        status_reason=f"Stack {stack.action} started",
        started_at=context.now,
        deadline_at=context.now + timedelta(seconds=timeout_s),
        first_failure_reason=None,
        stabilization_s=None,
        stabilizing=False,
        stable_since=None,
    )


def _reject_impossible(stack: Stack, action: Action, initiator: Initiator) -> None:
    state = f"{stack.action}_{stack.status}"
    if stack.action is Action.DELETE and action is not Action.DELETE:
        raise errors.NotSupported(
            f"{action} of stack {stack.name} in state {state} is not supported."
        )
    if initiator is Initiator.PARENT:
        return  # it may have been suspended, and its resume have failed elsewhere
    if stack.action is Action.SUSPEND and action is Action.UPDATE:
        raise errors.NotSupported("Updating a stack when it is suspended is not supported.")
    if stack.action is Action.SUSPEND and action is Action.RESTORE:
        raise errors.NotSupported("Restoring a stack when it is suspended is not supported.")


def _save_stack(tx: Transaction, stack: Stack, values: Mapping[str, Any]) -> None:
    columns = {name: getattr(stack, name) for name in values}
    tx.stacks.update(
        stack.id,
        version=stack.version,
        action=stack.action,
        status=stack.status,
        status_reason=stack.status_reason,
        goal_id=stack.goal_id,
        complete_goal_id=stack.complete_goal_id,
        updated_at=stack.updated_at,
        started_at=stack.started_at,
        deadline_at=stack.deadline_at,
        first_failure_reason=None,
        stabilization_s=stack.stabilization_s,
        stabilizing=False,
        stable_since=None,
        **columns,
    )
