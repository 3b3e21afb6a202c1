"""The simulated world: real engines and observers on a simulated everything else.

Wires store, bus, clock, cloud, processes and users, lets one thing happen after the
other and has the rules checked.  Used by the simulator and by scenarios.  The same
configuration, requests and faults give the same history, to the last identifier.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

from heat_convergence.common import errors
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.lifecycle.snapshot_completion import SUPERSEDED_PREFIX
from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.engine.nested_executor import NESTED_STACK_NEVER_CREATED
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
from heat_convergence.testing.simulation.workload.user_requests import (
    CREATING_OPERATIONS,
    SimulatedUsers,
    UserRequest,
    expected_errors,
)

_AT_GOAL = ("CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT")


@dataclass(frozen=True, slots=True)
class EnvironmentConfig:
    """How large the world is; ``group_size`` how many calls an engine records at
    once; ``seed`` 0: no chance at all, everything takes the least time."""

    seed: int = 0
    engines: int = 2
    observers: int = 2
    group_size: int = 1
    max_work_s: float = 5.0  # the longest that the cloud works on a thing
    settings: ConvergenceSettings = field(
        default_factory=lambda: ConvergenceSettings(action_timeout_s=600.0)
    )


class InvariantBroken(Exception):
    """A rule was broken, or code under test failed."""

    def __init__(self, violation: Violation, log: list[str]) -> None:
        super().__init__(str(violation))
        self.violation = violation
        self.log = log


class SimulatedEnvironment:
    """One world, from its beginning to where ``Broken`` ends it."""

    def __init__(self, shape: EnvironmentConfig, faults: FaultInjector, store: Store) -> None:
        self.config = shape
        self.settings = shape.settings
        self.group_size = shape.group_size
        self.faults = faults
        self.event_queue = EventQueue()
        self.ids = IdGenerator(self.event_queue.now, random.Random(shape.seed))
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
        self._newest: dict[str, int] = {}  # topic → number of the last message delivered
        self._current: list[tuple[SimulatedProcess, RunningTask]] = []
        self.processes: list[SimulatedProcess] = [
            *(SimulatedEngine(self, f"engine-{n + 1}", "engine") for n in range(shape.engines)),
            *(
                SimulatedObserver(self, f"observer-{n + 1}", "observer")
                for n in range(shape.observers)
            ),
        ]
        self.api = SimulatedApi(self, "api-1")
        for process in (*self.processes, self.api):
            process.start()

    # -- what happens

    def run_next_event(self) -> bool:
        """Lets the next thing happen; False when nothing is left."""
        if self.event_queue.next_event_s() is None:
            return False
        self.event_queue.run_next()
        self.step_count += 1
        self.raise_violation()
        return True

    def run_until(self, at_s: float) -> None:
        """Lets everything happen up to that time."""
        while (following := self.event_queue.next_event_s()) is not None and following <= at_s:
            self.run_next_event()
        self.event_queue.advance_to(at_s)

    def raise_violation(self) -> None:
        if self.invariant_checker.violations:
            raise InvariantBroken(self.invariant_checker.violations[0], self.log)

    def close(self) -> None:
        """Everything stops; the threads of unfinished work end."""
        for process in (*self.processes, self.api):
            process.alive = False
            for work in process.running_tasks:
                if work.task is not None:
                    work.task.kill()

    # -- for users

    def submit_request(self, act: UserRequest) -> None:
        """The user's request begins, at the API, now."""
        self.occurrences[f"user {act.operation}"] += 1
        self.log_event(f"user: {str(act).replace(chr(10), ';')}")
        if self.api.alive:
            self.api.run_task(act.operation, lambda: self._perform(act))

    def _perform(self, act: UserRequest) -> None:
        store = FaultInjectingStore(self.store, self.api)
        means = TraversalContext(self.event_queue.now(), self.ids, self.settings)
        stack_id = (
            self.ids() if act.operation in CREATING_OPERATIONS else self.find_stack_id(act.stack)
        )
        if act.operation == "stop":
            self.expect_failure(stack_id, "a user stopped it")
        if act.operation == "abandon":
            self.current_task[1].abandoned_stack_id = stack_id
        if act.operation == "adopt":
            self._about_to_adopt(act.stack, stack_id)
        refused = self.users.perform(
            act,
            stack_id,
            store=store,  # type: ignore[arg-type]
            bus=self.api.bus(),
            means=means,
            wait=self.api.wait,
            registry=self.api.registry(),
        )
        if refused is not None:
            self.log_event(f"refused: {refused}")
            self.refused_requests.append(refused)
            if refused not in expected_errors(act):
                self.invariant_checker.on_refusal(stack_id, refused)

    def _about_to_adopt(self, name: str, stack_id: str) -> None:
        """What was left in the middle of something may not be as its template says, or
        not be there at all."""
        left = self.users.abandoned_stacks.get(name)
        if left is None:
            return
        at_goal = (
            left.stack_export["status"] == "COMPLETE" and left.stack_export["action"] in _AT_GOAL
        )
        handed = {}
        for each, entry in template_notation.exported_resources(left.stack_export):
            if entry["type"] in template_notation.TYPE_NAMES.values():
                handed[each] = entry["resource_id"]
            elif entry["resource_id"] is None:  # nor is anything behind it
                self.expect_failure(stack_id, f"{each} was never made")
        for each in template_notation.unfinished_nested_stacks(left.stack_export):
            self.expect_failure(stack_id, f"not all of {each} was made")
        for each in sorted(
            {
                *nested_templates.resource_paths(template_notation.parse_template(left.template)),
                *handed,
            }
        ):
            thing = self.cloud.get(handed.get(each))
            if thing is not None and not at_goal:
                self.cloud.mark_state_unknown(thing)
            if thing is None or thing.in_error or self.cloud.is_deleting(thing):
                self.expect_failure(stack_id, f"{each} was not there to be adopted")
            elif self.cloud.is_busy(thing):
                self.expect_failure(stack_id, f"{each} was still coming up")

    def signal_periodically(self, every_s: float = 5.0) -> None:
        """From now on, somebody signals all that waits for it."""
        for snapshot in self.invariant_checker.stack_states.values():
            for row in snapshot.resources if snapshot.stack.deleted_at is None else ():
                if (
                    row.type == SignalledType.name
                    and not row.data.get(SIGNAL_COUNT)
                    and self.api.alive
                ):
                    act = UserRequest("signal", snapshot.stack.name, resource=row.name)
                    self.api.run_task(act.operation, lambda act=act: self._perform(act))
        self.event_queue.schedule_after(every_s, self.signal_periodically)

    def clear_breakpoints_periodically(self, every_s: float = 5.0) -> None:
        """From now on, somebody lets all that waits at a breakpoint go on."""
        for snapshot in list(self.invariant_checker.stack_states.values()):
            for row in snapshot.resources if snapshot.stack.deleted_at is None else ():
                if row.job_state is JobState.AT_BREAKPOINT and self.api.alive:
                    root, *above = self.stack_path(snapshot.stack).split(".")
                    act = UserRequest("clear", root, resource=".".join([*above, row.name]))
                    self.api.run_task(act.operation, lambda act=act: self._perform(act))
        self.event_queue.schedule_after(every_s, self.clear_breakpoints_periodically)

    def stack_path(self, stack: Stack) -> str:
        """``red``; of the stack behind its n, ``red.n``."""
        above = self.invariant_checker.stack_states.get(stack.owner_id or "")
        return (
            stack.name
            if above is None
            else f"{self.stack_path(above.stack)}.{stack.parent_resource}"
        )

    def find_stack_id(self, name: str) -> str:
        """The id of the newest stack of that name or path, the living one first; or none."""
        found = [
            (snapshot.stack.deleted_at is None, stack_id)
            for stack_id, snapshot in self.invariant_checker.stack_states.items()
            if name in (snapshot.stack.name, self.stack_path(snapshot.stack))
        ]
        return max(found, default=(False, "nobody"))[1]

    # -- for processes

    @property
    def current_task(self) -> tuple[SimulatedProcess, RunningTask]:
        return self._current[-1]

    def resume_task(self, process: SimulatedProcess, work: RunningTask) -> None:
        """Lets a task run to its next pause."""
        task = work.task
        if task is None or task.done:
            return
        if process.stalled_until_s > self.event_queue.elapsed_s:
            self.event_queue.schedule_at(
                process.stalled_until_s, lambda: self.resume_task(process, work)
            )
            return
        self._current.append((process, work))
        pause_s = task.resume()
        self._current.pop()
        if task.done and work in process.running_tasks:
            process.running_tasks.remove(work)
        if task.error is not None:
            self._blame(process, task.error)
        if pause_s is not None:
            self.event_queue.schedule_after(pause_s, lambda: self.resume_task(process, work))
        while self.processes_to_kill:
            doomed = self.processes_to_kill.pop()
            if doomed.alive:
                doomed.kill()

    def deliver(self, message: SimulatedMessage) -> None:
        """Hands the message to a living process, now or as soon as there is one."""
        if message.sequence_number < self._newest.get(message.topic, 0):
            self.occurrences["bus overtaken"] += 1
        self._newest[message.topic] = max(
            message.sequence_number, self._newest.get(message.topic, 0)
        )
        alive = [p for p in self.processes if p.topic == message.topic and p.alive]
        if not alive:
            self.event_queue.schedule_after(0.5, lambda: self.deliver(message))
            return
        chosen = int(self.faults.random_between("world/taker", 0, len(alive) - 0.001) + 0.5) % len(
            alive
        )
        self.log_event(f"{alive[chosen].name} takes {message.method} v{message.version}")
        alive[chosen].handle_message(message)

    def work_duration_s(self, verb: Action, name: str) -> float:
        """How long the cloud works on it."""
        given = self.work_durations.get((verb.lower(), name))
        if given is not None:
            return given
        return self.faults.random_between(f"cloud/{verb}/{name}", 0.0, self.config.max_work_s)

    def log_event(self, text: str) -> None:
        self.log.append(f"{self.event_queue.elapsed_s:9.3f} {text}")

    def _blame(self, process: SimulatedProcess, error: BaseException) -> None:
        if isinstance(error, Exception):
            self.log_event(f"{process.name} fails: {error!r}")
            raise error
        raise error

    # -- what explains a failure

    def expect_failure(self, stack_id: str, what: str) -> None:
        self.expected_failures.setdefault(stack_id, []).append(what)

    def record_failed_call(self, view: ResourceContext, error: errors.Error) -> None:
        """A call failed: for good, or often enough to explain a failure."""
        if isinstance(error, errors.ResourceGone) and view.physical_id in self.cloud.objects:
            return  # whoever made it go has an excuse noted already, or is to blame
        self._errors[view.resource_id] += 1
        final = error.retry is errors.Retry.NEVER
        if final or self._errors[view.resource_id] >= self.settings.retry_limit:
            self.expect_failure(view.stack_id, f"{view.name}: {type(error).__name__}")

    # -- where it stands

    def any_stack_in_progress(self) -> bool:
        """Whether a stack is in progress, or a message or a task on its way to it."""
        return any(
            snapshot.stack.in_progress for snapshot in self.invariant_checker.stack_states.values()
        )

    def settle(self, limit_s: float) -> None:
        """Lets things happen until no stack is in progress and no work under way.

        Raises ``Broken`` (RULE 9) when that takes longer than ``limit_s``.
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
        """Stack's name → ``ACTION_STATUS``."""
        return {
            snapshot.stack.name: f"{snapshot.stack.action}_{snapshot.stack.status}"
            for snapshot in self.invariant_checker.stack_states.values()
        }

    def _explained(self, stack: Stack) -> bool:
        """By what befell its tree, or the one that it was of before, by its owner's having
        given it up, or by a breakpoint that nobody cleared in time."""
        given_up = stack.owner_id is not None and "cancelled" in stack.status_reason
        reason = stack.status_reason
        overtaken = reason.startswith(SUPERSEDED_PREFIX) or SUPERSEDED_REASON in reason
        if given_up or overtaken or NESTED_STACK_NEVER_CREATED in stack.status_reason:
            return True
        trees = [stack.tree_id]
        while trees[-1] in self.invariant_checker.promoted_from:
            trees.append(self.invariant_checker.promoted_from[trees[-1]])
        tree = [
            s for s in self.invariant_checker.stack_states.values() if s.stack.tree_id in trees
        ]
        return any(
            self.expected_failures.get(each.stack.id) or any(row.hook for row in each.resources)
            for each in tree
        )

    def check_failures_expected(self) -> None:
        """Every stack at rest is in a state that its history explains."""
        for _stack_id, snapshot in sorted(self.invariant_checker.stack_states.items()):
            stack = snapshot.stack
            if stack.status is Status.FAILED and not self._explained(stack):
                self.invariant_checker.report_violation(
                    9,
                    f"stack {stack.name} is {stack.action} FAILED for no reason:"
                    f" {stack.status_reason}",
                )
        self.raise_violation()
