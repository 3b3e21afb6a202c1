"""The engine: it claims jobs, makes the one call that each needs, and records it.

Called by the RPC server with (stack, version, resource ids), and by a timer to renew
leases.  Must not wait for the cloud to finish, nor decide what comes next: the observer
does.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import (
    InvalidEncryptionKey,
    StorageRefused,
    Unavailable,
)
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import (
    OutgoingMessage,
    Recipient,
    dispatch_next,
    dispatch_round_robin,
    send_messages,
)
from heat_convergence.convergence.model.job_transitions import claim
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark
from heat_convergence.engine import claims, outcomes
from heat_convergence.engine.execution import Outcome, execute_job
from heat_convergence.engine.job_boundary import ClaimedJobs, JobBoundary
from heat_convergence.engine.jobs import ClaimContext, Job, create_job, reject_job
from heat_convergence.engine.leases import LeaseTracker
from heat_convergence.engine.nested.executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.engine.nested.jobs import is_nested_stack_job
from heat_convergence.engine.nested.starts import NestedStarts
from heat_convergence.engine.pool import JobPool, MessageCalls, log_unfinished
from heat_convergence.engine.preparation_journal import PreparationJournal
from heat_convergence.engine.prepared_jobs import (
    PreparedJobs,
    can_claim_at_once,
    create_in_time,
    is_claimable,
    lock_prepared,
    reject_poisoned,
)
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
from heat_convergence.template.evaluation.resource_definition import collect_definition_hashes

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
        self._registry = services.registry
        self._clock = services.clock
        self._ids = services.ids
        self._settings = services.settings
        self._pool = pool
        self._worker_id = worker_id
        self._wait = services.wait
        self._cloud_of = evaluation.cloud_of
        self._functions = evaluation.functions
        self._limits = evaluation.limits
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
        self._journal = journal or PreparationJournal(lambda _text: None)

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Do the jobs of the resources that are still to be done.

        A message is a hint (RULE 1): jobs that are leased to another worker, done already,
        blocked, or of another version are passed over.
        """
        token = self._ids()
        with self._leases.track(token):
            self._work(stack_id, version, resource_ids, token)

    def _work(self, stack_id: str, version: int, resource_ids: Sequence[str], token: str) -> None:
        def lease_held() -> bool:
            return self._leases.is_valid(token, self._clock())

        try:
            jobs, outgoing_messages = self._boundary.claim(
                stack_id,
                version,
                resource_ids,
                lambda ids, error: self._claim_and_end(stack_id, version, ids, token, error),
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
            log_unfinished(stack_id, version, error)

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

    def _claim_and_end(
        self,
        stack_id: str,
        version: int,
        resource_ids: Sequence[str],
        token: str,
        error: Error | None,
    ) -> ClaimedJobs:
        """Claim jobs, and end those that call nothing outside of the database at once.

        If an outcome cannot be stored, all are claimed first, and recorded as others are.
        """

        def attempt(*, ending: bool) -> ClaimedJobs:
            return retry_transaction(
                lambda: self._claim(stack_id, version, resource_ids, token, error, ending=ending),
                wait=self._wait,
            )

        try:
            return attempt(ending=error is None)
        except (StorageRefused, InvalidEncryptionKey):
            if error is not None:
                raise
            return attempt(ending=False)

    def _claim(
        self,
        stack_id: str,
        version: int,
        resource_ids: Sequence[str],
        token: str,
        error: Error | None = None,
        *,
        ending: bool = False,
    ) -> ClaimedJobs:
        """Claim the jobs of a message, and dispatch others in their place on the bus.

        What the jobs need is read and evaluated before the rows are locked: an expression
        may take long, and then the rest of the message is sent again for any two engines.  The
        place of a message without work is free, too.  With an error, the jobs are rejected
        because of it.

        Returns:
            The claimed jobs that have not ended, and messages to send after the commit.
        """
        with self._journal.preparing(version, resource_ids):
            prepared = self._prepare(stack_id, version, resource_ids, error)
            ended = self._do_local_jobs(prepared.jobs) if ending else {}
        log = EventLog(self._errors)
        context = self._context(self._clock(), log)
        with self._store.transaction() as tx:
            found = prepared.stack_and_workload or tx.stacks.get_with_workload(stack_id)
            if found is None:
                LOG.debug(
                    "message ignored, its stack is deleted: stack=%(stack)s", {"stack": stack_id}
                )
                return [], ()
            stack, load = found
            tx.stacks.remember(stack)
            jobs = self._claim_prepared(tx, prepared.jobs, ended, token, context)
            if not jobs:
                LOG.debug(
                    "message ignored, its jobs are done or void:"
                    " stack=%(stack)s version=%(version)s",
                    {"stack": stack_id, "version": version},
                )
            # The workload after these jobs have left the bus.
            taken, left = len(jobs), [job for job in jobs if job.row.id not in ended]
            done = tuple(job.row.id for job in jobs if job.row.id in ended)
            load = replace(
                load, posted=max(load.posted - taken, 0), running=load.running + len(left)
            )
            outgoing_messages = dispatch_round_robin(
                tx, stack.project_id, stack.tree_id, context, load
            )
        log.flush()
        halves = prepared.postponed_halves
        rest = tuple(OutgoingMessage(stack_id, version, half) for half in halves)
        outgoing_messages = (*rest, *outgoing_messages)
        observe = OutgoingMessage(stack_id, version, done, Recipient.OBSERVER)
        return left, (observe, *outgoing_messages) if done else outgoing_messages

    def _do_local_jobs(self, jobs: Sequence[Job]) -> dict[str, Outcome]:
        """Do the jobs that call nothing outside of the database, before they are claimed.

        Another worker may do the same; the claim decides whose outcome counts.

        Returns:
            The outcomes that may be recorded with the claim, by the ids of the rows.
        """
        done = [self._execute(job, lambda: True) for job in jobs if job.ends_with_claim]
        return {each.job.row.id: each for each in done if each.ends_with_claim}

    def _prepare(
        self, stack_id: str, version: int, resource_ids: Sequence[str], error: Error | None
    ) -> PreparedJobs:
        """Return the jobs that may be claimed; only reads, and evaluates what was read."""
        now = self._clock()
        with self._store.read() as tx:
            # RULE 2: a job starts when everything that it needs is ready.
            unblocked = tx.leases.get_unblocked(stack_id, version, resource_ids)
            stack = unblocked.stack
            rows = [row for row in unblocked.rows if is_claimable(row, version, now)]
            if stack is None or stack.version != version or not rows:
                return PreparedJobs()
            if error is not None:
                return PreparedJobs([reject_job(row, error) for row in rows], unblocked)
            rejected = reject_poisoned(rows, unblocked.takeovers, self._settings.max_job_takeovers)
            poisoned = {job.row.id for job in rejected}
            rows = [row for row in rows if row.id not in poisoned]
            names = {name for row in rows for name in row.desired.referenced_names}
            definitions = [row.desired.definition for row in rows]
            keys = {key for each in definitions for key in collect_definition_hashes(each)}
            inputs = tx.incarnations.get_inputs(stack.id, names)
            contents = tx.contents.get(keys) if keys else {}
        claim_context = ClaimContext(
            stack=stack,
            inputs=inputs,
            registry=self._registry,
            now=now,
            contents=contents,
            cloud=self._cloud_of(stack.tree_id),
            functions=self._functions,
            limits=self._limits,
        )
        created, postponed = create_in_time(
            rows,
            lambda row: self._boundary.create(row, partial(create_job, row, claim_context)),
            self._clock,
            self._settings.preparation_s,
        )
        return PreparedJobs(rejected + created, unblocked, postponed)

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
        until = context.now + timedelta(seconds=self._settings.lease_s)
        self._leases.claim(token, until)
        transition = claim(self._worker_id, token, until).with_marks(
            format_mark(MarkType.CLAIMED, context.now, self._worker_id)
        )
        if can_claim_at_once(prepared, self._registry):
            (job,) = prepared
            outcome = ended.get(job.row.id)
            if claims.record_at_once(tx, job, outcome, transition, context):
                return [job]
        limit = self._settings.max_job_takeovers
        jobs = lock_prepared(tx, prepared, self._registry, limit)
        for job in jobs:
            if job.row.id in ended and ended[job.row.id].job is not job:
                del ended[job.row.id]
        left = [job for job in jobs if job.row.id not in ended]
        claims.record_claims(tx, left, transition, context)
        ends = [ended[job.row.id] for job in jobs if job.row.id in ended]
        claims.record_ends(tx, ends, transition, context)
        return jobs

    def _finish(self, job_outcomes: Sequence[Outcome], token: str) -> None:
        job_outcomes = [outcome for outcome in job_outcomes if not outcome.lease_lost]
        if not job_outcomes:
            return
        self._notify_observer(job_outcomes[0].job, self._record_each(job_outcomes, token))

    def _post_waiting(self, stack: Stack) -> tuple[OutgoingMessage, ...]:
        context = self._context(self._clock(), EventLog(self._errors))
        with self._store.transaction() as tx:
            return dispatch_next(tx, stack, context)

    def _notify_observer(self, job: Job, recorded: outcomes.RecordedOutcomes) -> None:
        stack_id, version = job.row.stack_id, job.row.job.version
        if recorded.current:
            self._bus.observe(stack_id, version, recorded.current)
        for newer, ids in sorted(recorded.superseded.items()):
            # RULE 6: what was started is finished; the newer version may start now.
            self._bus.converge(stack_id, newer, ids)

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
