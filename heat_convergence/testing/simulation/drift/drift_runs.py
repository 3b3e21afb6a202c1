"""Random runs of the watch and of repairs: from a seed to the violation of a rule, if any.

Draws stacks, users' updates, also in the middle of repairs, what others do to the cloud, a window
of repairs, and faults of processes, messages and the database. In the end, whatever still differs
must be suspended, or wait for the budget or the window, and every repair must have ended.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from heat_convergence.convergence.drift.observation import DRIFTED
from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.repair_budget import RepairLimits
from heat_convergence.convergence.drift.settings import DriftSettings, MassLossLimits
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow
from heat_convergence.testing.simulation.cloud_reads.watched_type import WatchedType
from heat_convergence.testing.simulation.drift.foreign_changes import ForeignChanges
from heat_convergence.testing.simulation.drift.loss_rule import LOSS_RULE, MassLossRule
from heat_convergence.testing.simulation.drift.repair_rules import END_RULE, RepairRules
from heat_convergence.testing.simulation.drift.view_rules import (
    find_frequent_reads,
    find_wrong_view,
)
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import FaultInjector, FaultProbabilities
from heat_convergence.testing.simulation.simulation_context import (
    UNLIMITED_TAKEOVERS,
    EnvironmentConfig,
)
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

LIMITS = RepairLimits(per_stack=2, per_project=3, tries=3, backoff_s=30.0, backoff_max_s=120.0)
WINDOW = RepairWindow("*/10 * * * *", 180)
MASS_LOSS = MassLossLimits(count=4, share=0.3)
HORIZON_S = 900.0
# Longer than two reads of a group, the longest pause before a repair, and two more reads.
SILENCE_S = 300.0
QUIET_LIMIT_S = 1000.0  # longer than the time between two windows, and the silence
SETTLE_TIMEOUT_S = 1500.0
# A group is read at least so often, and what a read has seen before counts as long.
_VIEW_DELAY_S = 120.0
_SILENCE_STEP_S = 20.0
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
        event_count: The number of events.
        simulated_s: The simulated time.
        occurrences: The number of faults and their consequences, by name.
    """

    violation: Violation | None
    repair_count: int
    log: tuple[str, ...]
    event_count: int = 0
    simulated_s: float = 0.0
    occurrences: Counter[str] = field(default_factory=Counter)


def run_drift_seed(seed: int, store: Store) -> DriftRun:
    """Run the seed on an empty store until a rule is violated or all is quiet."""
    rng = random.Random(f"drift {seed}")
    limits = replace(LIMITS, window=WINDOW) if rng.random() < 0.3 else LIMITS
    config = _config(seed, rng, limits)
    environment = SimulatedEnvironment(config, _faults(seed, rng), store)
    view = environment.cloud_view
    loss_rule = MassLossRule(view, MASS_LOSS, timedelta(seconds=_VIEW_DELAY_S))
    rules = RepairRules(limits, view, loss_rule)
    environment.invariant_checker.commit_checks.append(loss_rule.note_commit)
    environment.invariant_checker.call_checks.append(rules.check_call)
    violation = None
    try:
        _schedule(environment, rules, rng)
        environment.run_until(HORIZON_S)
        environment.faults.enabled = False
        environment.settle(SETTLE_TIMEOUT_S)
        _run_until_quiet(environment)
        violation = (
            _find_unrepaired(environment)
            or _find_endless(environment, rules)
            or find_wrong_view(environment, WatchedType.name)
            or find_frequent_reads(environment, config.observers)
        )
    except InvariantBroken as broken:
        violation = broken.violation
    finally:
        environment.close()
    environment.occurrences["automatic repair"] += rules.repair_count
    return DriftRun(
        violation,
        rules.repair_count,
        tuple(environment.log),
        environment.step_count,
        environment.event_queue.elapsed_s,
        environment.occurrences,
    )


def _config(seed: int, rng: random.Random, limits: RepairLimits) -> EnvironmentConfig:
    drift = DriftSettings(OperatorPolicies(DriftPolicy.REPAIR), limits, MASS_LOSS)
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


def _schedule(environment: SimulatedEnvironment, rules: RepairRules, rng: random.Random) -> None:
    at = environment.event_queue.schedule_at
    counts = {name: rng.randint(2, 8) for name in ("red", "blue")[: rng.choice((1, 2))]}
    for name, count in counts.items():
        template = _template(rng, count)
        at(0.1, partial(environment.submit_request, UserRequest("create", name, template)))
        for _ in range(rng.choice((0, 1, 3))):
            update = UserRequest("update", name, _template(rng, count))
            at(_time(rng), partial(environment.submit_request, update))
    others = ForeignChanges(environment, random.Random(rng.random()), MASS_LOSS)
    _schedule_others(environment, others, rng)
    if rng.random() < 0.4:
        rules.on_start = partial(_interrupt, environment, counts, random.Random(rng.random()))


