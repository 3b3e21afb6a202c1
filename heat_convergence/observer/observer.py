"""The observer: it decides what is ready and starts the next leaves.

Called by the RPC server with (stack, version, resource ids) when engines have recorded
outcomes, and by the daemon's timer through ``tick``.  Owns timeouts, the times of
retries, rollback and the sweeps that make every message dispensable.  Must not change
anything in the cloud.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from heat_convergence.common.errors import InternalError, Unavailable
from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle import rollback
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import send_messages
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.lifecycle.progress import ProgressResult, process_observations
from heat_convergence.convergence.lifecycle.sweeps import (
    cancel_nested_stack,
    dispatch_project,
    fail_overdue_stack,
    fail_unprocessable_stack,
    handle_timeout,
    resume_stalled,
)
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.observer.lost_jobs import LostJobs
from heat_convergence.observer.poll_pool import InlinePollPool, PollPool, PollsInProgress
from heat_convergence.observer.polling import (
    ObservationBatch,
    PollGroup,
    PollResult,
    observed_dependencies,
    plan_polls,
)
from heat_convergence.observer.snapshot_cleanup import SnapshotCleanup
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import (
    DEFAULT_EVALUATION,
    DaemonServices,
    EvaluationServices,
)
from heat_convergence.stacks.event_log import EventLog
from heat_convergence.stacks.nested_observation import NestedStackObserver

LOG = logging.getLogger(__name__)


class _Step(Protocol):
    """A step of ``lifecycle`` with its arguments bound, apart from these."""

    def __call__(self, tx: Transaction, *, context: TraversalContext) -> ProgressResult: ...


class Observer:
    """The part of the observation that one worker process does."""

    def __init__(
        self,
        services: DaemonServices,
        evaluation: EvaluationServices = DEFAULT_EVALUATION,
        *,
        rebuild: rollback.DefinitionRebuilder,
        request_tick: Callable[[], None] = lambda: None,
        pool: PollPool | None = None,
    ) -> None:
        self._store = services.store
        self._bus = ContainedBus(services.bus, services.errors)
        self._registry = services.registry
        self._clock = services.clock
        self._ids = services.ids
        self._settings = services.settings
        self._rebuild = rebuild
        self._wait = services.wait
        self._request_tick = request_tick
        self._cloud_of = evaluation.cloud_of
        template_cache = evaluation.template_cache
        if template_cache is None:  # an empty cache is false, too
            template_cache = TemplateCache(evaluation.limits)
        self._read_nested_status = NestedStackObserver(
            services.registry,
            services.clock,
            services.store.read,
            evaluation.limits,
            evaluation.functions,
            template_cache,
            services.errors,
        )
        self._errors = services.errors
        self._boundary = StackBoundary(services.errors)
        self._polls = PollsInProgress(
            pool or InlinePollPool(), services.settings.observation_limit_s
        )
        self._snapshot_cleanup = SnapshotCleanup(
            store=services.store,
            registry=services.registry,
            settings=services.settings,
            cloud_of=evaluation.cloud_of,
            write=self._write,
            polls=self._polls,
            request_round=request_tick,
            boundary=self._boundary,
            errors=services.errors,
        )
        self._lost_jobs = LostJobs(services.store, self._bus, services.settings)
        self._results: deque[PollResult] = deque()
        self._next_sweep_at = services.clock()
        self._next_poll_at: datetime | None = None
        self._poll_ahead_until: datetime | None = None

    # -- messages

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Process outcomes that engines have recorded, or the ends of nested stacks.

        Without resources the message is about a nested stack whose parent does not wait
        for it any more.
        """
        try:
            if not resource_ids:
                self._run_step(stack_id, partial(cancel_nested_stack, stack_id=stack_id))
            else:
                self._process_safely(stack_id, resource_ids, {})
        except Unavailable as error:
            LOG.warning(
                "message not processed, a sweep repeats it:"
                " stack=%(stack)s version=%(version)s error=%(error)s",
                {"stack": stack_id, "version": version, "error": error.log_text},
            )

    # -- the timer

    def tick(self) -> float:
        """Do what is due; return the seconds until something may be due again."""
        now = self._clock()
        try:
            self._boundary.search(partial(self._poll_due, now))
            self.process_results()
            if now >= self._next_sweep_at:
                self._sweep(now)
                self._next_sweep_at = now + timedelta(seconds=self._settings.sweep_interval_s)
                self._boundary.search(self._find_next_poll)
        except Unavailable as error:
            retry_s = self._settings.sweep_interval_s
            LOG.warning(
                "observer pass aborted, database unavailable:"
                " retry_in_s=%(seconds)s error=%(error)s",
                {"seconds": retry_s, "error": error.log_text},
            )
            return retry_s
        next_at = min(self._next_sweep_at, self._next_poll_at or self._next_sweep_at)
        return max(0.0, (next_at - self._clock()).total_seconds())

    def process_results(self) -> None:
        """Process the observations that have ended."""
        self._boundary.search(self._process_results)
        self._boundary.search(partial(self._snapshot_cleanup.record_results, self._clock()))

    def expect_lost_messages(self) -> None:
        """Make the next ticks poll what is due until messages of now would be repeated.

        Called when another observer has ended, with messages that it had taken off the bus.
        """
        self._poll_ahead_until = self._clock() + timedelta(seconds=self._settings.repost_after_s)

    def _poll_due(self, now: datetime) -> None:
        ahead, self._poll_ahead_until = self._poll_ahead_until, None
        if ahead is None and (self._next_poll_at is None or now < self._next_poll_at):
            return
        until = now + timedelta(seconds=self._settings.lease_s)
        limit = self._settings.sweep_limit
        rows = self._store.sweeps.take_due_observations(ahead or now, until, limit)
        if ahead is not None and len(rows) == limit:
            self._poll_ahead_until = ahead
            self._request_tick()
        self._find_next_poll()
        by_stack: dict[str, list[Resource]] = {}
        for row in rows:
            by_stack.setdefault(row.stack_id, []).append(row)
        due: list[ObservationBatch] = []
        for stack_id, members in sorted(by_stack.items()):
            error_id = self._boundary.run(
                stack_id, partial(self._add_batch, due, stack_id, members)
            )
            if error_id is not None:
                self._fail_resources(stack_id, [row.id for row in members], error_id)
        known, groups = plan_polls(due, self._registry, now, self._errors)
        self._results.append(known)
        for key, group in sorted(groups.items()):
            # Those of a group under way are due again after the lease.
            self._polls.start(key, key, partial(self._poll, group))

    def _poll(self, group: PollGroup) -> None:
        """Observe resources, perhaps in another thread; the next round records the result."""
        self._boundary.search(
            lambda: self._results.append(group.run(self._registry, self._errors))
        )
        self._request_tick()

    def _process_results(self) -> None:
        """Process the observations that have ended, those of a stack together."""
        found = PollResult()
        while self._results:
            found.merge(self._results.popleft())
        for stack_id, resource_ids in sorted(found.resource_ids.items()):
            observations = found.observations.get(stack_id, {})
            self._process_safely(stack_id, resource_ids, observations)

    def _add_batch(
        self, due: list[ObservationBatch], stack_id: str, members: list[Resource]
    ) -> None:
        names = observed_dependencies(members, self._registry)
        with self._store.transaction() as tx:
            stack = tx.stacks.get(stack_id)
            inputs = tx.incarnations.get_inputs(stack_id, names) if names else {}
        if stack is not None:
            due.append(ObservationBatch(stack, members, inputs, self._cloud_of(stack.tree_id)))

    def _sweep(self, now: datetime) -> None:
        """Find what a lost message would have started (RULE 1)."""
        limit = self._settings.sweep_limit
        late = now - timedelta(seconds=self._settings.repost_after_s)
        for search in (
            partial(self._lost_jobs.post_again, now, late),
            partial(self._end_overdue_stacks, now, limit),
            partial(self._cancel_nested_stacks, limit),
            partial(self._resume_stalled_stacks, late, limit),
            partial(self._snapshot_cleanup.delete_due, now),
            partial(self._dispatch_projects, late, limit),
        ):
            self._boundary.search(search)

    def _end_overdue_stacks(self, now: datetime, limit: int) -> None:
        for stack_id in self._store.sweeps.find_overdue_stacks(now, limit):
            error_id = self._run_step(stack_id, partial(handle_timeout, stack_id=stack_id))
            if error_id is not None:
                step = partial(fail_overdue_stack, stack_id=stack_id, error_id=error_id)
                self._run_step(stack_id, step)

    def _cancel_nested_stacks(self, limit: int) -> None:
        for stack_id in self._store.sweeps.find_cancelled_nested_stacks(limit):
            self._run_step(stack_id, partial(cancel_nested_stack, stack_id=stack_id))

    def _resume_stalled_stacks(self, late: datetime, limit: int) -> None:
        for stack_id, version in self._store.sweeps.find_stalled_stacks(late, limit):
            step = partial(resume_stalled, stack_id=stack_id, version=version)
            self._run_step(stack_id, step)

    def _dispatch_projects(self, late: datetime, limit: int) -> None:
        for project_id in self._store.sweeps.find_projects_with_schedulable_jobs(late, limit):
            self._run_step(project_id, partial(dispatch_project, project_id=project_id))

    # -- error boundaries

    def _run_step(self, stack_id: str, step: _Step) -> str | None:
        return self._boundary.run(stack_id, partial(self._transact, step))

    def _process_safely(
        self, stack_id: str, resource_ids: Sequence[str], observations: Mapping[str, Observation]
    ) -> None:
        """Process resources together; if that fails, each alone, and fail those that raise."""
        together = partial(self._process, stack_id, resource_ids, observations)
        if self._boundary.run(stack_id, together) is None:
            return
        for row_id in resource_ids:
            own = {key: value for key, value in observations.items() if key == row_id}
            error_id = self._boundary.run(
                stack_id, partial(self._process, stack_id, [row_id], own)
            )
            if error_id is not None:
                self._fail_resources(stack_id, [row_id], error_id)

    def _fail_resources(self, stack_id: str, resource_ids: Sequence[str], error_id: str) -> None:
        """Process resources as failed, each alone, without the stack's rollback if need be.

        If that raises, too, they are due again after the lease, until the stack's deadline.
        """
        for row_id in resource_ids:
            for may_roll_back in (True, False):
                fail = partial(
                    self._fail_resource, stack_id, row_id, error_id, may_roll_back=may_roll_back
                )
                if self._boundary.run(stack_id, fail) is None:
                    break

    def _fail_resource(
        self, stack_id: str, row_id: str, error_id: str, *, may_roll_back: bool
    ) -> None:
        try:
            self._process_as_failed(stack_id, row_id, error_id, may_roll_back=may_roll_back)
        except StoredValueUnreadable as error:
            self._transact(partial(fail_unprocessable_stack, stack_id=stack_id, reason=str(error)))

    def _process_as_failed(
        self, stack_id: str, row_id: str, error_id: str, *, may_roll_back: bool
    ) -> None:
        with self._store.transaction() as tx:
            rows = [row for row in tx.resources.get([row_id]) if row.stack_id == stack_id]
        reason = f"InternalError: resources.{{}}: {InternalError(error_id).message}"
        failed = {
            row.id: Observation(ObservedState.FAILED, reason.format(row.name), job=job_key(row))
            for row in rows
        }
        self._process(stack_id, [row_id], failed, may_roll_back=may_roll_back)

    # -- transactions

    def _process(
        self,
        stack_id: str,
        resource_ids: Sequence[str],
        observations: Mapping[str, Observation],
        *,
        may_roll_back: bool = True,
    ) -> ProgressResult:
        result = self._transact(
            partial(
                process_observations,
                stack_id=stack_id,
                resource_ids=resource_ids,
                observations=observations,
            ),
            may_roll_back=may_roll_back,
        )
        if result.stack is None:
            LOG.debug(
                "message ignored, its stack is deleted: stack=%(stack)s", {"stack": stack_id}
            )
        return result

    def _transact(self, step: _Step, *, may_roll_back: bool = True) -> ProgressResult:
        """Run a step in a transaction, and a rollback if it asks for one.

        Its messages are sent, and its reports are logged, after the commit.
        """

        def attempt() -> tuple[ProgressResult, EventLog]:
            log = EventLog(self._errors)
            context = TraversalContext(
                self._clock(), self._ids, self._settings, self._read_nested_status, log.add
            )
            with self._store.transaction() as tx:
                result = step(tx, context=context)
                if result.rollback_reason is not None and result.stack is not None:
                    result = (
                        rollback.begin_rollback(
                            tx, result.stack, result.rollback_reason, context, self._rebuild
                        )
                        if may_roll_back
                        else rollback.refuse_rollback(
                            tx, result.stack, result.rollback_reason, context
                        )
                    )
            return result, log

        result, log = retry_transaction(attempt, wait=self._wait)
        log.flush()
        send_messages(self._bus, result.outgoing_messages, self._settings)
        self._expect(result.next_poll_at)
        return result

    def _write(self, work: Callable[[Transaction], bool]) -> bool:
        def attempt() -> bool:
            with self._store.transaction() as tx:
                return work(tx)

        return retry_transaction(attempt, wait=self._wait)

    def _find_next_poll(self) -> None:
        # Reset before the query: a poll that a message announces meanwhile is kept.
        self._next_poll_at = None
        self._expect(self._store.sweeps.get_next_observation_time())

    def _expect(self, poll_at: datetime | None) -> None:
        if poll_at is not None and (self._next_poll_at is None or poll_at < self._next_poll_at):
            self._next_poll_at = poll_at
            self._request_tick()
