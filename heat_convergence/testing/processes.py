"""The daemons of the simulated world: real engines and observers, mortal.

Used by the world.  A process has lives; each has a new identity and nothing of the
last one's memory.  What runs inside it runs as tasks, any number at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from heat_convergence.common import errors
from heat_convergence.convergence.model import Action
from heat_convergence.engine.engine import Engine
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.plugin import View
from heat_convergence.resources.registry import Registry
from heat_convergence.testing import fleets, trees
from heat_convergence.testing.bus import Message, SimulatedBus
from heat_convergence.testing.gates import CallGate, GatedStore
from heat_convergence.testing.pool import OneByOnePool
from heat_convergence.testing.tasks import Crash, Task
from heat_convergence.testing.types import Bell, Rock, SimulatedType
from heat_convergence.testing.watch import Work

if TYPE_CHECKING:
    from heat_convergence.testing.world import World


KINDS = (SimulatedType, Rock, Bell)


@dataclass(slots=True)
class Running(Work):
    """A task and what it holds."""

    task: Task | None = None
    pending: str | None = None  # the fault that strikes after the current call


@dataclass
class Process:
    """What all processes have in common."""

    world: World
    name: str
    topic: str = ""
    life: int = 0
    alive: bool = False
    stalled_until_s: float = 0.0
    running: list[Running] = field(default_factory=list)

    # -- for the world

    def start(self) -> None:
        self.life += 1
        self.alive = True
        self.stalled_until_s = 0.0
        self.world.tell(f"{self.name} starts")
        self.boot()

    def boot(self) -> None:
        """Builds the program anew."""

    def take(self, message: Message) -> None:
        """Works on a message."""

    def die(self) -> None:
        """Everything it was doing ends where it stands."""
        self.alive = False
        self.world.tell(f"{self.name} dies")
        for work in self.running:
            if work.task is not None:
                work.task.kill()
        self.running.clear()
        self.world.agenda.after(self.world.faults.vary(f"{self.name}/down", 1.0, 8.0), self.start)

    def run(self, label: str, work: Callable[[], None], engine: str | None = None) -> None:
        """Starts a piece of work; what a daemon's outermost loop survives is logged."""

        def guarded() -> None:
            try:
                work()
            except errors.Error as error:
                if error.retry is errors.Retry.NEVER:
                    raise
                self.world.tell(f"{self.name} gives up {label}: {error}")

        running = Running(engine, task=Task(guarded, f"{self.name} {label}"))
        self.running.append(running)
        if self.strike("task") == "stall":
            stall_s = self.world.faults.vary(f"{self.name}/stall", 5.0, 30.0)
            self.stalled_until_s = self.at_s + stall_s
            self.world.tell(f"{self.name} stalls for {stall_s:.1f} s")
        self.world.go_on(self, running)

    # -- for the gates

    @property
    def at_s(self) -> float:
        return self.world.agenda.at_s

    @property
    def work_now(self) -> Running:
        return self.world.current[1]

    def strike(self, kind: str, about: str = "") -> str | None:
        fault = self.world.faults.strike(f"{self.name}.{self.life}", kind, about)
        if fault is not None:
            self.world.tell(f"{self.name} {kind} {about}: {fault}")
        return fault

    def crash(self) -> NoReturn:
        self.world.doomed.append(self)
        raise Crash

    def committed(self) -> None:
        self.world.watch.committed(self.work_now)

    def calling(self, verb: Action, view: View) -> None:
        self.world.tell(f"{self.name} calls {verb.lower()} {view.name} {view.physical_id or ''}")
        self.world.watch.calling(verb, view, self.work_now)

    def rest(self, low_s: float, high_s: float) -> None:
        task = self.work_now.task
        if task is not None:
            task.pause(self.world.faults.vary(f"{self.name}/rest", low_s, high_s))

    def wait(self, seconds: float) -> None:
        self.rest(seconds, seconds)

    def registry(self) -> Registry:
        gate = CallGate(self)
        return Registry.of(*(kind(self.world.cloud, gate) for kind in KINDS), *fleets.REAL)

    def bus(self) -> SimulatedBus:
        world = self.world
        return SimulatedBus(f"{self.name}.{self.life}", world.agenda, world.faults, world.deliver)


class EngineProcess(Process):
    """An engine, and the timer that keeps its leases."""

    def boot(self) -> None:
        world, life = self.world, self.life
        self.owner = world.ids()
        self.engine = Engine(
            store=GatedStore(world.store, self),  # type: ignore[arg-type]
            bus=self.bus(),
            registry=self.registry(),
            clock=world.agenda.now,
            ids=world.ids,
            settings=world.settings,
            pool=OneByOnePool(world.group_size),
            owner=self.owner,
            wait=self.wait,
        )
        world.agenda.after(world.settings.lease_s / 3, lambda: self._renew(life))

    def take(self, message: Message) -> None:
        self.run(
            f"converge {message.version}",
            lambda: self.engine.converge(
                message.stack_id, message.version, message.resource_ids
            ),
            self.owner,
        )

    def _renew(self, life: int) -> None:
        if self.alive and self.life == life:
            self.run("renew", self.engine.renew, self.owner)
            self.world.agenda.after(self.world.settings.lease_s / 3, lambda: self._renew(life))


class ObserverProcess(Process):
    """An observer, and the timer that ticks when it says so."""

    def boot(self) -> None:
        world = self.world
        self.observer = Observer(
            store=GatedStore(world.store, self),  # type: ignore[arg-type]
            bus=self.bus(),
            registry=self.registry(),
            clock=world.agenda.now,
            ids=world.ids,
            settings=world.settings,
            rebuild=trees.rebuild,
            wait=self.wait,
            wake=self._wake,
        )
        self._ticking = False
        self._turn = 0
        self._schedule(0.1)

    def take(self, message: Message) -> None:
        self.run(
            f"observe {message.version}",
            lambda: self.observer.observe(
                message.stack_id, message.version, message.resource_ids
            ),
        )

    def _wake(self) -> None:
        if not self._ticking:
            self._schedule(0.0)

    def _schedule(self, seconds: float) -> None:
        self._turn += 1
        turn, life = self._turn, self.life
        self.world.agenda.after(seconds, lambda: self._tick(turn, life))

    def _tick(self, turn: int, life: int) -> None:
        if not self.alive or self.life != life or self._turn != turn or self._ticking:
            return
        self._ticking = True
        self.run("tick", self._look)

    def _look(self) -> None:
        seconds = 1.0  # after an error
        try:
            seconds = self.observer.tick()
        finally:
            self._ticking = False
            self._schedule(max(seconds, 0.05))


class ApiProcess(Process):
    """The API: runs users' requests, and forgets them when it dies."""
