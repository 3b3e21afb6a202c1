"""The processes of the simulation: real engines and observers that can be killed.

Used by the simulated environment.  A process that was killed starts again as a new
incarnation with a new identity and without memory of the last one.  Inside a process
any number of tasks may be in progress.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.engine.engine import Engine
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.testing.simulation.bus import SimulatedBus, SimulatedMessage
from heat_convergence.testing.simulation.fault_points import (
    FaultInjectingCalls,
    FaultInjectingStore,
)
from heat_convergence.testing.simulation.invariant_checker import TaskClaims
from heat_convergence.testing.simulation.resource_types import (
    ImmutableType,
    SignalledType,
    SimulatedType,
)
from heat_convergence.testing.simulation.sequential_pool import SequentialPool
from heat_convergence.testing.simulation.tasks import GreenletTask, ProcessTerminated
from heat_convergence.testing.simulation.workload import nested_templates, scaling_groups

if TYPE_CHECKING:
    from heat_convergence.testing.simulation.environment import SimulatedEnvironment


SIMULATED_TYPES = (SimulatedType, ImmutableType, SignalledType)


@dataclass(slots=True)
class RunningTask(TaskClaims):
    """A task of a process, with the leases it holds."""

    task: GreenletTask | None = None
    pending_fault: str | None = None  # occurs after the effect of the current call


@dataclass
class SimulatedProcess:
    """A process: its incarnations, its tasks and its fault points."""

    environment: SimulatedEnvironment
    name: str
    topic: str = ""
    incarnation: int = 0
    alive: bool = False
    stalled_until_s: float = 0.0
    running_tasks: list[RunningTask] = field(default_factory=list)

    # -- for the environment

    def start(self) -> None:
        """Start the next incarnation."""
        self.incarnation += 1
        self.alive = True
        self.stalled_until_s = 0.0
        self.environment.log_event(f"{self.name} starts")
        self.start_daemon()

    def start_daemon(self) -> None:
        """Build the engine or observer of a new incarnation."""

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that handles the message."""

    def kill(self) -> None:
        """End all tasks at once and schedule the next incarnation."""
        self.alive = False
        self.environment.log_event(f"{self.name} is killed")
        for running in self.running_tasks:
            if running.task is not None:
                running.task.kill()
        self.running_tasks.clear()
        self.environment.event_queue.schedule_after(
            self.environment.faults.random_between(f"{self.name}/down", 1.0, 8.0), self.start
        )

    def run_task(
        self, label: str, work: Callable[[], None], lease_owner: str | None = None
    ) -> None:
        """Start a task; log the errors that a daemon's outermost loop would log.

        Args:
            label: the name of the task in the log.
            work: the function that the task runs.
            lease_owner: the worker id, if the task may claim leases.
        """

        def guarded() -> None:
            try:
                work()
            except errors.Error as error:
                if error.retry is errors.Retry.NEVER:
                    raise
                self.environment.log_event(f"{self.name} aborts {label}: {error}")

        running = RunningTask(lease_owner, task=GreenletTask(guarded, f"{self.name} {label}"))
        self.running_tasks.append(running)
        if self.next_fault("task") == "stall":
            stall_s = self.environment.faults.random_between(f"{self.name}/stall", 5.0, 30.0)
            self.stalled_until_s = self.elapsed_s + stall_s
            self.environment.log_event(f"{self.name} stalls for {stall_s:.1f} s")
        self.environment.resume_task(self, running)

    # -- for the fault points

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the simulation."""
        return self.environment.event_queue.elapsed_s

    @property
    def current_task(self) -> RunningTask:
        """The task that runs now."""
        return self.environment.current_task[1]

    def next_fault(self, point_type: str, context: str = "") -> str | None:
        """Return the fault at the next point of this type, and log it."""
        fault = self.environment.faults.next_fault(
            f"{self.name}.{self.incarnation}", point_type, context
        )
        if fault is not None:
            self.environment.log_event(f"{self.name} {point_type} {context}: {fault}")
        return fault

    def crash(self) -> NoReturn:
        """Kill this process from within its current task."""
        self.environment.processes_to_kill.append(self)
        raise ProcessTerminated

    def on_commit(self) -> None:
        """Check the invariants after a commit of the current task."""
        self.environment.invariant_checker.on_commit(self.current_task)

    def on_call(self, action: Action, view: ResourceContext) -> None:
        """Check the invariants before a call of the current task."""
        self.environment.log_event(
            f"{self.name} calls {action.lower()} {view.name} {view.physical_id or ''}"
        )
        self.environment.invariant_checker.on_call(action, view, self.current_task)

    def pause_randomly(self, low_s: float, high_s: float) -> None:
        """Pause the current task; other tasks may run meanwhile."""
        task = self.current_task.task
        if task is not None:
            task.pause(self.environment.faults.random_between(f"{self.name}/rest", low_s, high_s))

    def wait(self, seconds: float) -> None:
        """Pause the current task for a fixed time."""
        self.pause_randomly(seconds, seconds)

    def registry(self) -> ResourceTypeRegistry:
        """Return the resource types, with the fault points of this process."""
        calls = FaultInjectingCalls(self)
        return ResourceTypeRegistry.from_types(
            *(type_class(self.environment.cloud, calls) for type_class in SIMULATED_TYPES),
            *scaling_groups.SCALING_RESOURCE_TYPES,
        )

    def bus(self) -> SimulatedBus:
        """Return the bus with this process as the sender."""
        environment = self.environment
        return SimulatedBus(
            f"{self.name}.{self.incarnation}",
            environment.event_queue,
            environment.faults,
            environment.deliver,
        )

    def daemon_services(self) -> DaemonServices:
        """Return the services of an engine or observer in this process."""
        environment = self.environment
        return DaemonServices(
            store=FaultInjectingStore(environment.store, self),
            bus=self.bus(),
            registry=self.registry(),
            clock=environment.event_queue.now,
            ids=environment.ids,
            settings=environment.settings,
            wait=self.wait,
        )


class SimulatedEngine(SimulatedProcess):
    """An engine process: the engine and the timer that renews its leases."""

    def start_daemon(self) -> None:
        """Build the engine and schedule the renewal of its leases."""
        environment, incarnation = self.environment, self.incarnation
        self.worker_id = environment.ids()
        self.engine = Engine(
            self.daemon_services(),
            pool=SequentialPool(environment.group_size),
            worker_id=self.worker_id,
        )
        environment.event_queue.schedule_after(
            environment.settings.lease_s / 3, lambda: self._renew(incarnation)
        )

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that performs the jobs of the message."""
        self.run_task(
            f"converge {message.version}",
            lambda: self.engine.converge(message.stack_id, message.version, message.resource_ids),
            self.worker_id,
        )

    def _renew(self, incarnation: int) -> None:
        if self.alive and self.incarnation == incarnation:
            self.run_task("renew", self.engine.renew_leases, self.worker_id)
            self.environment.event_queue.schedule_after(
                self.environment.settings.lease_s / 3, lambda: self._renew(incarnation)
            )


