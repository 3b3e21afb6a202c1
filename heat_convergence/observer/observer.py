"""The observer: it decides what is ready and starts the next leaves.

Called by the RPC server with the hints of a message when engines have recorded outcomes, and by
the daemon's timer through ``tick``.  Owns the times of polls and sweeps; ``stack_transactions``
does what is due.  Must not change anything in the cloud.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from heat_convergence.common.failures import Unavailable
from heat_convergence.common.telemetry.request_contexts import StackRequests
from heat_convergence.convergence.lifecycle.rollback import DefinitionRebuilder
from heat_convergence.convergence.lifecycle.sweeps import cancel_nested_stack
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.observer.lost_jobs import LostJobs
from heat_convergence.observer.merged_messages import MergedMessages
from heat_convergence.observer.poll_pool import InlinePollPool, PollPool, PollsInProgress
from heat_convergence.observer.polling import (
    ObservationBatch,
    PollGroup,
    PollGroups,
    PollResult,
    observed_dependencies,
    plan_polls,
)
from heat_convergence.observer.quarantine_retries import QuarantineRetries
from heat_convergence.observer.resuming_bus import ResumingBus
from heat_convergence.observer.snapshot_cleanup import SnapshotCleanup
from heat_convergence.observer.stack_boundary import StackBoundary
from heat_convergence.observer.stack_transactions import StackTransactions
from heat_convergence.observer.sweep import Sweep
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.daemon_services import (
    DEFAULT_EVALUATION,
    DaemonServices,
    EvaluationServices,
)
from heat_convergence.stacks.nested_observation import NestedStackObserver

LOG = logging.getLogger(__name__)


class Observer:
    """The part of the observation that one worker process does."""

    def __init__(
        self,
        services: DaemonServices,
        evaluation: EvaluationServices = DEFAULT_EVALUATION,
        *,
        rebuild: DefinitionRebuilder,
        request_tick: Callable[[], None] = lambda: None,
        pool: PollPool | None = None,
    ) -> None:
        self._store = services.store
        self._registry = services.registry
        self._clock = services.clock
        self._settings = services.settings
        self._errors = services.errors
        self._request_tick = request_tick
        self._cloud_of = evaluation.cloud_of
        self._boundary = StackBoundary(services.errors)
        self._polls = PollsInProgress(
            pool or InlinePollPool(), services.settings.observation_limit_s
        )
        self._requests = StackRequests()
        bus = ContainedBus(ResumingBus(services.bus, self._requests), services.errors)
        self._stacks = StackTransactions(
            services=services,
            bus=bus,
            boundary=self._boundary,
            read_nested_status=_nested_stack_observer(services, evaluation),
            rebuild=rebuild,
            expect_poll=self.expect_poll,
        )
        self._messages = MergedMessages(self._process_named)
        self._snapshot_cleanup = SnapshotCleanup(
            store=services.store,
            registry=services.registry,
            settings=services.settings,
            cloud_of=evaluation.cloud_of,
            write=self._stacks.run,
            polls=self._polls,
            request_round=request_tick,
            boundary=self._boundary,
            errors=services.errors,
        )
        self._quarantine = QuarantineRetries(
            services=services,
            bus=bus,
            cloud_of=evaluation.cloud_of,
            polls=self._polls,
            request_round=request_tick,
            boundary=self._boundary,
        )
        self._sweep = Sweep(
            sweeps=services.store.sweeps,
            settings=services.settings,
            stacks=self._stacks,
            lost_jobs=LostJobs(services.store, bus, services.settings),
            snapshot_cleanup=self._snapshot_cleanup,
            quarantine=self._quarantine,
        )
        self._results: deque[PollResult] = deque()
        self._waiting: PollGroups = {}
        self._next_sweep_at = services.clock()
        self._next_poll_at: datetime | None = None
        self._poll_ahead_until: datetime | None = None

    # -- messages

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Process outcomes that engines have recorded, or the ends of nested stacks.

        A hint without resources is about a nested stack whose parent does not wait for it any
        more.
        """
        named = {hint.stack_id: hint.resource_ids for hint in hints if hint.resource_ids}
        for hint in hints:
            if not hint.resource_ids:
                self._cancel_nested(hint.stack_id)
        if named:
            self.observe_together(named)

    def _cancel_nested(self, stack_id: str) -> None:
        self._requests.remember(stack_id)
        try:
            self._stacks.run_step(stack_id, partial(cancel_nested_stack, stack_id=stack_id))
        except Unavailable as error:
            _log_left_to_sweep([stack_id], error)

    def observe_together(self, named: Mapping[str, Sequence[str]]) -> None:
        """Process outcomes of several stacks that have arrived at the same time."""
        for stack_id in named:
            self._requests.remember(stack_id)
        self._messages.process(named)

    def _process_named(self, named: Mapping[str, Sequence[str]]) -> None:
        """Process what messages have named, those of several stacks together."""
        try:
            with self._requests.resumed(*named):
                self._stacks.process(named, {})
        except Unavailable as error:
            _log_left_to_sweep(named, error)

    # -- the timer

    def tick(self) -> float:
        """Do what is due; return the seconds until something may be due again."""
        now = self._clock()
        try:
            if self._is_poll_due(now):
                self._boundary.search(partial(self._poll_due, now))
            if self._waiting:
                self._boundary.search(self._start_polls)
            self.process_results()
            if now >= self._next_sweep_at:
                self._sweep.run(now)
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
        if self._results:
            self._boundary.search(self._process_results)
        for cleanup in (self._snapshot_cleanup, self._quarantine):
            if cleanup.has_results:
                self._boundary.search(partial(cleanup.record_results, self._clock()))

    def expect_lost_messages(self) -> None:
        """Make the next ticks poll what is due until messages of now would be repeated.

        Called when another observer has ended, with messages that it had taken off the bus.
        """
        self._poll_ahead_until = self._clock() + timedelta(seconds=self._settings.repost_after_s)

    def _is_poll_due(self, now: datetime) -> bool:
        if self._poll_ahead_until is not None:
            return True
        return self._next_poll_at is not None and now >= self._next_poll_at

    def _poll_due(self, now: datetime) -> None:
        ahead, self._poll_ahead_until = self._poll_ahead_until, None
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
                self._stacks.fail_resources(stack_id, [row.id for row in members], error_id)
        known, groups = plan_polls(due, self._registry, now, self._errors)
        self._results.append(known.made_at(now))
        for key, group in groups.items():
            self._waiting.setdefault(key, PollGroup()).merge(group)

    def _start_polls(self) -> None:
        """Start what is due; the resources of a group under way wait until that has ended."""
        for key, group in sorted(self._waiting.items()):
            if self._polls.start(key, key, partial(self._poll, group), self._request_tick):
                del self._waiting[key]

    def _poll(self, group: PollGroup) -> None:
        """Observe resources, perhaps in another thread; the next round records the result."""
        self._boundary.search(
            lambda: self._results.append(
                group.run(self._registry, self._errors, self._requests).made_at(self._clock())
            )
        )

    def _process_results(self) -> None:
        """Process the observations that have ended, those of a stack together."""
        found = PollResult()
        while self._results:
            found.merge(self._results.popleft())
        for stack_id, resource_ids in sorted(found.resource_ids.items()):
            observations = found.observations.get(stack_id, {})
            with self._requests.resumed(stack_id):
                self._stacks.process({stack_id: resource_ids}, observations)

    def _add_batch(
        self, due: list[ObservationBatch], stack_id: str, members: list[Resource]
    ) -> None:
        names = observed_dependencies(members, self._registry)
        with self._store.transaction() as tx:
            stack = tx.stacks.get(stack_id)
            inputs = tx.incarnations.get_inputs(stack_id, names) if names else {}
        if stack is not None:
            due.append(ObservationBatch(stack, members, inputs, self._cloud_of(stack.tree_id)))

    def _find_next_poll(self) -> None:
        # Reset before the query: a poll that a message announces meanwhile is kept.
        self._next_poll_at = None
        self.expect_poll(self._store.sweeps.get_next_observation_time())

    def expect_poll(self, poll_at: datetime | None) -> None:
        """Poll at a time, unless another poll is due earlier; None is no time."""
        if poll_at is not None and (self._next_poll_at is None or poll_at < self._next_poll_at):
            self._next_poll_at = poll_at
            self._request_tick()


def _log_left_to_sweep(stack_ids: Iterable[str], error: Unavailable) -> None:
    for stack_id in stack_ids:
        LOG.warning(
            "message not processed, a sweep repeats it: stack=%(stack)s error=%(error)s",
            {"stack": stack_id, "error": error.log_text},
        )


def _nested_stack_observer(
    services: DaemonServices, evaluation: EvaluationServices
) -> NestedStackObserver:
    template_cache = evaluation.template_cache
    if template_cache is None:  # an empty cache is false, too
        template_cache = TemplateCache(evaluation.limits)
    return NestedStackObserver(
        services.registry,
        services.clock,
        services.store.read,
        evaluation.limits,
        evaluation.functions,
        template_cache,
        services.errors,
    )
