"""The start of the nested stacks of a message's jobs, together as far as they are new.

Called by ``engine`` once it has claimed the jobs.  Decides which jobs are done together, and when
messages are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from heat_convergence.common.transactions import Wait, retry_transaction
from heat_convergence.convergence.lifecycle.dispatch import (
    OutgoingMessage,
    Recipient,
    merge_messages,
    send_messages,
)
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.job_boundary import JobBoundary
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.nested.creations import Creation
from heat_convergence.engine.nested.executor import NestedStackExecutor
from heat_convergence.engine.outcomes import RecordedOutcomes


@dataclass(frozen=True, slots=True)
class NestedStarts:
    """The starts of nested stacks by one engine.

    Attributes:
        wait: waits before a transaction is tried again.
        finish: records the outcomes of jobs, whose leases have a token.
        notify: notifies observers and engines of recorded outcomes of a job.
    """

    executor: NestedStackExecutor
    boundary: JobBoundary
    bus: Bus
    settings: ConvergenceSettings
    wait: Wait
    finish: Callable[[Sequence[Outcome], str], None]
    notify: Callable[[Job, RecordedOutcomes], None]

    def start(self, jobs: Sequence[Job], token: str) -> None:
        """Start the traversals of nested stacks.

        Empty nested stacks end at once; the observers get one message about all of them,
        as the cost of processing it hardly depends on their number.
        """
        for_observers: list[OutgoingMessage] = []
        try:
            created = self._create_together(jobs, token, for_observers)
            for job in jobs:
                if job.row.id not in created:
                    self._send(self._start_alone(job, token), for_observers)
        finally:  # the failure of one job makes no other stack wait for a sweep
            send_messages(self.bus, merge_messages(for_observers), self.settings)

    def _create_together(
        self, jobs: Sequence[Job], token: str, for_observers: list[OutgoingMessage]
    ) -> set[str]:
        """Create nested stacks, several in each transaction.

        Returns:
            The ids of the rows whose jobs are done; the others are to be done alone.
        """
        done: set[str] = set()

        def create_each_batch() -> None:
            for batch in self.executor.prepare_together(jobs):
                messages = self._create_batch(batch, token)
                if messages is not None:
                    done.update(each.job.row.id for each in batch)
                    self._send(messages, for_observers)

        if jobs:
            self.boundary.start_together(jobs[0].row.stack_id, create_each_batch)
        return done

    def _create_batch(
        self, batch: Sequence[Creation], token: str
    ) -> tuple[OutgoingMessage, ...] | None:
        return retry_transaction(
            lambda: self.executor.create_together(batch, token), wait=self.wait
        )

    def _start_alone(self, job: Job, token: str) -> tuple[OutgoingMessage, ...]:
        return self.boundary.start(
            job,
            partial(self._execute, job, token),
            lambda outcome: self.finish([outcome], token),
        )

    def _execute(self, job: Job, token: str) -> tuple[OutgoingMessage, ...]:
        recorded, outgoing_messages = retry_transaction(
            lambda: self.executor.execute(job, token), wait=self.wait
        )
        self.notify(job, recorded)
        return outgoing_messages

    def _send(
        self, messages: Sequence[OutgoingMessage], for_observers: list[OutgoingMessage]
    ) -> None:
        """Send messages to engines, and keep those to observers."""
        for_observers += [each for each in messages if each.recipient is Recipient.OBSERVER]
        others = [each for each in messages if each.recipient is not Recipient.OBSERVER]
        send_messages(self.bus, others, self.settings)
