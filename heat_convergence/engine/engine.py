"""The engine: it claims jobs, makes the one call that each needs, and records it.

Called by the RPC server with the hints of a message, and by a timer to renew leases.  Must not
wait for the cloud to finish, nor decide what comes next: the observer does.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import dispatch_next
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage, send_messages
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.engine import outcomes
from heat_convergence.engine.claiming.job_claims import JobClaims
from heat_convergence.engine.claiming.preparation import JobPreparation
from heat_convergence.engine.execution import Outcome, execute_job
from heat_convergence.engine.job_boundary import JobBoundary
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.leases import LeaseTracker
from heat_convergence.engine.nested.executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.engine.nested.jobs import is_nested_stack_job
from heat_convergence.engine.nested.starts import NestedStarts
from heat_convergence.engine.pool import JobPool, MessageCalls, log_unfinished
from heat_convergence.engine.preparation_journal import PreparationJournal
from heat_convergence.engine.step_calls import LeaseCheck
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import (
    DEFAULT_EVALUATION,
    DaemonServices,
    EvaluationServices,
)
from heat_convergence.stacks.event_log import EventLog
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.services import StackServices

LOG = logging.getLogger(__name__)


class Engine:
    """The part of the work that one worker process does."""

    def __init__(
        self,
        services: DaemonServices,
        evaluation: EvaluationServices = DEFAULT_EVALUATION,
        *,
        pool: JobPool,
        worker_id: str,
        nested_executor: NestedStackExecutor | None = None,
        journal: PreparationJournal | None = None,
    ) -> None:
        self._store = services.store
        self._bus = ContainedBus(services.bus, services.errors)
        self._errors = services.errors
        self._boundary = JobBoundary(services.errors)
        self._clock = services.clock
        self._ids = services.ids
        self._settings = services.settings
        self._pool = pool
        self._worker_id = worker_id
        self._wait = services.wait
        self._nested_executor = nested_executor or NestedStackExecutor(
            store=services.store,
            builder=NestedStackBuilder(
                StackServices(
                    registry=services.registry, clock=services.clock, settings=services.settings
                )
            ),
            clock=services.clock,
            ids=services.ids,
            settings=services.settings,
            limits=NestedTreeLimits(),
        )
        self._nested_starts = NestedStarts(
            self._nested_executor,
            self._boundary,
            self._bus,
            services.settings,
            services.wait,
            finish=self._finish,
            post_waiting=self._post_waiting,
            notify=self._notify_observer,
            hold_slot=pool.hold_start_slot,
        )
        self._leases = LeaseTracker()
        self._claims = JobClaims(
            services=services,
            preparation=JobPreparation(services, evaluation, self._boundary),
            journal=journal or PreparationJournal(lambda _text: None),
            leases=self._leases,
            worker_id=worker_id,
            execute=lambda job: self._execute(job, lambda: True),
        )

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Do the jobs of the resources that are still to be done, of stacks of one project.

        A message is a hint (RULE 1): jobs that are leased to another worker, done already,
        blocked, or of another version are passed over.
        """
        token = self._ids()
        with self._leases.track(token):
            self._work(hints, token)

    def _work(self, hints: Sequence[ResourceHint], token: str) -> None:
        def lease_held() -> bool:
            return self._leases.is_valid(token, self._clock())

        try:
            jobs, outgoing_messages = self._boundary.claim(
                hints, lambda some, error: self._claims.claim(some, token, error)
            )
            send_messages(self._bus, outgoing_messages, self._settings)
            nested = [job for job in jobs if is_nested_stack_job(job)]
            self._nested_starts.start(nested, token)
            flat = [
                self._boundary.prepare(job, self._with_call_needs)
                for job in jobs
                if not is_nested_stack_job(job)
            ]
            late = MessageCalls(self._finish, self._leases, token)
            execute = partial(self._execute, lease_held=lease_held)
            for outcomes in self._pool.run(execute, flat, late):
                self._finish(outcomes, token)
        except Unavailable as error:
            log_unfinished(hints, error)

    def _execute(self, job: Job, lease_held: LeaseCheck) -> Outcome:
        """Return the outcome of a job's call, with its times."""
        called_at = self._clock()
        outcome = execute_job(job, lease_held=lease_held, errors=self._errors)
        return replace(outcome, called_at=called_at, answered_at=self._clock())

    def _with_call_needs(self, job: Job) -> Job:
        """Return the job with what its call needs, before any call of the message starts."""
        return self._nested_executor.with_stack_source(job).with_call_groups()

    @property
    def holds_leases(self) -> bool:
        """Return whether there may be leases to renew."""
        return self._leases.has_claims

    def renew_leases(self) -> None:
        """Renew the leases of calls that take long."""
        now = self._clock()
        tokens = self._leases.valid_tokens(now)
        if not tokens:
            return
        until = now + timedelta(seconds=self._settings.lease_s)
        self._store.workers.renew_leases(self._worker_id, tokens, until)
        self._leases.extend(tokens, until, self._clock())

    def _finish(self, job_outcomes: Sequence[Outcome], token: str) -> None:
        """Record the outcomes of calls, those of each stack together."""
        by_stack: dict[str, list[Outcome]] = {}
        for outcome in job_outcomes:
            if not outcome.lease_lost:
                by_stack.setdefault(outcome.job.row.stack_id, []).append(outcome)
        for some in by_stack.values():
            self._notify_observer(some[0].job, self._record_each(some, token))

    def _post_waiting(self, stack: Stack) -> tuple[OutgoingMessage, ...]:
        context = self._context(self._clock(), EventLog(self._errors))
        with self._store.transaction() as tx:
            return dispatch_next(tx, stack, context)

    def _notify_observer(self, job: Job, recorded: outcomes.RecordedOutcomes) -> None:
        stack_id, version = job.row.stack_id, job.row.job.version
        if recorded.current:
            self._bus.observe([ResourceHint(stack_id, version, recorded.current)])
        for newer, ids in sorted(recorded.superseded.items()):
            # RULE 6: what was started is finished; the newer version may start now.
            self._bus.converge([ResourceHint(stack_id, newer, ids)])

    def _record_each(
        self, job_outcomes: Sequence[Outcome], token: str
    ) -> outcomes.RecordedOutcomes:
        """Record all outcomes at once or, if that fails, each by itself.

        An outcome that cannot be stored fails its resource, instead of coming back.
        """
        return self._boundary.record(
            job_outcomes,
            lambda some: retry_transaction(lambda: self._record(some, token), wait=self._wait),
        )

    def _record(self, job_outcomes: Sequence[Outcome], token: str) -> outcomes.RecordedOutcomes:
        log = EventLog(self._errors)
        context = self._context(self._clock(), log)
        with self._store.transaction() as tx:
            recorded = outcomes.record_outcomes(tx, job_outcomes, token, context)
        log.flush()
        return recorded

    def _context(self, now: datetime, log: EventLog) -> TraversalContext:
        return TraversalContext(now, self._ids, self._settings, report=log.add)
