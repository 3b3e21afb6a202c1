"""The claims of the jobs that a message names.

Called by ``engine`` with the hints of one message, of several stacks of a project.  Decides what
is read, evaluated and written until the jobs are the worker's: those that call nothing outside of
the database end with their claims (ADR 17).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import InvalidEncryptionKey, StorageRefused
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import dispatch_round_robin
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, Recipient
from heat_convergence.convergence.model.job_transitions import claim
from heat_convergence.convergence.ports.bus import ResourceHint, shown_stacks, shown_versions
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark
from heat_convergence.engine.claiming import claims
from heat_convergence.engine.claiming.preparation import JobPreparation
from heat_convergence.engine.claiming.prepared_jobs import (
    PreparedJobs,
    by_stack,
    can_claim_at_once,
    lock_prepared,
    message_of_rows,
)
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.job_boundary import ClaimedJobs
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.leases import LeaseTracker
from heat_convergence.engine.preparation_journal import PreparationJournal
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.stacks.event_log import EventLog

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClaims:
    """The claims of one engine.

    Attributes:
        execute: Does a job that calls nothing outside of the database.
    """

    services: DaemonServices
    preparation: JobPreparation
    journal: PreparationJournal
    leases: LeaseTracker
    worker_id: str
    execute: Callable[[Job], Outcome]

    def claim(self, hints: Sequence[ResourceHint], token: str, error: Error | None) -> ClaimedJobs:
        """Claim jobs, and end those that call nothing outside of the database at once.

        If an outcome cannot be stored, all are claimed first, and recorded as others are.
        """

        def attempt(*, ending: bool) -> ClaimedJobs:
            return retry_transaction(
                lambda: self._claim(hints, token, error, ending=ending), wait=self.services.wait
            )

        try:
            return attempt(ending=error is None)
        except (StorageRefused, InvalidEncryptionKey):
            if error is not None:
                raise
            return attempt(ending=False)

    def _claim(
        self, hints: Sequence[ResourceHint], token: str, error: Error | None, *, ending: bool
    ) -> ClaimedJobs:
        """Claim the jobs of a message, and dispatch others in their place on the bus.

        What the jobs need is read and evaluated before the rows are locked: an expression
        may take long, and then the rest of the message is sent again for any two engines.  The
        place of a message without work is free, too.  With an error, the jobs are rejected
        because of it.

        Returns:
            The claimed jobs that have not ended, and messages to send after the commit.
        """
        with self.journal.preparing(hints):
            prepared = self.preparation.prepare(hints, error)
            ended = self._do_local_jobs(prepared.jobs) if ending else {}
        log = EventLog(self.services.errors)
        context = TraversalContext(
            self.services.clock(), self.services.ids, self.services.settings, report=log.add
        )
        with self.services.store.transaction() as tx:
            jobs, messages = self._write(tx, hints, prepared, ended, token, context)
        log.flush()
        left = [job for job in jobs if job.row.id not in ended]
        done = by_stack(job.row for job in jobs if job.row.id in ended)
        observe = tuple(message_of_rows(rows, Recipient.OBSERVER) for rows in done)
        return left, (*observe, *prepared.postponed_messages, *messages)

    def _do_local_jobs(self, jobs: Sequence[Job]) -> dict[str, Outcome]:
        """Do the jobs that call nothing outside of the database, before they are claimed.

        Another worker may do the same; the claim decides whose outcome counts.

        Returns:
            The outcomes that may be recorded with the claim, by the ids of the rows.
        """
        done = [self.execute(job) for job in jobs if job.ends_with_claim]
        return {each.job.row.id: each for each in done if each.ends_with_claim}

    def _write(
        self,
        tx: Transaction,
        hints: Sequence[ResourceHint],
        prepared: PreparedJobs,
        ended: dict[str, Outcome],
        token: str,
        context: TraversalContext,
    ) -> tuple[list[Job], tuple[OutgoingMessage, ...]]:
        """Write the claims and the outcomes of jobs that have ended, and dispatch others."""
        existing = next(iter(prepared.unblocked.stacks), hints[0].stack_id)
        found = None
        if not prepared.leaves_nothing_to_dispatch:
            found = tx.stacks.get_with_workload(existing)
            if found is None:
                LOG.debug(
                    "message ignored, its stack is deleted: stack=%(stack)s", {"stack": existing}
                )
                return [], ()
        for stack in prepared.unblocked.stacks.values():
            tx.stacks.remember(stack)
        jobs = self._claim_prepared(tx, prepared.jobs, ended, token, context)
        if not jobs:
            LOG.debug(
                "message ignored, its jobs are done or void: stack=%(stack)s version=%(version)s",
                {"stack": shown_stacks(hints), "version": shown_versions(hints)},
            )
        if found is None:
            return jobs, ()
        # The workload after these jobs have left the bus.
        stack, load = found
        left = len([job for job in jobs if job.row.id not in ended])
        load = replace(load, posted=max(load.posted - len(jobs), 0), running=load.running + left)
        return jobs, dispatch_round_robin(tx, stack.project_id, stack.tree_id, context, load)

    def _claim_prepared(
        self,
        tx: Transaction,
        prepared: Sequence[Job],
        ended: dict[str, Outcome],
        token: str,
        context: TraversalContext,
    ) -> list[Job]:
        """Write the claims of prepared jobs; return those that no other worker has taken.

        Outcomes of jobs that have changed are taken out of ``ended``.
        """
        # RULE 3 and 4: the lease and the intent are in the rows before any call.
        until = context.now + timedelta(seconds=self.services.settings.lease_s)
        self.leases.claim(token, until)
        transition = claim(self.worker_id, token, until).with_marks(
            format_mark(MarkType.CLAIMED, context.now, self.worker_id)
        )
        registry = self.services.registry
        if can_claim_at_once(prepared, registry):
            (job,) = prepared
            outcome = ended.get(job.row.id)
            if claims.record_at_once(tx, job, outcome, transition, context):
                return [job]
        jobs = lock_prepared(tx, prepared, registry, self.services.settings.max_job_takeovers)
        for job in jobs:
            if job.row.id in ended and ended[job.row.id].job is not job:
                del ended[job.row.id]
        left = [job for job in jobs if job.row.id not in ended]
        claims.record_claims(tx, left, transition, context)
        ends = [ended[job.row.id] for job in jobs if job.row.id in ended]
        claims.record_ends(tx, ends, transition, context)
        return jobs
