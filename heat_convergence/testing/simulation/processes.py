"""The processes of the simulation: real engines and observers that can be killed.

Used by the simulated environment.  A process that was killed starts again as a new
incarnation with a new identity and without memory of the last one.  Inside a process
any number of tasks may be in progress.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.fair_executor import SlotGroups
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.ports.bus import Bus, ResourceHint, shown_versions
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.pool import InlineJobPool, LateCalls
from heat_convergence.engine.preparation_journal import (
    PreparationJournal,
    PreparedJobs,
    parse_journal,
)
from heat_convergence.engine.takeover import take_over_jobs
from heat_convergence.observer.drift_watch import DriftWatch
from heat_convergence.observer.notifications.receiver import NotificationReceiver
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.testing.simulation.arrived_hints import ArrivedHints, as_messages
from heat_convergence.testing.simulation.cloud_reads.watched_type import WatchedType
from heat_convergence.testing.simulation.exception_points import (
    ContainedErrorLog,
    RaisingProxy,
    RaisingRegistry,
    RaisingStore,
)
from heat_convergence.testing.simulation.fault_points import (
    FaultInjectingCalls,
    FaultInjectingStore,
)
from heat_convergence.testing.simulation.messaging.bus import SimulatedBus, SimulatedMessage
from heat_convergence.testing.simulation.process import SimulatedProcess
from heat_convergence.testing.simulation.resource_types import (
    ImmutableType,
    SignalledType,
    SimulatedType,
    StagedType,
)
from heat_convergence.testing.simulation.workload import nested_templates, scaling_groups

SIMULATED_TYPES = (SimulatedType, ImmutableType, SignalledType, StagedType)


class RaisingErrorLog(ErrorLog):
    """An error log that ends the simulation: its types and its data are no excuse."""

    def report(self, error: Exception, subject: ErrorSubject, boundary: str) -> str:
        """Raise the error again."""
        raise error


class ServiceProcess(SimulatedProcess):
    """A process with the services of an API, an engine or an observer."""

    def registry(self) -> ResourceTypeRegistry:
        """Return the resource types, with the fault points of this process."""
        calls = FaultInjectingCalls(self)
        types: tuple[ResourceType, ...] = (
            *(type_class(self.simulation.cloud, calls) for type_class in SIMULATED_TYPES),
            *(type_class() for type_class in scaling_groups.SCALING_RESOURCE_TYPES),
        )
        if self.simulation.config.watch:
            types = (WatchedType(self.simulation.cloud_view, calls), *types[1:])
        if self.simulation.config.exception_points:
            return RaisingRegistry(types, self.exception_points())
        return ResourceTypeRegistry(types)

    def bus(self) -> Bus:
        """Return the bus with this process as the sender."""
        simulation = self.simulation
        bus = SimulatedBus(
            f"{self.name}.{self.incarnation}",
            simulation.event_queue,
            simulation.faults,
            simulation.router.deliver,
        )
        if simulation.config.exception_points:
            return RaisingProxy(bus, self.exception_points(), "bus")
        return bus

    def store(self) -> Any:
        """Return the store with the fault points of this process."""
        store = FaultInjectingStore(self.simulation.store, self)
        if self.simulation.config.exception_points:
            return RaisingStore(store, self.exception_points())
        return store

    def errors(self) -> ErrorLog:
        """Return the log of unexpected errors."""
        now = self.simulation.event_queue.now
        planned = self.simulation.config.exception_points
        return ContainedErrorLog(now) if planned else RaisingErrorLog(now)

    def daemon_services(self) -> DaemonServices:
        """Return the services of an engine or observer in this process."""
        simulation = self.simulation
        clock: Clock = simulation.event_queue.now
        ids: IdFactory = simulation.ids
        if simulation.config.exception_points:
            points = self.exception_points()
            clock, ids = points.around(clock, "clock"), points.around(ids, "ids")
        return DaemonServices(
            store=self.store(),
            bus=self.bus(),
            registry=self.registry(),
            clock=clock,
            ids=ids,
            settings=simulation.settings,
            wait=self.wait,
            errors=self.errors(),
            announce=simulation.announcements.extend,
        )

    def notices_end(self) -> bool:
        """Return whether the end of the last incarnation is noticed, on the same host, or not."""
        drawn = self.simulation.faults.random_between(f"{self.name}/noticed", 0.0, 1.0)
        return self.incarnation > 1 and drawn < 0.5


class SequentialPool(InlineJobPool):
    """``engine.pool.JobPool`` that returns outcomes after every ``group_size`` calls."""

    def __init__(self, group_size: int) -> None:
        self._group_size = group_size

    def run(
        self, execute: Callable[[Job], Outcome], jobs: Sequence[Job], late: LateCalls
    ) -> Iterator[list[Outcome]]:
        """Execute the jobs in order; yield the outcomes of each group."""
        for start in range(0, len(jobs), self._group_size):
            yield [execute(job) for job in jobs[start : start + self._group_size]]


class SimulatedEngine(ServiceProcess):
    """An engine process: the engine and the timer that renews its leases."""

    worker_id = ""
    journal_text = "[]"  # in a file, so that it outlives the process

    def start_daemon(self) -> None:
        """Build the engine and schedule the renewal of its leases."""
        simulation, incarnation = self.simulation, self.incarnation
        ended, prepared = self.worker_id, parse_journal(self.journal_text)
        self._keep_journal("[]")
        self.worker_id = simulation.ids()
        self.engine = Engine(
            self.daemon_services(),
            pool=SequentialPool(simulation.group_size),
            worker_id=self.worker_id,
            journal=PreparationJournal(self._keep_journal),
        )
        self._arrived = ArrivedHints(
            self, simulation.config.message_wait_s / 5, self._converge_together
        )
        simulation.event_queue.schedule_after(
            simulation.settings.lease_s / 3, lambda: self._renew(incarnation)
        )
        if self.notices_end():
            self.run_task("takeover", lambda: self._take_over(ended, prepared))

    def _keep_journal(self, text: str) -> None:
        if not self.crashed:  # what ends the process ends its tasks without clearing it
            self.journal_text = text

    def _take_over(self, ended: str, prepared: list[PreparedJobs]) -> None:
        take_over_jobs(self.daemon_services(), [ended], prepared)

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that performs the jobs of the message, at once or when it has time."""
        if not self._arrived.keep(message):
            self._converge(message.hints)

    def _converge_together(self, hints: Sequence[ResourceHint]) -> None:
        for message in as_messages(hints):
            self._converge(message)

    def _converge(self, hints: Sequence[ResourceHint]) -> None:
        if len(hints) > 1:
            self.simulation.occurrences["jobs of several stacks in a message"] += 1
        self.run_task(
            f"converge {shown_versions(hints)}",
            lambda: self.engine.converge(hints),
            self.worker_id,
        )

    def _renew(self, incarnation: int) -> None:
        if not self.alive or self.incarnation != incarnation:
            return
        simulation = self.simulation
        self.pass_task_point()
        # Without leases, which is most of the time, the task would do nothing.
        points = simulation.config.exception_points
        if self.engine.holds_leases or self.is_stalled or points:
            self.start_task("renew", self.engine.renew_leases, self.worker_id)
        simulation.event_queue.schedule_after(
            simulation.settings.lease_s / 3, lambda: self._renew(incarnation)
        )


