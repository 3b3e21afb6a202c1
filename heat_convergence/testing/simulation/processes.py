"""The daemons of the simulated world: real engines and observers, mortal.

Used by the world.  A process has lives; each has a new identity and nothing of the
last one's memory.  What runs inside it runs as tasks, any number at a time.
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
    """A task and what it holds."""

    task: GreenletTask | None = None
    pending_fault: str | None = None  # the fault that strikes after the current call


@dataclass
class SimulatedProcess:
    """What all processes have in common."""

    environment: SimulatedEnvironment
    name: str
    topic: str = ""
    incarnation: int = 0
    alive: bool = False
    stalled_until_s: float = 0.0
    running_tasks: list[RunningTask] = field(default_factory=list)

    # -- for the world

    def start(self) -> None:
        self.incarnation += 1
        self.alive = True
        self.stalled_until_s = 0.0
        self.environment.log_event(f"{self.name} starts")
        self.start_daemon()

    def start_daemon(self) -> None:
        """Builds the program anew."""

    def handle_message(self, message: SimulatedMessage) -> None:
        """Works on a message."""

    def kill(self) -> None:
        """Everything it was doing ends where it stands."""
        self.alive = False
        self.environment.log_event(f"{self.name} dies")
        for work in self.running_tasks:
            if work.task is not None:
                work.task.kill()
        self.running_tasks.clear()
        self.environment.event_queue.schedule_after(
            self.environment.faults.random_between(f"{self.name}/down", 1.0, 8.0), self.start
        )

    def run_task(self, label: str, work: Callable[[], None], engine: str | None = None) -> None:
        """Starts a piece of work; what a daemon's outermost loop survives is logged."""

        def guarded() -> None:
            try:
                work()
            except errors.Error as error:
                if error.retry is errors.Retry.NEVER:
                    raise
                self.environment.log_event(f"{self.name} gives up {label}: {error}")

        running = RunningTask(engine, task=GreenletTask(guarded, f"{self.name} {label}"))
        self.running_tasks.append(running)
        if self.next_fault("task") == "stall":
            stall_s = self.environment.faults.random_between(f"{self.name}/stall", 5.0, 30.0)
            self.stalled_until_s = self.elapsed_s + stall_s
            self.environment.log_event(f"{self.name} stalls for {stall_s:.1f} s")
        self.environment.resume_task(self, running)

    # -- for the gates

    @property
    def elapsed_s(self) -> float:
        return self.environment.event_queue.elapsed_s

    @property
    def current_task(self) -> RunningTask:
        return self.environment.current_task[1]

    def next_fault(self, point_type: str, context: str = "") -> str | None:
        fault = self.environment.faults.next_fault(
            f"{self.name}.{self.incarnation}", point_type, context
        )
        if fault is not None:
            self.environment.log_event(f"{self.name} {point_type} {context}: {fault}")
        return fault

    def crash(self) -> NoReturn:
        self.environment.processes_to_kill.append(self)
        raise ProcessTerminated

    def on_commit(self) -> None:
        self.environment.invariant_checker.on_commit(self.current_task)

    def on_call(self, verb: Action, view: ResourceContext) -> None:
        self.environment.log_event(
            f"{self.name} calls {verb.lower()} {view.name} {view.physical_id or ''}"
        )
        self.environment.invariant_checker.on_call(verb, view, self.current_task)

    def pause_randomly(self, low_s: float, high_s: float) -> None:
        task = self.current_task.task
        if task is not None:
            task.pause(self.environment.faults.random_between(f"{self.name}/rest", low_s, high_s))

    def wait(self, seconds: float) -> None:
        self.pause_randomly(seconds, seconds)

    def registry(self) -> ResourceTypeRegistry:
        gate = FaultInjectingCalls(self)
        return ResourceTypeRegistry.from_types(
            *(kind(self.environment.cloud, gate) for kind in SIMULATED_TYPES),
            *scaling_groups.SCALING_RESOURCE_TYPES,
        )

    def bus(self) -> SimulatedBus:
        world = self.environment
        return SimulatedBus(
            f"{self.name}.{self.incarnation}", world.event_queue, world.faults, world.deliver
        )


class SimulatedEngine(SimulatedProcess):
    """An engine, and the timer that keeps its leases."""

    def start_daemon(self) -> None:
        world, life = self.environment, self.incarnation
        self.owner = world.ids()
        self.engine = Engine(
            store=FaultInjectingStore(world.store, self),  # type: ignore[arg-type]
            bus=self.bus(),
            registry=self.registry(),
            clock=world.event_queue.now,
            ids=world.ids,
            settings=world.settings,
            pool=SequentialPool(world.group_size),
            worker_id=self.owner,
            wait=self.wait,
        )
        world.event_queue.schedule_after(world.settings.lease_s / 3, lambda: self._renew(life))

    def handle_message(self, message: SimulatedMessage) -> None:
        self.run_task(
            f"converge {message.version}",
            lambda: self.engine.converge(message.stack_id, message.version, message.resource_ids),
            self.owner,
        )

    def _renew(self, life: int) -> None:
        if self.alive and self.incarnation == life:
            self.run_task("renew", self.engine.renew_leases, self.owner)
            self.environment.event_queue.schedule_after(
                self.environment.settings.lease_s / 3, lambda: self._renew(life)
            )


class SimulatedObserver(SimulatedProcess):
    """An observer, and the timer that ticks when it says so."""

    def start_daemon(self) -> None:
        world = self.environment
        self.observer = Observer(
            store=FaultInjectingStore(world.store, self),  # type: ignore[arg-type]
            bus=self.bus(),
            registry=self.registry(),
            clock=world.event_queue.now,
            ids=world.ids,
            settings=world.settings,
            rebuild=nested_templates.rebuild_desired,
            wait=self.wait,
            request_tick=self._wake,
        )
        self._ticking = False
        self._turn = 0
        self._schedule(0.1)

    def handle_message(self, message: SimulatedMessage) -> None:
        self.run_task(
            f"observe {message.version}",
            lambda: self.observer.observe(message.stack_id, message.version, message.resource_ids),
        )

    def _wake(self) -> None:
        if not self._ticking:
            self._schedule(0.0)

    def _schedule(self, seconds: float) -> None:
        self._turn += 1
        turn, life = self._turn, self.incarnation
        self.environment.event_queue.schedule_after(seconds, lambda: self._tick(turn, life))

    def _tick(self, turn: int, life: int) -> None:
        if not self.alive or self.incarnation != life or self._turn != turn or self._ticking:
            return
        self._ticking = True
        self.run_task("tick", self._look)

    def _look(self) -> None:
        seconds = 1.0  # after an error
        try:
            seconds = self.observer.tick()
        finally:
            self._ticking = False
            self._schedule(max(seconds, 0.05))


class SimulatedApi(SimulatedProcess):
    """The API: runs users' requests, and forgets them when it dies."""
