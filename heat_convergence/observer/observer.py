"""The only part that waits: it decides what is ready and starts the next leaves.

Called by the RPC server with (stack, version, resource ids) when engines have
recorded something, and by the daemon's timer through ``tick``.  Owns timeouts,
retries' time, rollback and the sweeps that make every message dispensable.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import Unavailable
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.transactions import Wait, retry_transaction
from heat_convergence.convergence.lifecycle import rollback
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import batches, send_messages
from heat_convergence.convergence.lifecycle.observations import Observation
from heat_convergence.convergence.lifecycle.progress import ProgressResult, process_observations
from heat_convergence.convergence.lifecycle.sweeps import (
    cancel_nested_stack,
    dispatch_project,
    handle_timeout,
    resume_stalled,
)
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.observer.polling import (
    ObservationBatch,
    observed_dependencies,
    poll_resources,
)
from heat_convergence.observer.snapshot_cleanup import delete_due_snapshots
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_type import CloudFactory, no_cloud
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.nested_observation import NestedStackObserver
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits

LOG = logging.getLogger(__name__)


class Observer:
    """One worker process's share of the watching.

    ``wake`` is called, from any thread, when ``tick`` is wanted earlier than it
    last said; the daemon's loop waits on it.  ``functions`` are the plug-ins' template
    functions, for outputs of nested stacks.
    """

    def __init__(
        self,
        *,
        store: Store,
        bus: Bus,
        registry: ResourceTypeRegistry,
        clock: Clock,
        ids: IdFactory,
        settings: ConvergenceSettings,
        rebuild: rollback.DefinitionRebuilder,
        wait: Wait,
        request_tick: Callable[[], None] = lambda: None,
        cloud_of: CloudFactory = no_cloud,
        functions: Mapping[str, Function] = NO_FUNCTIONS,
        limits: TemplateLimits = DEFAULT_LIMITS,
        template_cache: TemplateCache | None = None,
    ) -> None:
        self._store = store
        self._bus = bus
        self._registry = registry
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._rebuild = rebuild
        self._wait = wait
        self._wake = request_tick
        self._cloud_of = cloud_of
        self._insight = NestedStackObserver(
            registry, clock, limits, functions, template_cache or TemplateCache(limits)
        )
        self._next_sweep_at = clock()
        self._next_look_at: datetime | None = None

    # -- messages

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        """Takes note of what engines have recorded for these resources, or nested
        stacks have come to; without any, of a stack that its owner gave up."""
        try:
            if resource_ids:
                noted = self._note(stack_id, resource_ids, {})
                if noted.stack is None:
                    LOG.info("message dropped: there is no stack %s", stack_id)
            else:
                self._transact(lambda tx, means: cancel_nested_stack(tx, stack_id, means))
        except Unavailable as error:
            LOG.warning(
                "observation given up: stack %(stack)s, error %(error)s",
                {"stack": stack_id, "error": str(error)},
            )

    # -- the timer

    def tick(self) -> float:
        """Does what is due; the seconds until something may be due again."""
        now = self._clock()
        try:
            self._look_at_due(now)
            if now >= self._next_sweep_at:
                self._sweep(now)
                self._next_sweep_at = now + timedelta(seconds=self._settings.sweep_interval_s)
                self._forecast()
        except Unavailable as error:
            LOG.warning("sweep given up: error %(error)s", {"error": str(error)})
            return self._settings.sweep_interval_s
        wake_at = min(self._next_sweep_at, self._next_look_at or self._next_sweep_at)
        return max(0.0, (wake_at - self._clock()).total_seconds())

    def _look_at_due(self, now: datetime) -> None:
        if self._next_look_at is None or now < self._next_look_at:
            return
        until = now + timedelta(seconds=self._settings.lease_s)
        rows = self._store.sweeps.take_due_observations(now, until, self._settings.sweep_limit)
        self._forecast()
        by_stack: dict[str, list[Resource]] = {}
        for row in rows:
            by_stack.setdefault(row.stack_id, []).append(row)
        due = []
        for stack_id, members in sorted(by_stack.items()):
            names = observed_dependencies(members, self._registry)
            with self._store.transaction() as tx:
                stack = tx.stacks.get(stack_id)
                inputs = tx.incarnations.get_inputs(stack_id, names) if names else {}
            if stack is not None:
                due.append(ObservationBatch(stack, members, inputs, self._cloud_of(stack.tree_id)))
        for stack_id, seen in sorted(poll_resources(due, self._registry, now).items()):
            self._note(stack_id, [row.id for row in by_stack[stack_id]], seen)

    def _sweep(self, now: datetime) -> None:
        """RULE 1: finds what a lost message would have started."""
        limit = self._settings.sweep_limit
        late = now - timedelta(seconds=self._settings.repost_after_s)
        lost: dict[tuple[str, int], list[str]] = {}
        for job in self._store.sweeps.take_lost_jobs(now, late, limit):
            lost.setdefault((job.stack_id, job.version), []).append(job.resource_id)
        for (stack_id, version), ids in sorted(lost.items()):
            LOG.info("stack %s version %s: %s jobs posted again", stack_id, version, len(ids))
            self._post(stack_id, version, ids)
        for stack_id in self._store.sweeps.find_overdue_stacks(now, limit):
            self._transact(lambda tx, means, it=stack_id: handle_timeout(tx, it, means))
        for stack_id in self._store.sweeps.find_cancelled_nested_stacks(limit):
            self._transact(lambda tx, means, it=stack_id: cancel_nested_stack(tx, it, means))
        for stack_id, version in self._store.sweeps.find_stalled_stacks(late, limit):
            self._transact(
                lambda tx, means, it=stack_id, v=version: resume_stalled(tx, it, v, means)
            )
        delete_due_snapshots(
            self._store,
            self._registry,
            self._settings,
            now,
            cloud_of=self._cloud_of,
            write=self._write,
        )
        for project_id in self._store.sweeps.find_projects_with_schedulable_jobs(late, limit):
            self._transact(lambda tx, means, it=project_id: dispatch_project(tx, it, means))

    # -- what both come to

    def _note(
        self, stack_id: str, resource_ids: Sequence[str], seen: Mapping[str, Observation]
    ) -> ProgressResult:
        return self._transact(
            lambda tx, means: process_observations(tx, stack_id, resource_ids, seen, means)
        )

    def _transact(
        self, work: Callable[[Transaction, TraversalContext], ProgressResult]
    ) -> ProgressResult:
        def attempt() -> ProgressResult:
            means = TraversalContext(self._clock(), self._ids, self._settings, self._insight)
            with self._store.transaction() as tx:
                advanced = work(tx, means)
                if advanced.rollback_reason is not None and advanced.stack is not None:
                    return rollback.begin_rollback(
                        tx, advanced.stack, advanced.rollback_reason, means, self._rebuild
                    )
                return advanced

        advanced = retry_transaction(attempt, wait=self._wait)
        send_messages(self._bus, advanced.outgoing_messages, self._settings)
        self._expect(advanced.next_poll_at)
        return advanced

    def _write(self, work: Callable[[Transaction], None]) -> None:
        def attempt() -> None:
            with self._store.transaction() as tx:
                work(tx)

        retry_transaction(attempt, wait=self._wait)

    def _post(self, stack_id: str, version: int, ids: Sequence[str]) -> None:
        for batch in batches(ids, self._settings.batch_size):
            self._bus.converge(stack_id, version, batch)

    def _forecast(self) -> None:
        # Forgotten first, then asked: what a message announces meanwhile stays.
        self._next_look_at = None
        self._expect(self._store.sweeps.get_next_observation_time())

    def _expect(self, look_at: datetime | None) -> None:
        if look_at is not None and (self._next_look_at is None or look_at < self._next_look_at):
            self._next_look_at = look_at
            self._wake()
