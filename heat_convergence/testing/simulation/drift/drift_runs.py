"""Random runs of the watch and of repairs: from a seed to the violation of a rule, if any.

Draws stacks, users' updates, foreign changes, an unreachable part of the cloud, lists with old
values, a controller that changes a value back, and faults of processes, messages and the
database. In the end, whatever still differs must be suspended, or wait for the budget.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings, MassLossLimits
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.simulation.cloud import CloudObject
from heat_convergence.testing.simulation.drift.repair_rules import LOSS_RULE, RepairRules
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.event_queue import SIMULATION_START
from heat_convergence.testing.simulation.fault_injector import FaultInjector, FaultProbabilities
from heat_convergence.testing.simulation.simulation_context import (
    UNLIMITED_TAKEOVERS,
    EnvironmentConfig,
)
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

LIMITS = RepairLimits(per_stack=2, per_project=3, tries=3, backoff_s=30.0, backoff_max_s=120.0)
MASS_LOSS = MassLossLimits(count=4, share=0.3)
HORIZON_S = 900.0
QUIET_S = 400.0  # longer than all pauses between reads and repairs
SETTLE_TIMEOUT_S = 1500.0
# A group is read at least so often, and what a read has seen before counts as long.
_VIEW_DELAY_S = 120.0
_FAULTS: tuple[FaultProbabilities, ...] = (
    {"commit": {"crash-before": 0.01, "crash-after": 0.01}, "call": {"crash-after": 0.03}},
    {"send": {"lose": 0.15, "duplicate": 0.1, "late": 0.1}},
    {"commit": {"deadlock": 0.05, "unavailable": 0.01}, "read": {"slow": 0.1}},
    {"task": {"stall": 0.01}},
    {"observe": {"temporary": 0.1, "throttled": 0.05}},
)


@dataclass(frozen=True, slots=True)
class DriftRun:
    """The result of one run.

    Attributes:
        violation: The first violated rule; None if there is none.
        repair_count: The number of repairs that no user has requested.
        log: What has happened.
    """

    violation: Violation | None
    repair_count: int
    log: tuple[str, ...]


def run_drift_seed(seed: int) -> DriftRun:
    """Run the seed until a rule is violated or all is quiet."""
    rng = random.Random(f"drift {seed}")
    environment = SimulatedEnvironment(_config(seed, rng), _faults(seed, rng), MemoryStore())
    checker, view = environment.invariant_checker, environment.cloud_view
    rules = RepairRules(LIMITS, view, SIMULATION_START, _VIEW_DELAY_S)
    checker.call_checks.append(rules.check_call)
    violation = None
    try:
        _schedule(environment, rng)
        environment.run_until(HORIZON_S)
        environment.faults.enabled = False
        environment.settle(SETTLE_TIMEOUT_S)
        environment.run_until(environment.event_queue.elapsed_s + QUIET_S)
        environment.settle(SETTLE_TIMEOUT_S)
        violation = _find_unrepaired(environment)
    except InvariantBroken as broken:
        violation = broken.violation
    finally:
        environment.close()
    return DriftRun(violation, rules.repair_count, tuple(environment.log))


def _config(seed: int, rng: random.Random) -> EnvironmentConfig:
    drift = DriftSettings(OperatorPolicies(DriftPolicy.REPAIR), LIMITS, MASS_LOSS)
    settings = ConvergenceSettings(
        max_job_takeovers=UNLIMITED_TAKEOVERS,
        error_wait_s=60.0,
        action_timeout_s=300.0,
        drift=drift,
    )
    return EnvironmentConfig(
        seed=seed or 1,
        observers=rng.choice((1, 2)),
        max_work_s=rng.choice((0.0, 2.0, 10.0)),
        concurrent_polls=seed % 2,
        watch=True,
        settings=settings,
    )


def _faults(seed: int, rng: random.Random) -> FaultInjector:
    probabilities: dict[str, dict[str, float]] = {}
    for family in _FAULTS:
        if rng.random() < 0.4:
            for point_type, faults in family.items():
                probabilities.setdefault(point_type, {}).update(faults)
    return FaultInjector(seed=seed or 1, probabilities=probabilities)


def _schedule(environment: SimulatedEnvironment, rng: random.Random) -> None:
    at = environment.event_queue.schedule_at
    counts = {name: rng.randint(2, 8) for name in ("red", "blue")[: rng.choice((1, 2))]}
    for name, count in counts.items():
        template = _template(rng, count)
        at(0.1, partial(environment.submit_request, UserRequest("create", name, template)))
        for _ in range(rng.choice((0, 1, 3))):
            update = UserRequest("update", name, _template(rng, count))
            at(_time(rng), partial(environment.submit_request, update))
    for _ in range(rng.randint(2, 10)):
        operation = rng.choice(("delete", "change"))
        at(_time(rng), partial(_change_one, environment, operation, rng.random()))
    if rng.random() < 0.5:
        _schedule_unreachable_part(environment, rng)
    if rng.random() < 0.4:
        at(_time(rng), partial(_control_value, environment, rng.random()))
    if rng.random() < 0.5:
        shown_at = _time(rng)
        at(shown_at, partial(_show_old_values, environment, is_old=True))
        at(shown_at + rng.uniform(10, 90), partial(_show_old_values, environment, is_old=False))


def _time(rng: random.Random) -> float:
    return round(rng.uniform(60.0, HORIZON_S - 100.0), 3)


def _template(rng: random.Random, count: int) -> str:
    """Draw a template; some resources read attributes of others."""
    lines = []
    for number in range(count):
        line = f"r{number}: Resource size={rng.randint(1, 3)}"
        if number and rng.random() < 0.3:
            line += f" attributes=r{rng.randrange(number)}"
        lines.append(line)
    return "\n".join(lines)


def _owned(environment: SimulatedEnvironment) -> list[CloudObject]:
    return [each for each in environment.cloud.active_objects() if each.stack_id]


def _choose(environment: SimulatedEnvironment, selector: float) -> CloudObject | None:
    owned = _owned(environment)
    return owned[int(selector * len(owned)) % len(owned)] if owned else None


def _change_one(environment: SimulatedEnvironment, operation: str, selector: float) -> None:
    chosen = _choose(environment, selector)
    if chosen is not None:
        _change(environment, chosen, operation)


def _change(environment: SimulatedEnvironment, chosen: CloudObject, operation: str) -> None:
    environment.log_event(f"external {operation}: {chosen.id} {chosen.name}")
    environment.expect_failure(chosen.stack_id, f"{chosen.id} was changed externally")
    if operation == "delete":
        environment.cloud.delete_externally(chosen)
    else:
        environment.cloud.change_externally(chosen, {"size": 99})


def _schedule_unreachable_part(environment: SimulatedEnvironment, rng: random.Random) -> None:
    """Schedule that a part of the cloud is not shown for some time."""
    begins_at = rng.uniform(100.0, 400.0)
    ends_at = begins_at + rng.uniform(100.0, 400.0)
    share = rng.uniform(0.3, 1.0)
    at = environment.event_queue.schedule_at
    at(begins_at, partial(_hide_part, environment, share))
    at(ends_at, partial(_hide_part, environment, 0.0))


def _hide_part(environment: SimulatedEnvironment, share: float) -> None:
    owned, view = _owned(environment), environment.cloud_view
    hidden = owned[: int(share * len(owned))]
    for each in hidden:
        environment.expect_failure(each.stack_id, f"{each.id} was unreachable")
    view.unreachable_ids = frozenset(each.id for each in hidden)
    is_mass_loss = MASS_LOSS.exceeded_by(len(hidden), len(owned))
    view.unreachable_since_s = environment.event_queue.elapsed_s if is_mass_loss else None
    environment.log_event(f"unreachable: {sorted(view.unreachable_ids)}")


def _control_value(environment: SimulatedEnvironment, selector: float) -> None:
    """Let another controller change a value, and change it back whenever it is restored."""
    chosen = _choose(environment, selector)
    if chosen is not None:
        _keep_changed(environment, chosen)


def _keep_changed(environment: SimulatedEnvironment, chosen: CloudObject) -> None:
    if environment.cloud.get(chosen.id) is None:
        return
    if chosen.properties.get("size") != 99:
        _change(environment, chosen, "change")
    environment.event_queue.schedule_after(5.0, partial(_keep_changed, environment, chosen))


def _show_old_values(environment: SimulatedEnvironment, *, is_old: bool) -> None:
    """Let lists show the present values from now on, or no old ones any more."""
    owned = _owned(environment) if is_old else []
    environment.cloud_view.old_properties = {each.id: dict(each.properties) for each in owned}


def _find_unrepaired(environment: SimulatedEnvironment) -> Violation | None:
    """Return a violation if something differs that could be repaired now."""
    store, now = environment.store, environment.event_queue.now()
    for candidate in store.repairs.list_candidates(now, 100):
        if candidate.status in DRIFTED:
            return Violation(1, f"{candidate.resource_name} is {candidate.status}, unrepaired")
    project_ids = {
        state.stack.project_id for state in environment.invariant_checker.stack_states.values()
    }
    for project_id in sorted(project_ids):
        for breaker in store.watch.list_breakers(project_id):
            if not _is_lost(environment, MASS_LOSS.exceeded_by):
                return Violation(LOSS_RULE, f"{breaker.lost} objects are back, unnoticed")
    return None


def _is_lost(environment: SimulatedEnvironment, is_mass_loss: Callable[[int, int], bool]) -> bool:
    """Return whether objects of resources are really missing, too many to be believed."""
    rows = [
        row
        for state in environment.invariant_checker.stack_states.values()
        for row in state.resources
        if row.physical.id is not None
    ]
    lost = [row for row in rows if environment.cloud.get(row.physical.id) is None]
    return is_mass_loss(len(lost), len(rows))
