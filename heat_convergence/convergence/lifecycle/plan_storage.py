"""The storage of a plan: the jobs, edges and first messages of a traversal.

Called by ``traversal`` when it has written the stack.  Must not plan anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.convergence.lifecycle import breakpoints, dispatch
from heat_convergence.convergence.lifecycle.completion import complete_traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, own_job_ids
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import JobState, Workload
from heat_convergence.convergence.model.job_transitions import planned
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import get_column
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.model.transition_rules import PLANNED_COLUMNS, JobTransition
from heat_convergence.convergence.planning.first_plan import FirstPlan
from heat_convergence.convergence.planning.goal_part import GoalPartOutdated
from heat_convergence.convergence.planning.plan import Plan
from heat_convergence.convergence.ports.store import Transaction

_STARTABLE = frozenset({JobState.SCHEDULABLE, JobState.QUEUED, JobState.RUNNING})
_PLANNED = frozenset(PLANNED_COLUMNS)
_JOB = (
    "desired physical_dependencies job job_state must_run posted_at observed observe_at"
    " replaced_by applied_hash hooks_and_restrictions hook"
).split()
_DEFINITION = (
    "type implementation definition definition_hash requires referenced_names sensitive".split()
)
RowChange = tuple[JobTransition, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class StartedTraversal:
    """A traversal that has started, and the messages to send after the commit.

    The messages name its own leaves, or those of other stacks of its project.

    Attributes:
        growth: the number of resources that the stack wants present, less that of before.
        waits_for_bus: whether none of its leaves was posted because the bus had no room.
    """

    stack: Stack
    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    growth: int = 0
    waits_for_bus: bool = False

    @property
    def own_job_ids(self) -> tuple[str, ...]:
        """The stack's own jobs among those of the messages."""
        return own_job_ids(self.outgoing_messages, self.stack)


def store_plan(
    tx: Transaction,
    stack: Stack,
    plan: Plan,
    context: TraversalContext,
    previous: Sequence[Resource],
    others: int,
) -> StartedTraversal:
    """Write a plan for a stack that has been planned before, and dispatch its first jobs.

    Args:
        tx: the transaction.
        stack: the stack as the traversal has it.
        plan: the plan.
        context: the time, the ids and the settings.
        previous: the rows that the plan is about, as they are stored and locked.
        others: the number of the stack's rows that the plan leaves out; their edges stay.

    Raises:
        GoalPartOutdated: there is no graph that the others could be in.
    """
    jobs = _schedule_first(plan, context)
    if not others:
        tx.graph.clear(stack.id)
    elif not tx.graph.clear_part(stack.id, [row.id for row in previous]):
        # An imported stack has no graph.
        raise GoalPartOutdated("the stack has no graph")
    _write_rows(tx, plan, jobs, previous)
    tx.graph.add_edges(stack.id, stack.version, plan.edges)
    _add_physical_dependencies(tx, stack, jobs)
    tx.events.insert([context.stack_event(stack, Status.IN_PROGRESS, stack.status_reason)])
    held = _hold(tx, stack, jobs, context)
    return _start(tx, stack, jobs, context, _dispatch(tx, stack, jobs, held, context))


def store_first_plans(
    tx: Transaction, plans: Sequence[tuple[Stack, FirstPlan]], context: TraversalContext
) -> list[StartedTraversal]:
    """Write the plans of new stacks of one project, and dispatch their first jobs."""
    stacks = [stack for stack, _plan in plans]
    started = [_first_jobs(plan, context) for _stack, plan in plans]
    load = None
    if any(started) and not any(plan.has_hooks for _stack, plan in plans):
        # Leaves may be stored as POSTED: three statements fewer.
        load = tx.jobs.get_workload(stacks[0].project_id)
        started = dispatch.post_first(started, load, context)
    tx.resources.insert(
        row
        for (_stack, plan), rows in zip(plans, started, strict=True)
        for row in plan.rows({row.id: row for row in rows})
    )
    tx.graph.add_first_edges({stack.id: plan.edges() for stack, plan in plans})
    tx.events.insert(
        [context.stack_event(stack, Status.IN_PROGRESS, stack.status_reason) for stack in stacks]
    )
    messages = _dispatch_new(tx, plans, started, context, load)
    return [
        _start(tx, stack, rows, context, own)
        for stack, rows, own in zip(stacks, started, messages, strict=True)
    ]


def _first_jobs(plan: FirstPlan, context: TraversalContext) -> list[Resource]:
    """Return the first leaves that find room in flight, SCHEDULABLE."""
    schedule = job_transitions.schedule(context.now)
    leaves = plan.leaves(context.settings.jobs_in_flight)
    return [schedule.apply_to(row) for row in leaves]


def _start(
    tx: Transaction,
    stack: Stack,
    jobs: Sequence[Resource],
    context: TraversalContext,
    messages: tuple[OutgoingMessage, ...],
) -> StartedTraversal:
    """Return the traversal with its messages; end it at once if there is nothing to do."""
    if all(row.job.state is JobState.CANCELLED for row in jobs):
        messages = (*messages, *complete_traversal(tx, stack, context))
    may_wait = any(row.job.state is JobState.SCHEDULABLE for row in jobs)
    waits = may_wait and not own_job_ids(messages, stack)
    return StartedTraversal(stack, messages, waits_for_bus=waits)


