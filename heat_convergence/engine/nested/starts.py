"""The start of the nested stacks of a message's jobs, together as far as they are new.

Called by ``engine`` once it has claimed the jobs.  Decides which jobs are done together, and when
messages are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from heat_convergence.common.transactions import Wait, retry_transaction
from heat_convergence.convergence.lifecycle.outgoing_messages import (
    OutgoingMessage,
    Recipient,
    merge_messages,
    send_messages,
)
from heat_convergence.convergence.model.stack import Stack
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
        post_waiting: posts jobs of a stack's project that wait for room on the bus.
        notify: notifies observers and engines of recorded outcomes of a job.
        hold_slot: waits until a message of a project may start its nested stacks.
    """

    executor: NestedStackExecutor
    boundary: JobBoundary
    bus: Bus
    settings: ConvergenceSettings
    wait: Wait
    finish: Callable[[Sequence[Outcome], str], None]
    post_waiting: Callable[[Stack], tuple[OutgoingMessage, ...]]
    notify: Callable[[Job, RecordedOutcomes], None]
    hold_slot: Callable[[str | None], AbstractContextManager[None]]

    def start(self, jobs: Sequence[Job], token: str) -> None:
        """Start the traversals of nested stacks, when it is their turn."""
        by_tree: dict[str, list[Job]] = {}
        for job in jobs:
            by_tree.setdefault(job.row.identity.root_id, []).append(job)
        for some in by_tree.values():
            stack = some[0].stack
            with self.hold_slot(None if stack is None else stack.project_id):
                self._start_all(some, token)

    def _start_all(self, jobs: Sequence[Job], token: str) -> None:
        """Start the traversals of nested stacks, all of one tree.

        Empty nested stacks end at once; the observers get one message about all of them,
        as the cost of processing it hardly depends on their number.

        A transaction that posts no job may have found a full bus, which workers have emptied
        before its commit: it is looked at once more.
        """
        sent = _SentMessages(self.bus, self.settings)
        try:
            created = self._create_together(jobs, token, sent)
            for job in jobs:
                if job.row.id not in created:
                    sent.send(self._start_alone(job, token))
        finally:  # the failure of one job makes no other stack wait for a sweep
            send_messages(self.bus, merge_messages(sent.for_observers), self.settings)
        stack = jobs[0].stack
        if sent.may_wait_for_bus and stack is not None:
            self.boundary.contain(stack.id, partial(self._post_waiting, stack))

    def _post_waiting(self, stack: Stack) -> None:
        messages = retry_transaction(lambda: self.post_waiting(stack), wait=self.wait)
        send_messages(self.bus, messages, self.settings)

    def _create_together(self, jobs: Sequence[Job], token: str, sent: _SentMessages) -> set[str]:
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
                    sent.send(messages)

        self.boundary.contain(jobs[0].row.stack_id, create_each_batch)
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


@dataclass(slots=True)
class _SentMessages:
    """The messages of transactions: those to engines are sent, those to observers kept.

    Attributes:
        may_wait_for_bus: whether a transaction has posted no job.
    """

    bus: Bus
    settings: ConvergenceSettings
    for_observers: list[OutgoingMessage] = field(default_factory=list)
    may_wait_for_bus: bool = False

    def send(self, messages: Sequence[OutgoingMessage]) -> None:
        """Send or keep the messages of one transaction, which is committed."""
        self.for_observers += [each for each in messages if each.recipient is Recipient.OBSERVER]
        for_engines = [each for each in messages if each.recipient is Recipient.ENGINE]
        self.may_wait_for_bus |= not for_engines
        send_messages(self.bus, for_engines, self.settings)
