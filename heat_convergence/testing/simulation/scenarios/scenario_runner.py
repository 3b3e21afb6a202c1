"""One history from beginning to end, and the verdict on it.

Called by the command ``simulate``, by tests and by the shrinker.  Runs a case,
stops all faults, waits until everything is settled, then asks users to bring each
stack to its goal and to delete it: nothing may be left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.resources.protocol.resource_context import FINAL_SNAPSHOT
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    ExternalChange,
    Scenario,
)
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

SNAPSHOT_CLEANUP_TIMEOUT_S = 30.0  # what snapshots kept goes after their stack
SETTLE_TIMEOUT_S = 1500.0  # the longest timeout, twice (it may roll back), and time to notice


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """``violation`` None: all went well.  ``fired`` are the faults that struck, by their
    points; ``occurrences`` counts what followed from them and from chance."""

    violation: Violation | None
    injected_faults: dict[str, str]
    log: tuple[str, ...]
    step_count: int
    stack_statuses: dict[str, str]
    simulated_s: float
    occurrences: Counter[str]


def run_scenario(case: Scenario) -> SimulationResult:
    """The history of the case.  Errors of the code under test become violations."""
    faults = FaultInjector(
        seed=case.config.seed,
        probabilities=case.fault_probabilities if case.faults_by_point is None else {},
        faults_by_point=case.faults_by_point or {},
    )
    with open_store(case.store) as store:
        world = SimulatedEnvironment(case.config, faults, store)
        violation = None
        try:
            _live(world, case)
        except InvariantBroken as broken:
            violation = broken.violation
        except Exception as error:  # noqa: BLE001
            # Whatever the code under test raises through its outermost loop is a
            # finding of this run, to be shrunk and replayed like any other.
            violation = Violation(0, f"{type(error).__name__}: {error}")
            world.log_event(str(violation))
        finally:
            world.close()
        return SimulationResult(
            violation,
            faults.injected,
            tuple(world.log),
            world.step_count,
            world.stack_statuses(),
            world.event_queue.elapsed_s,
            world.occurrences,
        )


def fault_points(case: Scenario, kind: str) -> list[str]:
    """The points of a kind that the case passes until its faults end."""
    passed: list[str] = []
    faults = FaultInjector(seed=case.config.seed, faults_by_point=case.faults_by_point or {})
    with open_store(case.store) as store:
        world = SimulatedEnvironment(case.config, faults, store)
        try:
            _schedule(world, case)
            world.run_until(case.horizon_s)
            passed.extend(faults.passed_points(kind))
        finally:
            world.close()
    return passed


@contextmanager
def open_store(kind: str) -> Iterator[Store]:
    """A new, empty store: ``memory`` or ``sqlite``."""
    if kind == "memory":
        yield MemoryStore()
        return
    database = database_from_url("sqlite://")
    attach_keyring(database.engine, Keyring(["what simulated stacks keep secrets with"]))
    metadata.create_all(database.engine)
    try:
        yield SqlStore(database)
    finally:
        database.close()


def _live(world: SimulatedEnvironment, case: Scenario) -> None:
    _schedule(world, case)
    world.run_until(case.horizon_s)
    world.faults.enabled = False
    world.clear_breakpoints_periodically()
    world.settle(SETTLE_TIMEOUT_S)
    world.check_failures_expected()
    reach_goals_and_delete(world)


def _schedule(world: SimulatedEnvironment, case: Scenario) -> None:
    for timed in case.requests:
        world.event_queue.schedule_at(
            timed.at_s, lambda act=timed.request: world.submit_request(act)
        )
    for disturbance in case.external_changes:
        world.event_queue.schedule_at(
            disturbance.at_s, lambda it=disturbance: apply_external_change(world, it)
        )


def apply_external_change(world: SimulatedEnvironment, disturbance: ExternalChange) -> None:
    """Somebody else lays hands on a thing of the cloud."""
    things = [thing for thing in world.cloud.active_objects() if thing.stack_id]
    if not things:
        return
    change_object(
        world, things[int(disturbance.selector * len(things)) % len(things)], disturbance.operation
    )


def change_object(world: SimulatedEnvironment, thing: CloudObject, what: str) -> None:
    """``vanish`` or ``change``."""
    world.log_event(f"{what}: {thing.id} {thing.name}")
    world.occurrences[f"cloud {what}"] += 1
    world.expect_failure(thing.stack_id, f"{thing.id} was disturbed")
    if what == "vanish":
        world.cloud.delete_externally(thing)
    else:
        world.cloud.change_externally(thing, {"size": 99})


def reach_goals_and_delete(world: SimulatedEnvironment) -> None:
    """With no more faults, every stack reaches its goal, and can be deleted."""
    world.signal_periodically()
    for name in _names(world):
        _bring_home(world, name)
    while names := _names(world):  # what one retains is another's turn
        for name in names:
            _ask(world, UserRequest("delete", name), expect=Status.COMPLETE)
    world.run_until(world.event_queue.elapsed_s + SNAPSHOT_CLEANUP_TIMEOUT_S)
    left = [thing.id for thing in world.cloud.active_objects() if thing.stack_id]
    copies = world.cloud.snapshots.values()
    left += [
        copy.id
        for copy in copies
        if copy.exists and copy.stack_id and not copy.name.endswith(f"-{FINAL_SNAPSHOT}")
    ]
    if left:
        world.invariant_checker.report_violation(7, f"everything is deleted, and {left} are left")
        world.raise_violation()


def _names(world: SimulatedEnvironment) -> list[str]:
    return sorted(
        {s.stack.name for s in world.invariant_checker.stack_states.values() if _lives(s.stack)}
    )


def _lives(stack: Stack) -> bool:
    """Whether users can still do something to it; nested ones go with their root."""
    return stack.deleted_at is None and stack.owner_id is None


def _bring_home(world: SimulatedEnvironment, name: str) -> None:
    stack = world.invariant_checker.stack_states[world.find_stack_id(name)].stack
    if stack.action is Action.DELETE:
        return
    if stack.action is Action.SUSPEND:
        _ask(world, UserRequest("resume", name))
    if any(thing.changed_externally for thing in world.cloud.objects.values()):
        _ask(world, UserRequest("check", name))
    text = _goal_text(world, name)
    if _never_up(world):
        # An update goes on with what is coming up, waits in vain, and then knows.
        _ask(world, UserRequest("update", name, text))
    _ask(world, UserRequest("update", name, text), expect=Status.COMPLETE)


def _never_up(world: SimulatedEnvironment) -> bool:
    return any(thing.ready_at_s > 1e8 for thing in world.cloud.active_objects())


def _goal_text(world: SimulatedEnvironment, name: str) -> str:
    stack = world.invariant_checker.stack_states[world.find_stack_id(name)].stack
    with world.store.transaction() as tx:
        goal = tx.goals.get(stack.goal_id)
        if goal is None:
            return ""
        return tx.contents.get([goal.template_hash])[goal.template_hash]


def _ask(world: SimulatedEnvironment, act: UserRequest, expect: Status | None = None) -> None:
    stack_id = world.find_stack_id(act.stack)
    before = world.invariant_checker.stack_states[stack_id].stack.version
    while not world.api.alive:
        world.run_next_event()
    world.submit_request(act)
    world.settle(SETTLE_TIMEOUT_S)
    stack = world.invariant_checker.stack_states[stack_id].stack
    if stack.version == before:
        world.invariant_checker.report_violation(
            8, f"{act.operation} of {act.stack} did not begin"
        )
    elif expect is not None and (stack.status is not expect or stack.version != before + 1):
        world.invariant_checker.report_violation(
            9,
            f"{act.operation} of {act.stack} ends {stack.action}_{stack.status} without a fault:"
            f" {stack.status_reason}",
        )
    world.raise_violation()


ScenarioRunner = Callable[[Scenario], SimulationResult]
