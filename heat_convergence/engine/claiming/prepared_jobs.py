"""The jobs that a claiming transaction takes, of those that were prepared without locks.

Called by ``engine`` at the beginning of that transaction.  Decides whether what was read
before is still so; must not evaluate anything, since it holds locks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from heat_convergence.common.clock import Clock
from heat_convergence.common.failures import ConcurrentTransaction
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, Recipient
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import narrow, with_values
from heat_convergence.convergence.ports.leases import UnblockedResources
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.engine.claiming.predecessors import find_predecessors, may_take_over
from heat_convergence.engine.jobs import Job, reject_poisoned_job
from heat_convergence.resources.registry import ResourceTypeRegistry


@dataclass(frozen=True, slots=True)
class PreparedJobs:
    """The jobs of a message that may be claimed, and what was read with them.

    Attributes:
        postponed: the message's other rows, which are left for other messages.
    """

    jobs: Sequence[Job] = ()
    unblocked: UnblockedResources = field(default_factory=UnblockedResources)
    postponed: Sequence[Resource] = ()

    @property
    def postponed_messages(self) -> tuple[OutgoingMessage, ...]:
        """The messages of the postponed rows, two at least, which two engines prepare at once."""
        parts = by_stack(self.postponed)
        if len(parts) == 1:
            middle = (len(parts[0]) + 1) // 2
            parts = [half for half in (parts[0][:middle], parts[0][middle:]) if half]
        return tuple(map(message_of_rows, parts))

    @property
    def leaves_nothing_to_dispatch(self) -> bool:
        """True if there are jobs, and no other of their project waited for a place on the bus.

        If the first one comes to wait after the read, the bus is full of jobs, and the claim of
        another one finds it.
        """
        return bool(self.jobs) and not self.unblocked.has_schedulable


def message_of_rows(
    rows: Sequence[Resource], recipient: Recipient = Recipient.ENGINE
) -> OutgoingMessage:
    """Return the message about rows of one stack."""
    first, ids = rows[0], tuple(row.id for row in rows)
    return OutgoingMessage(
        first.stack_id, first.job.version, ids, recipient, first.identity.project_id
    )


def by_stack(rows: Iterable[Resource]) -> list[list[Resource]]:
    """Return the rows of each stack."""
    found: dict[str, list[Resource]] = {}
    for row in rows:
        found.setdefault(row.stack_id, []).append(row)
    return list(found.values())


def is_claimable(row: Resource, version: int, now: datetime) -> bool:
    """Return whether a row has a job of the version that was posted, and that nobody does."""
    return (
        row.job.version == version
        and row.job.verb is not None
        and row.job.state is JobState.POSTED
        and row.observation.observe_at is None
        and not row.lease.is_active(now)
    )


def create_in_time(
    rows: Sequence[Resource], create: Callable[[Resource], Job], clock: Clock, limit_s: float
) -> tuple[list[Job], Sequence[Resource]]:
    """Create jobs of rows, at least one, until that has taken ``limit_s``.

    What a job needs may be expressions, evaluated one after the other.  The jobs of a message
    are claimed and recorded together, so that each would wait for the expressions of all, while
    other engines may have nothing to do.

    Returns:
        The jobs, and the rows that have none yet.
    """
    until = clock() + timedelta(seconds=limit_s)
    jobs: list[Job] = []
    for row in rows:
        if jobs and clock() >= until:
            break
        jobs.append(create(row))
    return jobs, rows[len(jobs) :]


def can_claim_at_once(prepared: Sequence[Job], registry: ResourceTypeRegistry) -> bool:
    """Return whether nothing but the row of a single job decides about its claim.

    A rejected job is claimed as others are: its definition may be what cannot be read.
    """
    if len(prepared) != 1 or prepared[0].error is not None:
        return False
    row = prepared[0].row
    return row.lease.token is None and not may_take_over(row, registry)


def lock_prepared(
    tx: Transaction, prepared: Sequence[Job], registry: ResourceTypeRegistry, max_takeovers: int
) -> list[Job]:
    """Lock the rows of prepared jobs, apart from those that another transaction has locked.

    Args:
        tx: The claiming transaction.
        prepared: The jobs of one message, as their rows were before.
        registry: The resource types.
        max_takeovers: How many workers may end while they run one job.

    Returns:
        The jobs to claim.

    Raises:
        ConcurrentTransaction: A row has changed since it was read: its job is to be
            prepared again.  The version of a row changes with that of its stack, and what
            it needs stays ready in a version (RULE 2), so that comparing rows is enough.
    """
    before = {job.row.id: job for job in prepared}
    locked = tx.leases.lock_claimable(list(before))
    changed = [row.name for row in locked if _differs(row, before[row.id].row)]
    if changed:
        raise ConcurrentTransaction(f"rows have changed since they were read: {changed[:5]}")
    jobs = [before[row.id] for row in locked]
    jobs = _without_poisoned(tx, jobs, max_takeovers)
    return _with_predecessors(tx, jobs, registry)


def _differs(locked: Resource, before: Resource) -> bool:
    """Return whether more has changed than the time at which the job was posted.

    The sweep posts a job again whose evaluation takes long; that is no reason to repeat it.
    """
    posted = {"posted_at": locked.job.posted_at, "timeline": locked.job.timeline}
    return locked != with_values(narrow(before), posted)


def reject_poisoned(
    rows: Sequence[Resource], takeovers: Mapping[str, int], max_takeovers: int
) -> list[Job]:
    """Return failed jobs for the rows whose workers have ended too often."""
    return [
        reject_poisoned_job(row, takeovers[row.id], max_takeovers)
        for row in rows
        if takeovers.get(row.id, 0) > max_takeovers
    ]


def _without_poisoned(tx: Transaction, jobs: Sequence[Job], max_takeovers: int) -> list[Job]:
    """Return the jobs, those failed whose workers have ended too often."""
    # A lease that was not given back: its worker has ended, or was stalled.
    taken_over = {job.row.id: job.row for job in jobs if job.row.lease.token is not None}
    if not taken_over:
        return list(jobs)
    counts: dict[str, int] = {}
    for version in sorted({row.job.version for row in taken_over.values()}):
        ids = [row.id for row in taken_over.values() if row.job.version == version]
        counts |= tx.graph.count_takeovers(version, ids)
    return [
        reject_poisoned_job(job.row, counts[job.row.id], max_takeovers)
        if counts.get(job.row.id, 0) > max_takeovers
        else job
        for job in jobs
    ]


def _with_predecessors(
    tx: Transaction, jobs: Sequence[Job], registry: ResourceTypeRegistry
) -> list[Job]:
    """Return the jobs with the physical ids whose identity they take over."""
    found: dict[str, Sequence[Resource]] = {}
    for rows in by_stack(job.row for job in jobs if job.context is not None):
        found |= find_predecessors(tx, rows[0].stack_id, rows, registry)
    return [_with_physical_ids(job, found.get(job.row.id, ())) for job in jobs]


def _with_physical_ids(job: Job, predecessors: Sequence[Resource]) -> Job:
    if job.context is None or not predecessors:
        return job
    ids = tuple(str(each.physical.id) for each in predecessors)
    return replace(job, context=replace(job.context, predecessors=ids))