class SimulatedPollPool:
    """``observer.poll_pool.PollPool`` that runs each observation as a task of its own."""

    def __init__(self, process: SimulatedObserver) -> None:
        self._process = process
        self._incarnation = process.incarnation

    def start(self, groups: SlotGroups, work: Callable[[], None]) -> None:
        """Start the work as the next event, if the process still runs."""
        self._process.simulation.event_queue.schedule_after(0.0, lambda: self._run(work))

    def _run(self, work: Callable[[], None]) -> None:
        if self._process.alive and self._process.incarnation == self._incarnation:
            self._process.run_task("poll", work)


class SimulatedObserver(ServiceProcess):
    """An observer process: the observer and the timer of its next tick."""

    def start_daemon(self) -> None:
        """Build the observer and schedule its first tick."""
        config, services = self.simulation.config, self.daemon_services()
        pool = SimulatedPollPool(self) if config.concurrent_polls else None
        self.observer = Observer(
            services,
            rebuild=nested_templates.rebuild_desired,
            request_tick=self._request_tick,
            pool=pool,
        )
        self.watch = (
            DriftWatch(services, request_tick=self._request_tick, pool=pool)
            if config.watch
            else None
        )
        self.receiver = (
            None
            if self.watch is None
            else NotificationReceiver(
                services, self.observer, self.watch, request_tick=self._request_tick
            )
        )
        self._arrived = ArrivedHints(self, config.message_wait_s, self._observe_together)
        self._ticking = False
        self._tick_requested = False
        self._tick_number = 0
        if self.notices_end():
            self.observer.expect_lost_messages()
        self._schedule_tick(0.1)

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that polls the resources of the message, at once or when it has time."""
        if not self._arrived.keep(message):
            self.run_task(
                f"observe {message.version}", lambda: self.observer.observe(message.hints)
            )

    def _observe_together(self, hints: Sequence[ResourceHint]) -> None:
        named: dict[str, list[str]] = {}
        for hint in hints:
            named.setdefault(hint.stack_id, []).extend(hint.resource_ids)
        if len(named) > 1:
            self.simulation.occurrences["stacks observed together"] += 1
        self.run_task("observe together", lambda: self.observer.observe_together(named))

    def receive_notification(self, event_type: str, payload: Any) -> None:
        """Take note of a notification of another service."""
        if self.receiver is not None:
            self.receiver.receive(event_type, payload, "")

    def _request_tick(self) -> None:
        self._tick_requested = bool(self.simulation.config.concurrent_polls)
        if not self._ticking:
            self._schedule_tick(0.0)

    def _schedule_tick(self, seconds: float) -> None:
        """Schedule the next tick; a later call replaces an earlier one."""
        self._tick_number += 1
        number, incarnation = self._tick_number, self.incarnation
        self.simulation.event_queue.schedule_after(
            seconds, lambda: self._start_tick(number, incarnation)
        )

    def _start_tick(self, number: int, incarnation: int) -> None:
        current = self.alive and self.incarnation == incarnation and self._tick_number == number
        if not current or self._ticking:
            return
        self._ticking, self._tick_requested = True, False
        self.run_task("tick", self._tick)

    def _tick(self) -> None:
        seconds = 1.0  # after an error
        try:
            hints_s = None if self.receiver is None else self.receiver.tick()
            seconds = self.observer.tick()
            if self.watch is not None:
                seconds = min(seconds, self.watch.tick())
            if hints_s is not None:
                seconds = min(seconds, hints_s)
        finally:
            self._ticking = False
            self._schedule_tick(0.05 if self._tick_requested else max(seconds, 0.05))


class SimulatedApi(ServiceProcess):
    """The API process: runs users' requests, which are lost when it is killed."""
