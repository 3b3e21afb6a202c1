"""The error boundary around the jobs of a message (RULE 11).

Called by ``engine``.  Jobs are claimed and recorded together; if that raises, each alone,
and those that raise again fail their resources, with the id of the error in the log.  Must
not touch any row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from heat_convergence.common.error_boundary import (
    TRANSACTION_ERRORS,
    BoundaryName,
    ErrorBoundary,
)
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.common.failures import (
    InternalError,
    InvalidEncryptionKey,
    ResourceFailure,
    StorageRefused,
)
from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, Recipient
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.bus import ResourceHint, shown_stacks
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job, reject_job
from heat_convergence.engine.outcomes import RecordedOutcomes, merge_recorded

ClaimedJobs = tuple[list[Job], tuple[OutgoingMessage, ...]]
ClaimJobs = Callable[[Sequence[ResourceHint], Error | None], ClaimedJobs]
"""Claims resources; with an error, as jobs that are rejected because of it."""
Record = Callable[[Sequence[Outcome]], RecordedOutcomes]
NOTHING_RECORDED = RecordedOutcomes((), {})


class JobBoundary:
    """The boundary of one engine."""

    def __init__(self, errors: ErrorLog) -> None:
        self._boundary = ErrorBoundary(BoundaryName.JOB, errors, TRANSACTION_ERRORS)

    def claim(self, hints: Sequence[ResourceHint], claim: ClaimJobs) -> ClaimedJobs:
        """Claim resources together or, if that raises, those of each stack, then each alone."""
        together: ClaimedJobs | None = self._boundary.run(
            lambda: claim(hints, None), _no_result, ErrorSubject(shown_stacks(hints))
        )
        if together is not None:
            return together
        if len(hints) > 1:
            parts = [self.claim([hint], claim) for hint in hints]
        else:
            each = (replace(hints[0], resource_ids=(one,)) for one in hints[0].resource_ids)
            parts = [self._claim_one(hint, claim) for hint in each]
        messages = tuple(message for _jobs, sent in parts for message in sent)
        return [job for jobs, _sent in parts for job in jobs], messages

    def _claim_one(self, hint: ResourceHint, claim: ClaimJobs) -> ClaimedJobs:
        """Claim a resource or reject its job.

        If that raises, too, a sweep tries it later; of a row that cannot be decoded, the
        observers hear, who fail its stack.
        """
        observe = OutgoingMessage(
            hint.stack_id, hint.version, hint.resource_ids, Recipient.OBSERVER
        )

        def give_up(error: Exception, _error_id: str) -> ClaimedJobs:
            return [], (observe,) if isinstance(error, StoredValueUnreadable) else ()

        subject = ErrorSubject(hint.stack_id, hint.resource_ids[0])

        def reject(_error: Exception, error_id: str) -> ClaimedJobs:
            return self._boundary.run(
                lambda: claim([hint], InternalError(error_id)), give_up, subject
            )

        return self._boundary.run(lambda: claim([hint], None), reject, subject)

    def create(self, row: Resource, create: Callable[[], Job]) -> Job:
        """Create a job; one whose creation raises is rejected."""
        return self._boundary.run(
            create,
            lambda error, error_id: reject_job(row, _reason(error, error_id)),
            ErrorSubject(row.stack_id, row.name),
        )

    def prepare(self, job: Job, prepare: Callable[[Job], Job]) -> Job:
        """Add to a job what its call needs; one for which that raises fails."""
        return self._boundary.run(
            lambda: prepare(job),
            lambda error, error_id: replace(job, error=_reason(error, error_id)),
            ErrorSubject(job.row.stack_id, job.row.name),
        )

    def contain(self, stack_id: str, work: Callable[[], object]) -> None:
        """Do work about a stack; if that raises, jobs go on without it."""
        self._boundary.contain(work, ErrorSubject(stack_id))

    def start(
        self,
        job: Job,
        start: Callable[[], tuple[OutgoingMessage, ...]],
        failed: Callable[[Outcome], object],
    ) -> tuple[OutgoingMessage, ...]:
        """Start the traversal of a nested stack; ``failed`` records that this raised."""

        def fail(_error: Exception, error_id: str) -> tuple[OutgoingMessage, ...]:
            failed(Outcome(job, error=InternalError(error_id)))
            return ()

        return self._boundary.run(start, fail, ErrorSubject(job.row.stack_id, job.row.name))

    def record(self, outcomes: Sequence[Outcome], record: Record) -> RecordedOutcomes:
        """Record outcomes together or, if that raises, each alone, as a failure if need be.

        If a failure cannot be recorded either, the lease expires and another worker does the
        job, ``max_job_takeovers`` times at most.
        """
        recorded = self._try_to_record(outcomes, record)
        if isinstance(recorded, RecordedOutcomes):
            return recorded
        if len(outcomes) > 1:
            return merge_recorded([self.record([outcome], record) for outcome in outcomes])
        again = self._try_to_record([outcomes[0].as_failure(recorded)], record)
        return again if isinstance(again, RecordedOutcomes) else NOTHING_RECORDED

    def _try_to_record(
        self, outcomes: Sequence[Outcome], record: Record
    ) -> RecordedOutcomes | Error:
        def attempt() -> RecordedOutcomes | Error:
            try:
                return record(outcomes)
            except (StorageRefused, InvalidEncryptionKey) as error:
                return ResourceFailure(
                    f"its values can't be stored: {error}", detail=error.log_text
                )

        row = outcomes[0].job.row
        return self._boundary.run(
            attempt,
            lambda _error, error_id: InternalError(error_id),
            ErrorSubject(row.stack_id, row.name if len(outcomes) == 1 else ""),
        )


def _no_result(_error: Exception, _error_id: str) -> None:
    return None


def _reason(error: Exception, error_id: str) -> Error:
    """Return the error to show: one about a stored value names the remedy itself."""
    return error if isinstance(error, StoredValueUnreadable) else InternalError(error_id)
