"""One run of a scenario, and its result.

Called by the campaign, by tests and by the shrinker.  Runs the scenario, stops all
faults, waits until no stack is in progress, then has each stack reach its goal and be
deleted: nothing may be left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.store import SqlStore
from heat_convergence.db.table_creation import create_tables
from heat_convergence.resources.protocol.resource_context import FINAL_SNAPSHOT
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import FaultInjector, PlannedFault
from heat_convergence.testing.simulation.handover.object_imports import MAKE, make_object
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    DEGRADE,
    ExternalChange,
    Scenario,
)
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

SNAPSHOT_CLEANUP_TIMEOUT_S = 30.0  # snapshots are deleted after their stack
DEGRADED_S = 15.0
SETTLE_TIMEOUT_S = 1500.0  # twice the longest timeout (a rollback has its own), and some time


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of a run.

    Attributes:
        violation: the first violated rule; None if there is none.
        injected_faults: the faults that occurred, by their points.
        occurrences: the number of requests and of consequences of faults, by name.
    """

    violation: Violation | None
    injected_faults: dict[str, str]
    log: tuple[str, ...]
    step_count: int
    stack_statuses: dict[str, str]
    simulated_s: float
    occurrences: Counter[str]


def run_scenario(scenario: Scenario) -> SimulationResult:
    """Run a scenario.  Errors of the code under test become violations."""
    faults = FaultInjector(
        seed=scenario.config.seed,
        probabilities=scenario.fault_probabilities if scenario.faults_by_point is None else {},
        faults_by_point=scenario.faults_by_point or {},
    )
    if scenario.lasting_fault is not None:
        lasting = PlannedFault("", "verb", "raise", scenario.lasting_fault, repeat_count=10**9)
        faults.planned_faults.append(lasting)
    with open_store(scenario.store) as store:
        environment = SimulatedEnvironment(scenario.config, faults, store)
        violation = None
        try:
            _run(environment, scenario)
        except InvariantBroken as broken:
            violation = broken.violation
        except Exception as error:  # noqa: BLE001
            # An error that passes the outermost loop of the code under test is a
            # violation like any other, to be shrunk and replayed.
            violation = Violation(0, f"{type(error).__name__}: {error}")
            environment.log_event(str(violation))
        finally:
            environment.close()
        return SimulationResult(
            violation,
            faults.injected,
            tuple(environment.log),
            environment.step_count,
            environment.stack_statuses(),
            environment.event_queue.elapsed_s,
            environment.occurrences,
        )


def fault_points(scenario: Scenario, *point_types: str) -> list[str]:
    """Return the points of some types that the scenario passes before its horizon."""
    faults = FaultInjector(
        seed=scenario.config.seed, faults_by_point=scenario.faults_by_point or {}
    )
    with open_store(scenario.store) as store:
        environment = SimulatedEnvironment(scenario.config, faults, store)
        try:
            _schedule(environment, scenario)
            environment.run_until(scenario.horizon_s)
            return [point for each in point_types for point in faults.passed_points(each)]
        finally:
            environment.close()


def passed_contexts(scenario: Scenario, point_type: str) -> frozenset[str]:
    """Return the contexts of a type's points that the scenario passes before its horizon."""
    faults = FaultInjector(seed=scenario.config.seed)
    with open_store(scenario.store) as store:
        environment = SimulatedEnvironment(scenario.config, faults, store)
        try:
            _schedule(environment, scenario)
            environment.run_until(scenario.horizon_s)
            return frozenset(faults.passed_contexts.get(point_type, ()))
        finally:
            environment.close()


@contextmanager
def open_store(name: str) -> Iterator[Store]:
    """Open a new, empty store: ``memory`` or ``sqlite``."""
    if name == "memory":
        yield MemoryStore()
        return
    database = database_from_url("sqlite://")
    attach_keyring(database.engine, Keyring(["the key of simulated stacks"]))
    create_tables(database.engine)
    try:
        yield SqlStore(database)
    finally:
        database.close()


def _run(environment: SimulatedEnvironment, scenario: Scenario) -> None:
    _schedule(environment, scenario)
    environment.run_until(scenario.horizon_s)
    environment.faults.enabled = False
    environment.clear_breakpoints_periodically()
    environment.settle(SETTLE_TIMEOUT_S)
    environment.cloud.end_degradations()
    if environment.config.exception_points:
        environment.check_failures_contained()
        environment.faults.planned_faults.clear()
    else:
        environment.check_failures_expected()
    reach_goals_and_delete(environment)


def _schedule(environment: SimulatedEnvironment, scenario: Scenario) -> None:
    queue = environment.event_queue
    for timed in scenario.requests:
        queue.schedule_at(timed.at_s, partial(environment.submit_request, timed.request))
    for change in scenario.external_changes:
        queue.schedule_at(change.at_s, partial(apply_external_change, environment, change))


def apply_external_change(environment: SimulatedEnvironment, change: ExternalChange) -> None:
    """Change or delete one of the cloud's objects that belong to a stack, or make an object."""
    if change.operation == MAKE:
        made = make_object(environment.cloud, change.selector)
        environment.log_event(f"external make: {made.id} {made.name}")
        return
    owned = [each for each in environment.cloud.active_objects() if each.stack_id]
    if owned:
        chosen = owned[int(change.selector * len(owned)) % len(owned)]
        change_object(environment, chosen, change.operation)