def _add_physical_dependencies(tx: Transaction, stack: Stack, jobs: Sequence[Resource]) -> None:
    tx.graph.add_physical_dependencies(
        stack.id, [(row.id, used) for row in jobs for used in row.physical.dependencies]
    )


def _write_rows(
    tx: Transaction, plan: Plan, jobs: Sequence[Resource], previous: Sequence[Resource]
) -> None:
    added = {row.id for row in plan.added}
    changed = {row.id for row in plan.changed}
    rescheduled = {row.id for row in plan.rescheduled}
    tx.resources.delete(plan.discarded_ids)
    tx.resources.insert([row for row in jobs if row.id in added])
    tx.jobs.apply_each(
        {
            row.id: _change_of(row, [*_JOB, *_DEFINITION, "timeline"])
            for row in jobs
            if row.id in changed
        }
    )
    _write_rescheduled(tx, [row for row in jobs if row.id in rescheduled], previous)


def _hold(
    tx: Transaction, stack: Stack, jobs: Sequence[Resource], context: TraversalContext
) -> bool:
    """Hold the jobs that may start and that have a hook before them; return whether some have."""
    startable = [row for row in jobs if row.job.state in _STARTABLE]
    return bool(breakpoints.pause_before_jobs(tx, stack, startable, context))


def _dispatch(
    tx: Transaction, stack: Stack, jobs: Sequence[Resource], held: bool, context: TraversalContext
) -> tuple[OutgoingMessage, ...]:
    if held:
        # Others take the places in flight of those that were held.
        return dispatch.schedule_leaves(tx, stack, (), context)
    if stack.version > 1 or any(row.job.state in _STARTABLE for row in jobs):
        return dispatch.dispatch_next(tx, stack, context)
    return ()  # a new stack without leaves has no influence on others


def _dispatch_new(
    tx: Transaction,
    plans: Sequence[tuple[Stack, FirstPlan]],
    started: Sequence[Sequence[Resource]],
    context: TraversalContext,
    load: Workload | None,
) -> list[tuple[OutgoingMessage, ...]]:
    """Return the messages of each new stack; those about other stacks are the first one's."""
    if load is None:
        # The dispatch of one stack may post jobs of the others, so that all are held before.
        held = [
            plan.has_hooks and _hold(tx, stack, [*rows, *plan.leaves()[len(rows) :]], context)
            for (stack, plan), rows in zip(plans, started, strict=True)
        ]
        return [
            _dispatch(tx, stack, rows, own, context)
            for (stack, _plan), rows, own in zip(plans, started, held, strict=True)
        ]
    if load.has_schedulable:
        first, _plan = plans[0]
        return [dispatch.dispatch_next(tx, first, context, load), *([()] * (len(plans) - 1))]
    return [
        dispatch.message_of_jobs(
            stack, (row.id for row in rows if row.job.state is JobState.POSTED)
        )
        for (stack, _plan), rows in zip(plans, started, strict=True)
    ]


def _schedule_first(plan: Plan, context: TraversalContext) -> list[Resource]:
    """Return all jobs by id, the first leaves that find room in flight SCHEDULABLE.

    They are RUNNING where a worker of an earlier version still has the lease: that worker
    posts them when it is done.
    """
    room = context.settings.jobs_in_flight
    jobs = []
    for row in sorted((*plan.added, *plan.changed, *plan.rescheduled), key=lambda row: row.id):
        if room > 0 and row.job.state is JobState.QUEUED:
            leased = row.lease.is_active(context.now)
            start = job_transitions.await_earlier_worker if leased else job_transitions.schedule
            row = start(context.now).apply_to(row)
            room -= 1
        jobs.append(row)
    return jobs


def _write_rescheduled(
    tx: Transaction, jobs: Sequence[Resource], previous: Sequence[Resource]
) -> None:
    """Write jobs of rows that keep their definition, equal changes in one statement."""
    stored = {row.id: row for row in previous}
    groups: dict[tuple[str, ...], dict[tuple[Any, ...], list[Resource]]] = {}
    for row in jobs:
        old = stored[row.id]
        names = tuple(name for name in _JOB if get_column(row, name) != get_column(old, name))
        if row.job.timeline:  # the timelines of all rows have been cleared
            names = (*names, "timeline")
        values = tuple(get_column(row, name) for name in names)
        groups.setdefault(names, {}).setdefault(values, []).append(row)
    single = []
    for names, by_values in groups.items():
        for rows in by_values.values():
            if len(rows) == 1:
                single.append(rows[0])
            elif names:
                transition, columns = _change_of(rows[0], names)
                tx.jobs.apply([row.id for row in rows], transition, **columns)
    tx.jobs.apply_each({row.id: _change_of(row, [*_JOB, "timeline"]) for row in single})


def _change_of(row: Resource, names: Iterable[str]) -> RowChange:
    chosen = tuple(names)
    columns = {name: get_column(row, name) for name in chosen if name not in _PLANNED}
    return planned(row, chosen), columns
