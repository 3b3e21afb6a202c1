"""Dispatch of jobs: leaves get onto the bus a few at a time, projects in turn.

``schedule_leaves`` makes as many of a stack's leaves SCHEDULABLE as it may have jobs in
flight, under the stack's lock; ``dispatch_round_robin`` posts SCHEDULABLE jobs of a
project, one tree of stacks after the other, while few of its jobs are on the bus.
Called by every step that unblocks leaves or takes jobs off the bus, and again after the commit of
one that could post none of its leaves: workers may have emptied the bus before the commit, when
they could not see them.  Must not read more of a stack than about the number of jobs that it
posts; ADR 5 has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.job import JobState, Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction


def schedule_leaves(
    tx: Transaction,
    stack: Stack,
    leaves: Sequence[str],
    context: TraversalContext,
    own_marks: Mapping[str, str] | None = None,
    load: Workload | None = None,
) -> tuple[OutgoingMessage, ...]:
    """Schedule leaves as far as there is room in flight, older QUEUED ones first.

    They are POSTED at once if no other job of the project waits for the bus; leaves that
    find no room are QUEUED.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        leaves: ids of resources whose jobs may start.
        context: the time and the settings.
        own_marks: what the timelines of leaves say before that, by id.
        load: the workload of the stack and its project, if it is known already.
    """
    load = load or tx.jobs.get_workload(stack.project_id, stack.id)
    room = max(context.settings.jobs_in_flight - load.in_flight, 0)
    older = tx.jobs.next_queued(stack.id, room) if room and load.has_queued else []
    fitting = [*older, *(leaf for leaf in leaves if leaf not in older)][:room]
    posted = [] if load.has_schedulable else fitting[: _room_on_bus(load, context.settings)]
    chosen = set(fitting)
    now = context.now
    for ids, transition in (
        ([leaf for leaf in leaves if leaf not in chosen], job_transitions.queue(now)),
        (fitting[len(posted) :], job_transitions.schedule(now)),
        (posted, job_transitions.post(now)),
    ):
        tx.jobs.apply(ids, transition.with_marks(own_marks=own_marks))
    if load.has_schedulable:
        return dispatch_round_robin(tx, stack.project_id, stack.tree_id, context, load)
    return message_of_jobs(stack, posted)


def message_of_jobs(stack: Stack, posted: Iterable[str]) -> tuple[OutgoingMessage, ...]:
    """Return the message of a stack's jobs that were posted; none for no jobs."""
    ids = tuple(sorted(posted))
    if not ids:
        return ()
    return (OutgoingMessage(stack.id, stack.version, ids, project_id=stack.project_id),)


def post_first(
    stacks: Sequence[Sequence[Resource]], load: Workload, context: TraversalContext
) -> list[list[Resource]]:
    """Return leaves of new stacks, of the SCHEDULABLE ones as many POSTED as there is room for.

    None are if another job of the project waits for the bus: it may be its turn.

    Args:
        stacks: leaves of each stack, which are not stored yet.
        load: the workload of the project without them.
        context: the time and the settings.
    """
    room = 0 if load.has_schedulable else _room_on_bus(load, context.settings)
    found = []
    for rows in stacks:
        posted = []
        for row in rows:
            if room > 0 and row.job.state is JobState.SCHEDULABLE:
                row = job_transitions.post(context.now).apply_to(row)
                room -= 1
            posted.append(row)
        found.append(posted)
    return found


def dispatch_round_robin(
    tx: Transaction,
    project_id: str,
    tree_id: str,
    context: TraversalContext,
    load: Workload | None = None,
) -> tuple[OutgoingMessage, ...]:
    """Post as many jobs of a project as it has room for on the bus.

    Args:
        tx: the transaction.
        project_id: the project.
        tree_id: the tree after which the round goes on.
        context: the time and the settings.
        load: the project's workload, if it is known already.
    """
    load = load or tx.jobs.get_workload(project_id)
    room = _room_on_bus(load, context.settings)
    if not load.has_schedulable or room <= 0:
        return ()
    jobs = tx.jobs.next_schedulable(project_id, tree_id, room)
    tx.jobs.apply([job.resource_id for job in jobs], job_transitions.post(context.now))
    by_traversal: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        by_traversal.setdefault((job.stack_id, job.version), []).append(job.resource_id)
    return tuple(
        OutgoingMessage(*key, tuple(ids), project_id=project_id)
        for key, ids in by_traversal.items()
    )


def dispatch_next(
    tx: Transaction, stack: Stack, context: TraversalContext, load: Workload | None = None
) -> tuple[OutgoingMessage, ...]:
    """Post jobs of the stack's project, those of the next tree first."""
    return dispatch_round_robin(tx, stack.project_id, stack.tree_id, context, load)


def _room_on_bus(load: Workload, settings: ConvergenceSettings) -> int:
    """Return 0 until half of the bus's places are free, so that messages stay large."""
    if load.posted > settings.jobs_on_bus // 2:
        return 0
    in_hand = load.posted + load.running
    return max(0, min(settings.jobs_on_bus - load.posted, settings.jobs_in_hand - in_hand))