def change_object(
    environment: SimulatedEnvironment, cloud_object: CloudObject, operation: str
) -> None:
    """``delete``, ``change`` or ``degrade`` an object without its owner's knowledge."""
    environment.log_event(f"external {operation}: {cloud_object.id} {cloud_object.name}")
    environment.occurrences[f"external {operation}"] += 1
    environment.expect_failure(cloud_object.stack_id, f"{cloud_object.id} was changed externally")
    if operation == DEGRADE:
        environment.cloud.degrade(cloud_object, DEGRADED_S)
    elif operation == "delete":
        environment.cloud.delete_externally(cloud_object)
    else:
        environment.cloud.change_externally(cloud_object, {"size": 99})


def reach_goals_and_delete(environment: SimulatedEnvironment) -> None:
    """Have every stack reach its goal and be deleted, now that faults have ended."""
    environment.signal_periodically()
    for name in _stack_names(environment):
        _reach_goal(environment, name)
    _delete_stacks(environment)
    _empty_quarantine(environment)
    _delete_stacks(environment)  # a retained nested stack may have waited for the quarantine
    environment.run_until(environment.event_queue.elapsed_s + SNAPSHOT_CLEANUP_TIMEOUT_S)
    left = [each.id for each in environment.cloud.active_objects() if each.stack_id]
    left += [
        snapshot.id
        for snapshot in environment.cloud.snapshots.values()
        if snapshot.exists
        and snapshot.stack_id
        and not snapshot.name.endswith(f"-{FINAL_SNAPSHOT}")
    ]
    if left:
        environment.invariant_checker.report_violation(
            7, f"everything is deleted, and {left} are left"
        )
        environment.raise_violation()


def _delete_stacks(environment: SimulatedEnvironment) -> None:
    # A nested stack that its parent retains is a root stack in the next pass.
    while names := _stack_names(environment):
        for name in names:
            _perform(environment, UserRequest("delete", name), expect=Status.COMPLETE)


def _empty_quarantine(environment: SimulatedEnvironment) -> None:
    """Run until nothing is in quarantine any more (RULE 9)."""
    until_s = environment.event_queue.elapsed_s + SETTLE_TIMEOUT_S
    states = environment.invariant_checker.stack_states
    while any(state.quarantined for state in states.values()):
        if environment.event_queue.elapsed_s > until_s:
            environment.invariant_checker.report_violation(9, "the quarantine is not emptied")
            environment.raise_violation()
        environment.run_next_event()


def _stack_names(environment: SimulatedEnvironment) -> list[str]:
    return sorted(
        {
            s.stack.name
            for s in environment.invariant_checker.stack_states.values()
            if _is_root(s.stack)
        }
    )


def _is_root(stack: Stack) -> bool:
    """Return whether the stack is a root stack that is not deleted."""
    return stack.deleted_at is None and stack.owner_id is None


def _reach_goal(environment: SimulatedEnvironment, name: str) -> None:
    stack = environment.invariant_checker.stack_states[environment.find_stack_id(name)].stack
    if stack.action is Action.DELETE:
        return
    if stack.action is Action.SUSPEND:
        _perform(environment, UserRequest("resume", name))
    if any(each.changed_externally for each in environment.cloud.objects.values()):
        _perform(environment, UserRequest("check", name))
    text = _goal_text(environment, name)
    if _any_never_ready(environment):
        # An update continues to wait for an unfinished creation; only the next replaces it.
        _perform(environment, UserRequest("update", name, text))
    _perform(environment, UserRequest("update", name, text), expect=Status.COMPLETE)


def _any_never_ready(environment: SimulatedEnvironment) -> bool:
    return any(each.ready_at_s > 1e8 for each in environment.cloud.active_objects())


def _goal_text(environment: SimulatedEnvironment, name: str) -> str:
    stack = environment.invariant_checker.stack_states[environment.find_stack_id(name)].stack
    with environment.store.transaction() as tx:
        goal = tx.goals.get(stack.goal_id)
        if goal is None:
            return ""
        return tx.contents.get([goal.template_hash])[goal.template_hash]


def _perform(
    environment: SimulatedEnvironment, request: UserRequest, expect: Status | None = None
) -> None:
    """Perform a request and wait for its end; report an end other than expected (RULE 9)."""
    stack_id = environment.find_stack_id(request.stack)
    before = environment.invariant_checker.stack_states[stack_id].stack.version
    while not environment.api.alive:
        environment.run_next_event()
    environment.submit_request(request)
    environment.settle(SETTLE_TIMEOUT_S)
    stack = environment.invariant_checker.stack_states[stack_id].stack
    if stack.version == before:
        environment.invariant_checker.report_violation(
            8, f"{request.operation} of {request.stack} did not start"
        )
    elif expect is not None and (stack.status is not expect or stack.version != before + 1):
        environment.invariant_checker.report_violation(
            9,
            f"{request.operation} of {request.stack} ends {stack.action}_{stack.status}"
            f" without a fault: {stack.status_reason}",
        )
    environment.raise_violation()