def _schedule_others(
    environment: SimulatedEnvironment, others: ForeignChanges, rng: random.Random
) -> None:
    """Schedule what others do, and what reads show of it."""
    at = environment.event_queue.schedule_at
    others.notifies = rng.random() < 0.5
    for _ in range(rng.randint(2, 10)):
        operation = rng.choice(("delete", "change"))
        at(_time(rng), partial(others.change_one, operation, rng.random()))
    if rng.random() < 0.5:
        begins_at = rng.uniform(100.0, 400.0)
        at(begins_at, partial(others.hide_part, rng.uniform(0.3, 1.0)))
        at(begins_at + rng.uniform(100.0, 400.0), partial(others.hide_part, 0.0))
    if rng.random() < 0.4:
        at(_time(rng), partial(others.control_value, rng.random()))
    if rng.random() < 0.5:
        shown_at = _time(rng)
        at(shown_at, partial(others.show_old_values, is_old=True))
        at(shown_at + rng.uniform(10, 90), partial(others.show_old_values, is_old=False))
    if rng.random() < 0.4:
        holes_at = _time(rng)
        at(holes_at, partial(others.leave_holes, rng.choice((0.1, 0.5, 1.0))))
        at(holes_at + rng.uniform(30, 200), partial(others.leave_holes, 0.0))


def _interrupt(
    environment: SimulatedEnvironment,
    counts: dict[str, int],
    rng: random.Random,
    stack_id: str,
) -> None:
    """Send a user's request for a stack that is being repaired, in some cases."""
    state = environment.invariant_checker.stack_states.get(stack_id)
    if state is None or environment.event_queue.elapsed_s > HORIZON_S or rng.random() < 0.5:
        return
    name = state.stack.name
    if rng.random() < 0.1:
        request = UserRequest("delete", name)
    else:
        request = UserRequest("update", name, _template(rng, counts[name]))
    environment.occurrences["request during a repair"] += 1
    send = partial(environment.submit_request, request)
    environment.event_queue.schedule_after(round(rng.uniform(0.0, 5.0), 3), send)


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


def _run_until_quiet(environment: SimulatedEnvironment) -> None:
    """Run until nothing was logged or announced for long, and no window is to be waited for."""
    queue = environment.event_queue
    began_s = changed_s = queue.elapsed_s
    known = (0, 0)
    while queue.elapsed_s < began_s + QUIET_LIMIT_S:
        current = (len(environment.log), len(environment.announcements))
        if current != known or _awaits_repair(environment):
            known, changed_s = current, queue.elapsed_s
        elif queue.elapsed_s >= changed_s + SILENCE_S:
            return
        environment.run_until(queue.elapsed_s + _SILENCE_STEP_S)
    environment.settle(SETTLE_TIMEOUT_S)
    environment.run_until(queue.elapsed_s + _VIEW_DELAY_S)


def _awaits_repair(environment: SimulatedEnvironment) -> bool:
    """Return whether a repair may still start in the next window."""
    now = environment.event_queue.now()
    until = now + timedelta(seconds=QUIET_LIMIT_S)
    repairs = environment.store.repairs.list_repairs(
        list(environment.invariant_checker.stack_states)
    )
    return any(now < repair.next_at < until for repair in repairs)


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
            if not _is_any_lost(environment):
                return Violation(LOSS_RULE, f"{breaker.lost} objects are back, unnoticed")
    return None


def _find_endless(environment: SimulatedEnvironment, rules: RepairRules) -> Violation | None:
    """Return a violation if a repair has no end, recorded and announced."""
    stack_ids = list(environment.invariant_checker.stack_states)
    for repair in environment.store.repairs.list_repairs(stack_ids):
        if repair.is_running:
            return Violation(END_RULE, f"no end of the repair of {repair.resource_name}")
    announced = {
        (each.body["stack_identity"], each.body["stack_version"], resource["resource_name"])
        for each in environment.announcements
        if each.event_type in ("repair.end", "repair.error")
        for resource in each.body["resources"]
    }
    for key in sorted(rules.repaired - announced):
        return Violation(END_RULE, f"the end of the repair of {key[2]} was not announced")
    return None


def _is_any_lost(environment: SimulatedEnvironment) -> bool:
    """Return whether an object of a resource is missing, or is not read: no loss is over then."""
    return any(
        state.stack.status is not Status.COMPLETE
        or (row.physical.id is not None and environment.cloud.get(row.physical.id) is None)
        for state in environment.invariant_checker.stack_states.values()
        for row in state.resources
    )
