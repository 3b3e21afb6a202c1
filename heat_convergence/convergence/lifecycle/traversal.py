"""How a traversal begins: the stack, its rows and its graph in one transaction.

Called by the API, by the observer (rollback) and by engines (nested stacks).
RULE 8: any action may begin at any moment of any other; the newest version wins.
Casts nothing itself: ``post`` does, after the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from heat_convergence.common import errors
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle import breakpoints, dispatch, snapshot_completion
from heat_convergence.convergence.lifecycle.completion import (
    complete_traversal,
    fail_ancestor_snapshots,
    stack_event,
)
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage, Recipient
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import deduplicate
from heat_convergence.convergence.model.job import JobState, Verb
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    NESTED_STACK_KEY,
    DesiredResource,
    PlanContext,
    StateSource,
)
from heat_convergence.convergence.planning.plan import Plan, plan_action, plan_goal
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

_VERBS = {
    Action.SUSPEND: Verb.SUSPEND,
    Action.RESUME: Verb.RESUME,
    Action.CHECK: Verb.CHECK,
    Action.SNAPSHOT: Verb.SNAPSHOT,
}
_READY = frozenset({JobState.SCHEDULABLE, JobState.QUEUED, JobState.RUNNING})  # of a new plan
_JOB = (
    "desired physical_dependencies job job_state must_run posted_at observed observe_at"
    " replaced_by applied_hash hooks_and_restrictions hook"
).split()
_DEFINITION = (
    "implementation definition definition_hash requires referenced_names sensitive".split()
)


@dataclass(frozen=True, slots=True)
class StartedTraversal:
    """A traversal that was begun, and the jobs to cast once it is committed: its own
    leaves, or those of others of its project whose turn it is."""

    stack: Stack
    outgoing_messages: tuple[OutgoingMessage, ...] = ()

    @property
    def own_job_ids(self) -> tuple[str, ...]:
        """The stack's own jobs among them."""
        return dispatch.own_job_ids(self.outgoing_messages, self.stack)


class Initiator(Enum):
    """Who begins a traversal."""

    USER = "user"  # ends the snapshots that stacks above take
    PARENT = "owner"  # the job of the resource that the stack is behind
    SERVICE = "service"  # a rollback, a scaling


@dataclass(frozen=True, slots=True)
class AdoptedResource:
    """A resource that exists already and is handed over to a new stack; in the data of
    one that a stack is behind is that stack's document (``model.ADOPTED_STACK``)."""

    physical_id: str | None
    data: Mapping[str, Json]
    sensitive: bool = False  # there are secrets in the data
    suspended: bool = False  # as it was told of: the next goal resumes it


NestedStatusReader = Callable[[Transaction, Sequence[Resource]], Mapping[str, Any]]
"""Rows → ``failing.Observation`` of those that a nested stack is behind."""


@dataclass(frozen=True, slots=True)
class TraversalContext:
    """What beginning and advancing take from the world; ``read_nested_status`` is the
    observer's."""

    now: datetime
    ids: IdFactory
    settings: ConvergenceSettings
    read_nested_status: NestedStatusReader | None = None


def create_stack(
    tx: Transaction,
    *,
    stack: Stack,
    goal: Goal,
    desired_resources: Mapping[str, DesiredResource],
    context: TraversalContext,
    adopted_resources: Mapping[str, AdoptedResource] | None = None,
) -> StartedTraversal:
    """Stores a new stack with its first traversal.

    ``stack`` comes with version 1 and its action: CREATE, or ADOPT of what is
    ``handed`` over, by resource name.
    Raises ``StackExists`` when a live root stack of the project has the name.
    """
    stack = _fresh(stack, context)
    tx.stacks.insert(stack)
    _keep(tx, goal, desired_resources)
    plan = plan_goal((), desired_resources, _moment(stack, context))
    if adopted_resources is not None:
        plan = replace(plan, added=tuple(_adopting(row, adopted_resources) for row in plan.added))
    return _write(tx, stack, plan, context)