class SimulatedObserver(SimulatedProcess):
    """An observer process: the observer and the timer of its next tick."""

    def start_daemon(self) -> None:
        """Build the observer and schedule its first tick."""
        self.observer = Observer(
            self.daemon_services(),
            rebuild=nested_templates.rebuild_desired,
            request_tick=self._request_tick,
        )
        self._ticking = False
        self._tick_number = 0
        self._schedule_tick(0.1)

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that polls the resources of the message."""
        self.run_task(
            f"observe {message.version}",
            lambda: self.observer.observe(message.stack_id, message.version, message.resource_ids),
        )

    def _request_tick(self) -> None:
        if not self._ticking:
            self._schedule_tick(0.0)

    def _schedule_tick(self, seconds: float) -> None:
        """Schedule the next tick; a later call replaces an earlier one."""
        self._tick_number += 1
        number, incarnation = self._tick_number, self.incarnation
        self.environment.event_queue.schedule_after(
            seconds, lambda: self._start_tick(number, incarnation)
        )

    def _start_tick(self, number: int, incarnation: int) -> None:
        current = self.alive and self.incarnation == incarnation and self._tick_number == number
        if not current or self._ticking:
            return
        self._ticking = True
        self.run_task("tick", self._tick)

    def _tick(self) -> None:
        seconds = 1.0  # after an error
        try:
            seconds = self.observer.tick()
        finally:
            self._ticking = False
            self._schedule_tick(max(seconds, 0.05))


class SimulatedApi(SimulatedProcess):
    """The API process: runs users' requests, which are lost when it is killed."""
