"""Pools that run the calls of one message's jobs, and limit how much is done at once.

Types without I/O run in place; the others run beside each other in an executor, green
or native, that ``cli`` chooses.  Must not touch any row.

A service or a project whose calls hang takes neither all places for calls nor all threads
for messages: a message waits for its calls only while some of them end.  Then calls under
way go on without it, and jobs that have not started are given back, to be done later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import CallRefused, ConcurrentTransaction, Unavailable
from heat_convergence.common.fair_executor import FairExecutor, FairSlots
from heat_convergence.common.project_slots import ProjectSlots
from heat_convergence.convergence.ports.bus import ResourceHint, shown_stacks, shown_versions
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.leases import LeaseTracker

LOG = logging.getLogger(__name__)
ExecuteJob = Callable[[Job], Outcome]
STARTS_AT_ONCE = 3
"""The number of messages whose nested stacks are started at once, two of one project.

Each has some megabytes of definitions, and more of them do not end earlier: evaluation needs the
processor.
"""
PATIENCE_S = 5.0  # how long a message waits for the next of its calls to end
POSTPONE_S = 5.0  # pause of a job that found no place


class LateCalls(Protocol):
    """The calls of a message that end after the message."""

    def expect(self) -> None:
        """Keep the leases of the message until one call of ``finish``."""
        ...

    def finish(self, outcomes: list[Outcome]) -> None:
        """Record outcomes, in a thread of the pool, and let the leases go."""
        ...


class MessageCalls:
    """The calls of one message that end after it (``LateCalls``)."""

    def __init__(
        self,
        record: Callable[[Sequence[Outcome], str], None],
        leases: LeaseTracker,
        token: str,
    ) -> None:
        self._record = record
        self._leases = leases
        self._token = token

    def expect(self) -> None:
        """Keep the leases of the message, which are renewed meanwhile."""
        self._leases.hold(self._token)

    def finish(self, outcomes: list[Outcome]) -> None:
        """Record outcomes and let the leases go."""
        try:
            self._record(outcomes, self._token)
        except (Unavailable, ConcurrentTransaction) as error:  # there was an outcome to record
            row = outcomes[0].job.row
            log_unfinished([ResourceHint(row.stack_id, row.job.version, (row.id,))], error)
        finally:
            self._leases.release(self._token)


def log_unfinished(hints: Sequence[ResourceHint], error: Error) -> None:
    """Log that jobs were started and not recorded: the rows say so, for the sweep."""
    LOG.warning(
        "jobs not finished, a sweep repeats them:"
        " stack=%(stack)s version=%(version)s error=%(error)s",
        {
            "stack": shown_stacks(hints),
            "version": shown_versions(hints),
            "error": error.log_text,
        },
    )


class JobPool(Protocol):
    """A pool that executes the jobs of one message."""

    def run(
        self, execute: ExecuteJob, jobs: Sequence[Job], late: LateCalls
    ) -> Iterator[list[Outcome]]:
        """Yield the outcomes in groups as they arrive; one group is recorded at a time."""
        ...

    def hold_start_slot(self, project_id: str | None) -> AbstractContextManager[None]:
        """Wait until a message of the project may start its nested stacks."""
        ...


class InlineJobPool:
    """A pool that executes jobs one by one: for tests, the simulator, and types without I/O."""

    def run(
        self, execute: ExecuteJob, jobs: Sequence[Job], late: LateCalls
    ) -> Iterator[list[Outcome]]:
        """Yield the outcomes of all jobs as one group."""
        yield [execute(job) for job in jobs]

    def hold_start_slot(self, project_id: str | None) -> AbstractContextManager[None]:
        """Return at once; tasks of the simulator share a thread, which nobody may block."""
        return nullcontext()


class ConcurrentJobPool:
    """A pool that executes jobs concurrently.

    Args:
        executor: Runs the calls.
        message_threads: How many messages the process handles at once.
        patience_s: How long a message waits for the next of its calls to end.
    """

    def __init__(
        self, executor: FairExecutor, message_threads: int, *, patience_s: float = PATIENCE_S
    ) -> None:
        self._executor = executor
        self._messages = FairSlots(message_threads)
        self._patience_s = patience_s
        self._starts = ProjectSlots(STARTS_AT_ONCE)

    def hold_start_slot(self, project_id: str | None) -> AbstractContextManager[None]:
        """Wait until a message of the project may start its nested stacks."""
        return self._starts.hold(project_id)

    def run(
        self, execute: ExecuteJob, jobs: Sequence[Job], late: LateCalls
    ) -> Iterator[list[Outcome]]:
        """Yield the outcomes of local jobs first, then the others as they finish.

        Calls under way keep their leases until they end, also when the consumer raises.
        """
        local = [job for job in jobs if job.is_local]
        calls = {
            self._executor.submit(job.call_groups, partial(execute, job)): (job, job.call_groups)
            for job in jobs
            if not job.is_local
        }
        try:
            if local:
                yield [execute(job) for job in local]
            groups = frozenset(group for _job, each in calls.values() for group in each)
            if calls and self._messages.try_take(groups):
                try:
                    yield from self._wait_for(calls)
                finally:
                    self._messages.give_back(groups)
        finally:  # RULE 3: a call goes on, and no other worker may take its resource meanwhile
            postponed = _leave_to(late, calls)
        if postponed:
            yield [Outcome(job, error=_no_place()) for job in postponed]

    def _wait_for(self, calls: dict[Future[Outcome], Any]) -> Iterator[list[Outcome]]:
        """Yield outcomes, and take their calls from ``calls``, while calls end."""
        while calls:
            done, _running = wait(calls, self._patience_s, return_when=FIRST_COMPLETED)
            if not done:
                return
            for call in done:
                del calls[call]
            yield [call.result() for call in done]


def _leave_to(late: LateCalls, calls: Mapping[Future[Outcome], tuple[Job, Any]]) -> list[Job]:
    """Leave the calls under way to ``late``; return the jobs of those that had not started."""
    postponed = [job for call, (job, _groups) in calls.items() if call.cancel()]
    for call in calls:
        if not call.cancelled():
            late.expect()
            call.add_done_callback(partial(_finish_late, late))
    return postponed


def _finish_late(late: LateCalls, call: Future[Outcome]) -> None:
    # Without an outcome the leases end, too: a sweep repeats the job.
    late.finish([] if call.exception() is not None else [call.result()])


def _no_place() -> CallRefused:
    return CallRefused("it waits for earlier calls to the service", retry_after_s=POSTPONE_S)
