"""The simulated environment: real engines and observers around simulated services.

Connects store, bus, clock, cloud, processes and users, runs one event after the other
and has the rules checked.  Used by the scenario runner and the scenario interpreter.
The same configuration, requests and faults give the same history, including all ids.
"""

from __future__ import annotations

from heat_convergence.common.evaluation.evaluation_guard import reject_evaluation_under_locks
from heat_convergence.convergence.invariants.transition import StackState, Violation
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.snapshots.snapshot_completion import SUPERSEDED_PREFIX
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.engine.nested.jobs import NESTED_STACK_NEVER_CREATED
from heat_convergence.stacks.contained_bus import ContainedBus
from heat_convergence.stacks.nested_observation import SUPERSEDED_REASON
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.handover.handover_users import HandoverUsers
from heat_convergence.testing.simulation.processes import (
    ServiceProcess,
    SimulatedApi,
    SimulatedEngine,
    SimulatedObserver,
)
from heat_convergence.testing.simulation.resource_types import SIGNAL_COUNT, SignalledType
from heat_convergence.testing.simulation.simulation_context import (
    EnvironmentConfig,
    SimulationContext,
)
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.simulated_users import (
    UNHEALTHY_REASON,
    RequestServices,
)
from heat_convergence.testing.simulation.workload.user_requests import (
    CREATING_OPERATIONS,
    HANDOVER_OPERATIONS,
    UserRequest,
    expected_errors,
)

_AT_GOAL = ("CREATE", "UPDATE", "ROLLBACK", "RESTORE", "ADOPT")


class InvariantBroken(Exception):
    """A rule was violated; ends the simulation."""

    def __init__(self, violation: Violation, log: list[str]) -> None:
        super().__init__(str(violation))
        self.violation = violation
        self.log = log


class SimulatedEnvironment(SimulationContext):
    """One simulation, until ``InvariantBroken`` or its user ends it."""

    def __init__(self, config: EnvironmentConfig, faults: FaultInjector, store: Store) -> None:
        reject_evaluation_under_locks()
        super().__init__(config, faults, store)
        self.handover_users = HandoverUsers(self.users.project_id, self.cloud)
        self.refused_requests: list[str] = []
        self.step_count = 0
        self.processes: list[ServiceProcess] = [
            *(SimulatedEngine(self, f"engine-{n + 1}", "engine") for n in range(config.engines)),
            *(
                SimulatedObserver(self, f"observer-{n + 1}", "observer")
                for n in range(config.observers)
            ),
        ]
        self.router.receivers.extend(self.processes)
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
            store=self.api.store(),
            bus=ContainedBus(self.api.bus(), self.api.errors()),
            context=TraversalContext(self.event_queue.now(), self.ids, self.settings),
            wait=self.api.wait,
            registry=self.api.registry(),
        )
        creates = request.operation in CREATING_OPERATIONS
        stack_id = self.ids() if creates else self.find_stack_id(request.stack)
        if request.operation == "cancel_without_rollback":
            self.expect_failure(stack_id, "a user cancelled it")
        if request.operation == "abandon":
            self.current_task.abandoned_stack_id = stack_id
        if request.operation == "adopt":
            self._prepare_adoption(request.stack, stack_id)
        if request.operation in HANDOVER_OPERATIONS:
            targets = (request.target,) if request.target else ()
            stack_ids = [stack_id, *map(self.find_stack_id, targets)]
            error_name = self.handover_users.perform(request, stack_ids, services)
        else:
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
                if row.identity.type == SignalledType.name and not row.physical.data.get(
                    SIGNAL_COUNT
                ):
                    self._start_request(UserRequest("signal", state.stack.name, resource=row.name))
        self.event_queue.schedule_after(every_s, self.signal_periodically)

    def clear_breakpoints_periodically(self, every_s: float = 5.0) -> None:
        """Clear, from now on, every breakpoint at which a resource waits."""
        for state in list(self.invariant_checker.stack_states.values()):
            for row in state.resources if state.stack.deleted_at is None else ():
                if row.job.state is JobState.AT_BREAKPOINT:
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

    # -- states

    def any_stack_in_progress(self) -> bool:
        """Return whether the status of any stack is IN_PROGRESS."""
        return any(self.invariant_checker.in_progress.values())

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
        cancelled it, a newer request that superseded it, a user who marked a resource as
        unhealthy, a check of a resource that was never created (of the stack itself, or of one
        nested in it), or a breakpoint that nobody cleared in time.
        """
        reason = stack.status_reason
        cancelled = stack.owner_id is not None and "cancelled" in reason
        superseded = reason.startswith(SUPERSEDED_PREFIX) or SUPERSEDED_REASON in reason
        marked = UNHEALTHY_REASON in reason  # by a user, in a stabilization window
        if cancelled or superseded or marked or NESTED_STACK_NEVER_CREATED in reason:
            return True
        trees = [stack.tree_id]
        while trees[-1] in self.invariant_checker.promoted_from:
            trees.append(self.invariant_checker.promoted_from[trees[-1]])
        return any(
            self.expected_failures.get(state.stack.id)
            or any(row.job.hook for row in state.resources)
            or (Action.CHECK in (stack.action, state.stack.action) and _lacks_a_resource(state))
            for state in self.invariant_checker.stack_states.values()
            if state.stack.tree_id in trees
        )

    def check_failures_contained(self) -> None:
        """Report failures of more than one tree, or without an error id (RULE 11)."""
        failures = self.invariant_checker.first_failures
        if len(failures) > 1:
            reasons = sorted(failures.values())
            self.invariant_checker.report_violation(11, f"one fault has failed trees: {reasons}")
        for reason in failures.values():
            if "error id " not in reason:
                self.invariant_checker.report_violation(
                    11, f"a stack is FAILED without an error id: {reason}"
                )
        self.raise_violation()

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


def _lacks_a_resource(state: StackState) -> bool:
    return any(
        row.desired.state is DesiredState.PRESENT and row.physical.was_never_created
        for row in state.resources
    )
