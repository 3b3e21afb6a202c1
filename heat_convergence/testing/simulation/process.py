"""A process of the simulation: its incarnations, its tasks and its fault points.

Used by the fault points and by the processes themselves. Inside a process any number of tasks may
be in progress; one has control at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Action
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.testing.simulation.exception_points import (
    ExceptionPoints,
    UnexpectedFault,
)
from heat_convergence.testing.simulation.messaging.bus import SimulatedMessage
from heat_convergence.testing.simulation.simulation_context import RunningTask, SimulationContext
from heat_convergence.testing.simulation.tasks import GreenletTask, ProcessTerminated


@dataclass
class SimulatedProcess:
    """A process: its incarnations, its tasks and its fault points."""

    simulation: SimulationContext
    name: str
    topic: str = ""
    incarnation: int = 0
    alive: bool = False
    stalled_until_s: float = 0.0
    running_tasks: list[RunningTask] = field(default_factory=list)
    crashed: bool = False  # killed at the end of the current task

    # -- for the environment and the event queue

    def start(self) -> None:
        """Start the next incarnation."""
        self.incarnation += 1
        self.alive, self.crashed = True, False
        self.stalled_until_s = 0.0
        self.simulation.log_event(f"{self.name} starts")
        self.start_daemon()

    def start_daemon(self) -> None:
        """Build the engine or observer of a new incarnation."""

    def handle_message(self, message: SimulatedMessage) -> None:
        """Start a task that handles the message."""

    def kill(self) -> None:
        """End all tasks at once and schedule the next incarnation."""
        self.alive = False
        self.simulation.log_event(f"{self.name} is killed")
        for running in self.running_tasks:
            if running.task is not None:
                running.task.kill()
        self.running_tasks.clear()
        self.simulation.event_queue.schedule_after(
            self.simulation.faults.random_between(f"{self.name}/down", 1.0, 8.0), self.start
        )

    def run_task(
        self, label: str, work: Callable[[], None], lease_owner: str | None = None
    ) -> None:
        """Start a task, at which the process may stall first.

        Args:
            label: the name of the task in the log.
            work: the function that the task runs.
            lease_owner: the worker id, if the task may claim leases.
        """
        self.pass_task_point()
        self.start_task(label, work, lease_owner)

    def pass_task_point(self) -> None:
        """Stall for a while, if the fault at this point is that."""
        if self.next_fault("task") == "stall":
            stall_s = self.simulation.faults.random_between(f"{self.name}/stall", 5.0, 30.0)
            self.stalled_until_s = self.elapsed_s + stall_s
            self.simulation.log_event(f"{self.name} stalls for {stall_s:.1f} s")

    @property
    def is_stalled(self) -> bool:
        """Return whether no task makes progress now."""
        return self.stalled_until_s > self.elapsed_s

    def start_task(self, label: str, work: Callable[[], None], lease_owner: str | None) -> None:
        """Start a task; log the errors that a daemon's outermost loop would log."""

        def guarded() -> None:
            try:
                work()
            except errors.Error as error:
                if error.retry is errors.Retry.NEVER:
                    raise
                self.simulation.log_event(f"{self.name} aborts {label}: {error}")
            except UnexpectedFault as error:
                # The boundary of the daemon's loop, of a message or of a request.
                self.simulation.log_event(f"{self.name} aborts {label}: {error!r}")

        running = RunningTask(lease_owner, task=GreenletTask(guarded, f"{self.name} {label}"))
        self.running_tasks.append(running)
        self.resume(running)

    def resume(self, running: RunningTask) -> None:
        """Run a task to its next pause, once the process is not stalled."""
        task, events = running.task, self.simulation.event_queue
        if task is None or task.done:
            return
        if self.is_stalled:
            events.schedule_at(self.stalled_until_s, lambda: self.resume(running))
            return
        self.simulation.running_tasks.append(running)
        pause_s = task.resume()
        self.simulation.running_tasks.pop()
        if task.done and running in self.running_tasks:
            self.running_tasks.remove(running)
        if task.error is not None:
            self.simulation.log_event(f"{self.name} fails: {task.error!r}")
            raise task.error
        if pause_s is not None:
            events.schedule_after(pause_s, lambda: self.resume(running))
        if self.crashed and self.alive:
            self.kill()

    # -- for the fault points

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start of the simulation."""
        return self.simulation.event_queue.elapsed_s

    @property
    def current_task(self) -> RunningTask:
        """The task that runs now."""
        return self.simulation.current_task

    def next_fault(self, point_type: str, context: str = "") -> str | None:
        """Return the fault at the next point of this type, and log it."""
        fault = self.simulation.faults.next_fault(
            f"{self.name}.{self.incarnation}", point_type, context
        )
        if fault is not None:
            self.simulation.log_event(f"{self.name} {point_type} {context}: {fault}")
        return fault

    def exception_points(self) -> ExceptionPoints:
        """Return the points at which this process raises an unexpected exception."""
        return ExceptionPoints(self._next_task_fault)

    def _next_task_fault(self, point_type: str, context: str) -> str | None:
        """Return the fault at a point inside a task; a process that starts has none."""
        return self.next_fault(point_type, context) if self.simulation.running_tasks else None

    def crash(self) -> NoReturn:
        """Kill this process from within its current task."""
        self.crashed = True
        raise ProcessTerminated

    def on_commit(self) -> None:
        """Check the invariants after a commit of the current task."""
        self.simulation.invariant_checker.on_commit(self.current_task)

    def on_call(self, action: Action, view: ResourceContext) -> None:
        """Check the invariants before a call of the current task."""
        self.simulation.log_event(
            f"{self.name} calls {action.lower()} {view.name} {view.physical_id or ''}"
        )
        self.simulation.invariant_checker.on_call(action, view, self.current_task)

    def pause_randomly(self, low_s: float, high_s: float) -> None:
        """Pause the current task; other tasks may run meanwhile."""
        task = self.current_task.task
        if task is not None:
            task.pause(self.simulation.faults.random_between(f"{self.name}/rest", low_s, high_s))

    def wait(self, seconds: float) -> None:
        """Pause the current task for a fixed time."""
        self.pause_randomly(seconds, seconds)