def start_traversal(
    tx: Transaction,
    *,
    stack_id: str,
    action: Action,
    context: TraversalContext,
    goal: Goal | None = None,
    desired_resources: Mapping[str, DesiredResource] | None = None,
    stack_values: Mapping[str, Any] | None = None,
    initiator: Initiator = Initiator.USER,
    state_source: StateSource = StateSource.RECORDED,
) -> StartedTraversal:
    """Begins the next traversal of a stack, over whatever it is doing.

    ``goal`` and ``wanted`` belong to UPDATE, ROLLBACK and RESTORE; the goal's
    version is set here.  ``values`` are further columns of the stack.  ``reality``
    OBSERVED looks at all that exists before anything is left as it is.  Raises
    ``EntityNotFound`` or, where the state forbids the action, ``NotSupported``.
    """
    stack = tx.stacks.lock(stack_id)
    if stack is None or stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", stack_id)
    _refuse_impossible(stack, action, initiator)
    told: tuple[OutgoingMessage, ...] = ()
    if initiator is Initiator.USER:
        told = fail_ancestor_snapshots(tx, stack, action, context.now, context.ids)
    snapshot_completion.supersede_snapshot(tx, stack, action)
    stack = replace(stack, version=stack.version + 1, action=action, **dict(stack_values or {}))
    stack = _fresh(replace(stack, updated_at=context.now), context)
    if goal is not None:
        _keep(tx, replace(goal, version=stack.version), desired_resources or {})
        stack = replace(stack, goal_id=goal.id)
    rows = tx.resources.lock_by_stack(stack_id)
    at = _moment(stack, context)
    unattempted = _untried(tx, stack, rows)
    if action in _VERBS:
        plan = plan_action(rows, _VERBS[action], at, unattempted)
    else:
        plan = plan_goal(
            rows, desired_resources or {}, replace(at, state_source=state_source), unattempted
        )
    _save_stack(tx, stack, stack_values or {})
    tx.resources.set_versions(stack_id, stack.version)
    begun = _write(tx, stack, plan, context, rows)
    return replace(begun, outgoing_messages=(*told, *begun.outgoing_messages))


def send_first_messages(
    bus: Bus, started: StartedTraversal, settings: ConvergenceSettings
) -> None:
    """Hands the first leaves to the engines; after the commit, for a message must
    not be faster than the rows it speaks of."""
    send_messages(bus, started.outgoing_messages, settings)


def send_messages(
    bus: Bus, outgoing_messages: Iterable[OutgoingMessage], settings: ConvergenceSettings
) -> None:
    """Hands posted jobs to the engines, in messages of at most ``batch_size``, and
    to the observers what they are to take note of."""
    for posting in outgoing_messages:
        if posting.recipient is Recipient.OBSERVER:
            bus.observe(posting.stack_id, posting.version, posting.resource_ids)
            continue
        for batch in batches(posting.resource_ids, settings.batch_size):
            bus.converge(posting.stack_id, posting.version, batch)


def batches(ids: Iterable[str], size: int) -> Iterable[tuple[str, ...]]:
    """The ids in tuples of at most ``size``."""
    every = tuple(ids)
    return (every[at : at + size] for at in range(0, len(every), size))


def build_desired_resources(
    definitions: Mapping[str, ResourceDefinition], implementations: Mapping[str, str]
) -> dict[str, DesiredResource]:
    """Definitions as a traversal takes them; ``implementations`` has, by resource
    name, the types that an environment maps to others."""
    return {
        name: DesiredResource.from_definition(
            definition, implementations.get(name, definition.type)
        )
        for name, definition in definitions.items()
    }


# -- steps --------------------------------------------------------------------


def _keep(tx: Transaction, goal: Goal, wanted: Mapping[str, DesiredResource]) -> None:
    """The goal, and what its definitions lead to."""
    texts = {key: text for want in wanted.values() for key, text in want.contents.items()}
    lean, own = deduplicate(replace(goal, content_hashes=tuple(texts)))
    tx.contents.put({**texts, **own})
    tx.goals.insert(lean)


def _untried(tx: Transaction, stack: Stack, rows: Sequence[Resource]) -> frozenset[str]:
    """Those whose job of the traversal before this one was halted before its turn; the
    graph of that one still stands."""
    if all(row.job_state is not JobState.CANCELLED for row in rows):
        return frozenset()
    waits = tx.graph.get_unready_edges(stack.id, stack.version - 1)
    return frozenset(edge.needed_by for edge in waits if edge.needed_by is not None)


def _moment(stack: Stack, means: TraversalContext) -> PlanContext:
    return PlanContext(
        stack.id,
        stack.name,
        stack.version,
        means.now,
        means.ids,
        project_id=stack.project_id,
        root_id=stack.tree_id,
        action=stack.action,
    )


def _fresh(stack: Stack, means: TraversalContext) -> Stack:
    timeout_s = stack.timeout_mins * 60 if stack.timeout_mins else means.settings.action_timeout_s
    return replace(
        stack,
        status=Status.IN_PROGRESS,
        status_reason=f"Stack {stack.action} started",
        started_at=means.now,
        deadline_at=means.now + timedelta(seconds=timeout_s),
        first_failure_reason=None,
    )


def _refuse_impossible(stack: Stack, action: Action, asker: Initiator) -> None:
    state = f"{stack.action}_{stack.status}"
    if stack.action is Action.DELETE and action is not Action.DELETE:
        raise errors.NotSupported(
            f"{action} of stack {stack.name} in state {state} is not supported."
        )
    if asker is Initiator.PARENT:
        return  # it may have been suspended, and its resume have failed elsewhere
    if stack.action is Action.SUSPEND and action is Action.UPDATE:
        raise errors.NotSupported("Updating a stack when it is suspended is not supported.")
    if stack.action is Action.SUSPEND and action is Action.RESTORE:
        raise errors.NotSupported("Restoring a stack when it is suspended is not supported.")


