"""Whose job is next: how leaves get onto the bus, a few at a time, in turn.

``schedule_leaves`` lets as many of a stack's leaves be DUE as it may have jobs in flight,
under the stack's lock; ``dispatch_round_robin`` posts DUE jobs of a project, the trees of its
stacks one after the other, as long as few of its jobs wait on the bus.  Called by
whatever frees leaves or takes jobs off the bus.  Must not read more of a stack than
about what it posts; ADR 5 has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from heat_convergence.convergence.model.job import JobState, Workload
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Transaction


class Recipient(Enum):
    """Who is to take a message."""

    ENGINE = "engine"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """What to send after the commit: jobs of one traversal for the engines, or
    resources for the observers to take note of; without any, the stack itself."""

    stack_id: str
    version: int
    resource_ids: tuple[str, ...]
    recipient: Recipient = Recipient.ENGINE


def schedule_leaves(
    tx: Transaction,
    stack: Stack,
    leaves: Sequence[str],
    settings: ConvergenceSettings,
    now: datetime,
) -> tuple[OutgoingMessage, ...]:
    """Lines up ``leaves``, older QUEUED ones first, and takes turns: as far as there is
    room in flight they are DUE, or POSTED at once where nobody else waits for the bus;
    the others are QUEUED."""
    load = tx.jobs.get_workload(stack.project_id, stack.id)
    room = max(settings.jobs_in_flight - load.in_flight, 0)
    older = tx.jobs.next_queued(stack.id, room) if room and load.has_queued else []
    fit = [*older, *(leaf for leaf in leaves if leaf not in older)][:room]
    at_once = [] if load.has_schedulable else fit[: _room_on_bus(load, settings)]
    chosen = set(fit)
    tx.resources.update([leaf for leaf in leaves if leaf not in chosen], job_state=JobState.QUEUED)
    tx.resources.update(fit[len(at_once) :], job_state=JobState.SCHEDULABLE, posted_at=now)
    tx.resources.update(at_once, job_state=JobState.POSTED, posted_at=now)
    if load.has_schedulable:
        return dispatch_round_robin(tx, stack.project_id, stack.tree_id, settings, now, load)
    return (OutgoingMessage(stack.id, stack.version, tuple(sorted(at_once))),) if at_once else ()


def dispatch_round_robin(
    tx: Transaction,
    project_id: str,
    tree_id: str,
    settings: ConvergenceSettings,
    now: datetime,
    load: Workload | None = None,
) -> tuple[OutgoingMessage, ...]:
    """Posts what the project has room for; the tree after ``tree_id`` comes first.
    ``load`` is the project's, if it is known already."""
    load = load or tx.jobs.get_workload(project_id)
    room = _room_on_bus(load, settings)
    jobs = (
        tx.jobs.next_schedulable(project_id, tree_id, room)
        if load.has_schedulable and room > 0
        else []
    )
    tx.resources.update(
        [job.resource_id for job in jobs], job_state=JobState.POSTED, posted_at=now
    )
    found: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        found.setdefault((job.stack_id, job.version), []).append(job.resource_id)
    return tuple(OutgoingMessage(*key, tuple(ids)) for key, ids in found.items())


def _room_on_bus(load: Workload, settings: ConvergenceSettings) -> int:
    """None until half of what may be on the bus is gone, so that messages do not
    dwindle to a job each."""
    if load.posted > settings.jobs_on_bus // 2:
        return 0
    in_hand = load.posted + load.running
    return max(0, min(settings.jobs_on_bus - load.posted, settings.jobs_in_hand - in_hand))


def merge_messages(outgoing_messages: Sequence[OutgoingMessage]) -> tuple[OutgoingMessage, ...]:
    """The same with one for each traversal; those about a stack itself are left alone."""
    found: dict[tuple[str, int, Recipient], OutgoingMessage] = {}
    alone = []
    for each in outgoing_messages:
        key = (each.stack_id, each.version, each.recipient)
        if not each.resource_ids:
            alone.append(each)
        elif key in found:
            ids = (*found[key].resource_ids, *each.resource_ids)
            found[key] = replace(each, resource_ids=ids)
        else:
            found[key] = each
    return (*alone, *found.values())


def own_job_ids(outgoing_messages: Sequence[OutgoingMessage], stack: Stack) -> tuple[str, ...]:
    """The jobs of that stack among them."""
    return tuple(
        job
        for posting in outgoing_messages
        if posting.stack_id == stack.id and posting.recipient is Recipient.ENGINE
        for job in posting.resource_ids
    )
