"""The simulated environment: real engines and observers around simulated services.

Connects store, bus, clock, cloud, processes and users, runs one event after the other
and has the rules checked.  Used by the scenario runner and the scenario interpreter.
The same configuration, requests and faults give the same history, including all ids.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from heat_convergence.common import errors
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import SUPERSEDED_PREFIX
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.engine.nested_jobs import NESTED_STACK_NEVER_CREATED
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.stacks.nested_observation import SUPERSEDED_REASON
from heat_convergence.testing.simulation.bus import SimulatedMessage
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.event_queue import EventQueue
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.fault_points import FaultInjectingStore
from heat_convergence.testing.simulation.invariant_checker import InvariantChecker
from heat_convergence.testing.simulation.processes import (
    RunningTask,
    SimulatedApi,
    SimulatedEngine,
    SimulatedObserver,
    SimulatedProcess,
)
from heat_convergence.testing.simulation.resource_types import SIGNAL_COUNT, SignalledType
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.simulated_users import (
    RequestServices,
    SimulatedUsers,
)
from heat_convergence.testing.simulation.workload.user_requests import (
    CREATING_OPERATIONS,
    UserRequest,
    expected_errors,
)

_AT_GOAL = ("CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT")


@dataclass(frozen=True, slots=True)
class EnvironmentConfig:
    """The size of the environment.

    Attributes:
        seed: the source of all random choices; 0 for none, when everything takes the
            shortest time.
        group_size: how many calls an engine records at once.
        max_work_s: the longest time the cloud takes for a call.
    """

    seed: int = 0
    engines: int = 2
    observers: int = 2
    group_size: int = 1
    max_work_s: float = 5.0
    settings: ConvergenceSettings = field(
        default_factory=lambda: ConvergenceSettings(action_timeout_s=600.0)
    )


class InvariantBroken(Exception):
    """A rule was violated; ends the simulation."""

    def __init__(self, violation: Violation, log: list[str]) -> None:
        super().__init__(str(violation))
        self.violation = violation
        self.log = log


class SimulatedEnvironment:
    """One simulation, until ``InvariantBroken`` or its user ends it."""

    def __init__(self, config: EnvironmentConfig, faults: FaultInjector, store: Store) -> None:
        self.config = config
        self.settings = config.settings
        self.group_size = config.group_size
        self.faults = faults
        self.event_queue = EventQueue()
        self.ids = IdGenerator(self.event_queue.now, random.Random(config.seed))
        self.cloud = SimulatedCloud(lambda: self.event_queue.elapsed_s)
        self.store = store
        self.users = SimulatedUsers()
        self.occurrences: Counter[str] = Counter()
        self.expected_failures: dict[str, list[str]] = {}
        self.invariant_checker = InvariantChecker(
            store,
            self.cloud,
            self.event_queue.now,
            self.occurrences,
            self.users,
            self.expect_failure,
        )
        self.log: list[str] = []
        self.refused_requests: list[str] = []
        self.step_count = 0
        self.processes_to_kill: list[SimulatedProcess] = []
        self.work_durations: dict[tuple[str, str], float] = {}
        self._errors: Counter[str] = Counter()
        self._newest: dict[str, int] = {}  # topic → sequence number of the last delivered message
        self._current: list[tuple[SimulatedProcess, RunningTask]] = []
        self.processes: list[SimulatedProcess] = [
            *(SimulatedEngine(self, f"engine-{n + 1}", "engine") for n in range(config.engines)),
            *(
                SimulatedObserver(self, f"observer-{n + 1}", "observer")
                for n in range(config.observers)
            ),
        ]
        self.api = SimulatedApi(self, "api-1")
        for process in (*self.processes, self.api):
            process.start()

    # -- running

    def run_next_event(self) -> bool:
        """Run the next event; return False if there is none."""
        if self.event_queue.next_event_s() is None:
            return False
        self.event_queue.run_next()
        self.step_count += 1
        self.raise_violation()
        return True

    def run_until(self, at_s: float) -> None:
        """Run all events up to a time in seconds."""
        while (next_s := self.event_queue.next_event_s()) is not None and next_s <= at_s:
            self.run_next_event()
        self.event_queue.advance_to(at_s)

    def raise_violation(self) -> None:
        """Raise ``InvariantBroken`` for the first violation, if there is one."""
        if self.invariant_checker.violations:
            raise InvariantBroken(self.invariant_checker.violations[0], self.log)

    def close(self) -> None:
        """Stop all processes and end their tasks."""
        for process in (*self.processes, self.api):
            process.alive = False
            for running in process.running_tasks:
                if running.task is not None:
                    running.task.kill()

    # -- for users

    def submit_request(self, request: UserRequest) -> None:
        """Start a user's request at the API; it is lost if the API is not running."""
        self.occurrences[f"user {request.operation}"] += 1
        self.log_event(f"user: {str(request).replace(chr(10), ';')}")
        self._start_request(request)

    def _start_request(self, request: UserRequest) -> None:
        if self.api.alive:
            self.api.run_task(request.operation, lambda: self._perform(request))

    def _perform(self, request: UserRequest) -> None:
        services = RequestServices(
            store=FaultInjectingStore(self.store, self.api),
            bus=self.api.bus(),
            context=TraversalContext(self.event_queue.now(), self.ids, self.settings),
            wait=self.api.wait,
            registry=self.api.registry(),
        )
        creates = request.operation in CREATING_OPERATIONS
        stack_id = self.ids() if creates else self.find_stack_id(request.stack)
        if request.operation == "cancel_without_rollback":
            self.expect_failure(stack_id, "a user cancelled it")
        if request.operation == "abandon":
            self.current_task[1].abandoned_stack_id = stack_id
        if request.operation == "adopt":
            self._prepare_adoption(request.stack, stack_id)
        error_name = self.users.perform(request, stack_id, services)
        if error_name is not None:
            self.log_event(f"refused: {error_name}")
            self.refused_requests.append(error_name)
            if error_name not in expected_errors(request):
                self.invariant_checker.on_refusal(stack_id, error_name)

    def _prepare_adoption(self, name: str, stack_id: str) -> None:
        """Note which objects of an unfinished stack may be missing or differ."""
        abandoned = self.users.abandoned_stacks.get(name)
        if abandoned is None:
            return
        export = abandoned.stack_export
        at_goal = export["status"] == "COMPLETE" and export["action"] in _AT_GOAL
        adopted_ids = {}
        for path, entry in template_notation.exported_resources(export):
            if entry["type"] in template_notation.TYPE_NAMES.values():
                adopted_ids[path] = entry["resource_id"]
            elif entry["resource_id"] is None:  # nor has it a nested stack
                self.expect_failure(stack_id, f"{path} was never created")
        for path in template_notation.unfinished_nested_stacks(export):
            self.expect_failure(stack_id, f"not all of {path} was created")
        template = template_notation.parse_template(abandoned.template)
        for path in sorted({*nested_templates.resource_paths(template), *adopted_ids}):
            adopted = self.cloud.get(adopted_ids.get(path))
            if adopted is not None and not at_goal:
                self.cloud.mark_state_unknown(adopted)
            if adopted is None or adopted.in_error or self.cloud.is_deleting(adopted):
                self.expect_failure(stack_id, f"{path} did not exist at its adoption")
            elif self.cloud.is_busy(adopted):
                self.expect_failure(stack_id, f"{path} was not ready at its adoption")

    def signal_periodically(self, every_s: float = 5.0) -> None:
        """Signal, from now on, every resource that waits for a signal."""
        for state in self.invariant_checker.stack_states.values():
            for row in state.resources if state.stack.deleted_at is None else ():
                if row.type == SignalledType.name and not row.data.get(SIGNAL_COUNT):
                    self._start_request(UserRequest("signal", state.stack.name, resource=row.name))
        self.event_queue.schedule_after(every_s, self.signal_periodically)

    def clear_breakpoints_periodically(self, every_s: float = 5.0) -> None:
        """Clear, from now on, every breakpoint at which a resource waits."""
        for state in list(self.invariant_checker.stack_states.values()):
            for row in state.resources if state.stack.deleted_at is None else ():
                if row.job_state is JobState.AT_BREAKPOINT:
                    root, *parents = self.stack_path(state.stack).split(".")
                    path = ".".join([*parents, row.name])
                    self._start_request(UserRequest("clear_hook", root, resource=path))
        self.event_queue.schedule_after(every_s, self.clear_breakpoints_periodically)

    def stack_path(self, stack: Stack) -> str:
        """Return ``red`` for a root stack, ``red.n`` for the nested stack of its resource n."""
        parent = self.invariant_checker.stack_states.get(stack.owner_id or "")
        if parent is None:
            return stack.name
        return f"{self.stack_path(parent.stack)}.{stack.parent_resource}"

    def find_stack_id(self, name: str) -> str:
        """Return the id of the stack with a name or path: the one not deleted, else the newest.

        ``nobody``, which is the id of no stack, if there is none.
        """
        found = [
            (state.stack.deleted_at is None, stack_id)
            for stack_id, state in self.invariant_checker.stack_states.items()
            if name in (state.stack.name, self.stack_path(state.stack))
        ]
        return max(found, default=(False, "nobody"))[1]

    # -- for processes

    @property
    def current_task(self) -> tuple[SimulatedProcess, RunningTask]:
        """The process and the task that run now."""
        return self._current[-1]

    def resume_task(self, process: SimulatedProcess, running: RunningTask) -> None:
        """Run a task to its next pause, once its process is not stalled."""
        task = running.task
        if task is None or task.done:
            return
        if process.stalled_until_s > self.event_queue.elapsed_s:
            self.event_queue.schedule_at(
                process.stalled_until_s, lambda: self.resume_task(process, running)
            )
            return
        self._current.append((process, running))
        pause_s = task.resume()
        self._current.pop()
        if task.done and running in process.running_tasks:
            process.running_tasks.remove(running)
        if task.error is not None:
            self.log_event(f"{process.name} fails: {task.error!r}")
            raise task.error
        if pause_s is not None:
            self.event_queue.schedule_after(pause_s, lambda: self.resume_task(process, running))
        while self.processes_to_kill:
            crashed = self.processes_to_kill.pop()
            if crashed.alive:
                crashed.kill()

    def deliver(self, message: SimulatedMessage) -> None:
        """Hand a message to a running process of its topic, as soon as there is one."""
        newest = self._newest.get(message.topic, 0)
        if message.sequence_number < newest:
            self.occurrences["message overtaken"] += 1
        self._newest[message.topic] = max(message.sequence_number, newest)
        alive = [p for p in self.processes if p.topic == message.topic and p.alive]
        if not alive:
            self.event_queue.schedule_after(0.5, lambda: self.deliver(message))
            return
        drawn = self.faults.random_between("world/taker", 0, len(alive) - 0.001)
        chosen = alive[int(drawn + 0.5) % len(alive)]
        self.log_event(f"{chosen.name} receives {message.method} v{message.version}")
        chosen.handle_message(message)

    def work_duration_s(self, action: Action, name: str) -> float:
        """Return how long the cloud takes for an action on a resource."""
        fixed = self.work_durations.get((action.lower(), name))
        if fixed is not None:
            return fixed
        return self.faults.random_between(f"cloud/{action}/{name}", 0.0, self.config.max_work_s)

    def log_event(self, text: str) -> None:
        """Append a line with the simulated time to the log."""
        self.log.append(f"{self.event_queue.elapsed_s:9.3f} {text}")

    # -- expected failures

    def expect_failure(self, stack_id: str, reason: str) -> None:
        """Note a reason for which the stack may fail."""
        self.expected_failures.setdefault(stack_id, []).append(reason)

    def record_failed_call(self, view: ResourceContext, error: errors.Error) -> None:
        """Note a call that failed permanently, or as often as retries are allowed."""
        if isinstance(error, errors.ResourceGone) and view.physical_id in self.cloud.objects:
            return  # an external deletion is noted elsewhere; any other must not explain a failure
        self._errors[view.resource_id] += 1
        final = error.retry is errors.Retry.NEVER
        if final or self._errors[view.resource_id] >= self.settings.retry_limit:
            self.expect_failure(view.stack_id, f"{view.name}: {type(error).__name__}")

    # -- states

    def any_stack_in_progress(self) -> bool:
        """Return whether the status of any stack is IN_PROGRESS."""
        return any(
            state.stack.in_progress for state in self.invariant_checker.stack_states.values()
        )

    def settle(self, limit_s: float) -> None:
        """Run events until no stack and no task is in progress.

        Raises:
            InvariantBroken: it takes longer than ``limit_s`` (RULE 9).
        """
        until_s = self.event_queue.elapsed_s + limit_s
        while self.any_stack_in_progress() or any(
            p.running_tasks for p in (*self.processes, self.api)
        ):
            if self.event_queue.elapsed_s > until_s:
                self.invariant_checker.report_violation(
                    9, f"not settled after {limit_s} s: {self.stack_statuses()}"
                )
                self.raise_violation()
            self.run_next_event()

    def stack_statuses(self) -> dict[str, str]:
        """Return ``ACTION_STATUS`` by the stack's name."""
        return {
            state.stack.name: f"{state.stack.action}_{state.stack.status}"
            for state in self.invariant_checker.stack_states.values()
        }

    def _is_failure_expected(self, stack: Stack) -> bool:
        """Return whether a failure of the stack has a known reason.

        The reasons: a failure noted for its tree or its former tree, an owner that
        cancelled it, a newer request that superseded it, or a breakpoint that nobody
        cleared in time.
        """
        reason = stack.status_reason
        cancelled = stack.owner_id is not None and "cancelled" in reason
        superseded = reason.startswith(SUPERSEDED_PREFIX) or SUPERSEDED_REASON in reason
        if cancelled or superseded or NESTED_STACK_NEVER_CREATED in reason:
            return True
        trees = [stack.tree_id]
        while trees[-1] in self.invariant_checker.promoted_from:
            trees.append(self.invariant_checker.promoted_from[trees[-1]])
        return any(
            self.expected_failures.get(state.stack.id) or any(row.hook for row in state.resources)
            for state in self.invariant_checker.stack_states.values()
            if state.stack.tree_id in trees
        )

    def check_failures_expected(self) -> None:
        """Report failed stacks without a known reason (RULE 9)."""
        for _stack_id, state in sorted(self.invariant_checker.stack_states.items()):
            stack = state.stack
            if stack.status is Status.FAILED and not self._is_failure_expected(stack):
                self.invariant_checker.report_violation(
                    9,
                    f"stack {stack.name} is {stack.action} FAILED for no reason:"
                    f" {stack.status_reason}",
                )
        self.raise_violation()