def _adopting(row: Resource, handed: Mapping[str, AdoptedResource]) -> Resource:
    given = handed.get(row.name, AdoptedResource(None, {}))
    return replace(
        row,
        job=Verb.ADOPT,
        # A stack that somebody wrote down might be another's.
        physical_id=None if NESTED_STACK_KEY in row.definition else given.physical_id,
        data=given.data,
        sensitive=row.sensitive or given.sensitive,
        suspended=given.suspended,
    )


def _save_stack(tx: Transaction, stack: Stack, values: Mapping[str, Any]) -> None:
    columns = {name: getattr(stack, name) for name in values}
    tx.stacks.update(
        stack.id,
        version=stack.version,
        action=stack.action,
        status=stack.status,
        status_reason=stack.status_reason,
        goal_id=stack.goal_id,
        updated_at=stack.updated_at,
        started_at=stack.started_at,
        deadline_at=stack.deadline_at,
        first_failure_reason=None,
        **columns,
    )


def _write(
    tx: Transaction,
    stack: Stack,
    plan: Plan,
    means: TraversalContext,
    before: Sequence[Resource] = (),
) -> StartedTraversal:
    """``before`` has the stack's rows as they are stored and locked."""
    jobs = _lined_up(plan, means)
    added = {row.id for row in plan.added}
    changed = {row.id for row in plan.changed}
    rescheduled = {row.id for row in plan.rescheduled}
    if stack.version > 1:  # a new stack has no graph yet
        tx.graph.clear(stack.id)
    tx.resources.delete(plan.discarded_ids)
    tx.resources.insert([row for row in jobs if row.id in added])
    tx.resources.update_each(
        {row.id: _columns(row, [*_JOB, *_DEFINITION]) for row in jobs if row.id in changed}
    )
    _rejob(tx, [row for row in jobs if row.id in rescheduled], before)
    tx.graph.add_edges(stack.id, stack.version, plan.edges)
    tx.graph.add_physical_dependencies(
        stack.id, [(row.id, used) for row in jobs for used in row.physical_dependencies]
    )
    tx.events.insert(
        [stack_event(stack, Status.IN_PROGRESS, stack.status_reason, means.now, means.ids)]
    )
    ready = [row for row in jobs if row.job_state in _READY]
    if breakpoints.pause_before_jobs(tx, stack, ready, means.now, means.ids):
        # Others in their place.
        outgoing_messages = dispatch.schedule_leaves(tx, stack, (), means.settings, means.now)
    elif ready or stack.version > 1:
        outgoing_messages = dispatch.dispatch_round_robin(
            tx, stack.project_id, stack.tree_id, means.settings, means.now
        )
    else:  # a new stack without leaves changes nobody's turn
        outgoing_messages = ()
    told: tuple[OutgoingMessage, ...] = ()
    if all(row.job_state is JobState.CANCELLED for row in jobs):
        told = complete_traversal(tx, stack, means.now, means.ids)
    return StartedTraversal(stack, (*outgoing_messages, *told))


def _lined_up(plan: Plan, means: TraversalContext) -> list[Resource]:
    """All jobs, by id; the first leaves that there is room for are DUE, or BEGUN
    where a worker of an earlier version still has the resource in hand: it posts
    them when it is done."""
    room = means.settings.jobs_in_flight
    out = []
    for row in sorted((*plan.added, *plan.changed, *plan.rescheduled), key=lambda row: row.id):
        if room > 0 and row.job_state is JobState.QUEUED:
            state = JobState.RUNNING if row.is_leased(means.now) else JobState.SCHEDULABLE
            row = replace(row, job_state=state, posted_at=means.now)
            room -= 1
        out.append(row)
    return out


def _rejob(tx: Transaction, jobs: Sequence[Resource], before: Sequence[Resource]) -> None:
    """Jobs for rows that keep their definition; those that change alike in one statement."""
    stored = {row.id: row for row in before}
    alike: dict[tuple[tuple[str, Any], ...], list[Resource]] = {}
    for row in jobs:
        old = stored[row.id]
        new = ((name, getattr(row, name)) for name in _JOB)
        changes = tuple((name, value) for name, value in new if value != getattr(old, name))
        alike.setdefault(changes, []).append(row)
    for changes, rows in alike.items():
        if changes and len(rows) > 1:
            tx.resources.update([row.id for row in rows], **dict(changes))
    single = [rows[0] for rows in alike.values() if len(rows) == 1]
    tx.resources.update_each({row.id: _columns(row, _JOB) for row in single})


def _columns(row: Resource, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
