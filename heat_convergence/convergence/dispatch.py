"""Whose job is next: how leaves get onto the bus, a few at a time, in turn.

Two steps: ``line_up`` lets as many of a stack's leaves be DUE as it may have jobs in
flight, under the stack's lock; ``take_turns`` posts DUE jobs of a project, the trees
of its stacks one after the other, as long as few of its jobs wait on the bus.  Called
by whatever frees leaves or takes jobs off the bus.  Must not read more of a stack
than it posts; ADR 5 has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from heat_convergence.convergence.model import JobState, Stack
from heat_convergence.convergence.ports import Settings, Transaction


class Daemon(Enum):
    """Who is to take a message."""

    ENGINE = "engine"
    OBSERVER = "observer"


@dataclass(frozen=True, slots=True)
class Posting:
    """What to send after the commit: jobs of one traversal for the engines, or
    resources for the observers to take note of; without any, the stack itself."""

    stack_id: str
    version: int
    resource_ids: tuple[str, ...]
    to: Daemon = Daemon.ENGINE


def line_up(
    tx: Transaction, stack: Stack, leaves: Sequence[str], settings: Settings, now: datetime
) -> None:
    """Makes ``leaves``, and older QUEUED ones first, DUE as far as there is room; the
    others are QUEUED."""
    room = settings.jobs_in_flight - sum(tx.count_jobs(stack.id).values())
    older = tx.take_queued(stack.id, room) if room > 0 else []
    fit = [*older, *(leaf for leaf in leaves if leaf not in older)][: max(room, 0)]
    chosen = set(fit)
    tx.update_resources(fit, job_state=JobState.DUE, posted_at=now)
    tx.update_resources(
        [leaf for leaf in leaves if leaf not in chosen], job_state=JobState.QUEUED
    )


def take_turns(
    tx: Transaction, project_id: str, tree_id: str, settings: Settings, now: datetime
) -> tuple[Posting, ...]:
    """Posts what the project has room for; the tree after ``tree_id`` comes first.

    Waits until half of what may be on the bus is gone, so that messages do not
    dwindle to a job each.
    """
    counts = tx.count_in_hand(project_id)
    on_bus = counts.get(JobState.POSTED, 0)
    if on_bus > settings.jobs_on_bus // 2 or JobState.DUE not in counts:
        return ()
    in_hand = on_bus + counts.get(JobState.BEGUN, 0)
    room = min(settings.jobs_on_bus - on_bus, settings.jobs_in_hand - in_hand)
    jobs = tx.take_due(project_id, tree_id, room) if room > 0 else []
    tx.update_resources(
        [job.resource_id for job in jobs], job_state=JobState.POSTED, posted_at=now
    )
    found: dict[tuple[str, int], list[str]] = {}
    for job in jobs:
        found.setdefault((job.stack_id, job.version), []).append(job.resource_id)
    return tuple(Posting(*key, tuple(ids)) for key, ids in found.items())


def own(postings: Sequence[Posting], stack: Stack) -> tuple[str, ...]:
    """The jobs of that stack among them."""
    return tuple(
        job
        for posting in postings
        if posting.stack_id == stack.id and posting.to is Daemon.ENGINE
        for job in posting.resource_ids
    )
