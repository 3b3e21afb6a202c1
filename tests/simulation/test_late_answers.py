"""Answers of services that come after users have changed what they are about.

Every list is answered late, and users update their stack meanwhile. Code that takes such an
answer for the present state is detected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from heat_convergence.convergence.drift.observation import WatchGroup, WatchResult
from heat_convergence.convergence.drift.policy import OperatorPolicies
from heat_convergence.convergence.drift.settings import DriftSettings
from heat_convergence.convergence.invariants.transition import Violation
from heat_convergence.convergence.lifecycle.progress import observed_stacks
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.testing.memory.drift.watch_repository import MemoryWatchRepository
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.simulation.environment import InvariantBroken, SimulatedEnvironment
from heat_convergence.testing.simulation.fault_injector import FaultInjector
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

UPDATES = 20
# Seconds between two updates: while resources are on their way, or while they are watched.
OFTEN_S, SELDOM_S = 23.0, 47.0
RESOURCES = 3


def _template(size: int) -> str:
    return "\n".join(f"r{number}: Resource size={size}" for number in range(RESOURCES))


def run(seed: int, pause_s: float) -> tuple[Violation | None, int]:
    """Run a stack whose user updates it again and again, after a pause.

    Returns:
        The first violation, and the number of late answers.
    """
    drift = DriftSettings(OperatorPolicies(DriftPolicy.REPORT))
    settings = ConvergenceSettings(action_timeout_s=300.0, drift=drift)
    config = EnvironmentConfig(
        seed=seed, observers=2, max_work_s=5.0, concurrent_polls=1, watch=True, settings=settings
    )
    faults = FaultInjector(seed=seed, probabilities={"answer": {"late": 0.4}})
    environment = SimulatedEnvironment(config, faults, MemoryStore())
    at, send = environment.event_queue.schedule_at, environment.submit_request
    at(0.1, partial(send, UserRequest("create", "red", _template(1))))
    for number in range(UPDATES):
        update = UserRequest("update", "red", _template(2 + number % 2))
        at(60.0 + number * pause_s, partial(send, update))
    try:
        environment.run_until(60.0 + UPDATES * pause_s)
        faults.enabled = False
        environment.settle(600.0)
    except InvariantBroken as broken:
        return broken.violation, len(faults.injected)
    finally:
        environment.close()
    return None, len(faults.injected)


def _count_old_drift(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record what the watch has read as the state of the resource that there is by now."""
    original = MemoryWatchRepository.record

    def record(self: MemoryWatchRepository, group: WatchGroup, result: WatchResult) -> int:
        rows = self._session.tables.resources
        changed = tuple(
            replace(each, resource_updated_at=rows[each.resource_id].state.updated_at)
            for each in result.changed
            if each.resource_id in rows
        )
        return original(self, group, replace(result, changed=changed))

    monkeypatch.setattr(MemoryWatchRepository, "record", record)


def _count_old_readiness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what was read for an earlier job for the result of the present one."""
    monkeypatch.setattr(observed_stacks, "_drop_superseded", lambda _rows, found: dict(found))


@pytest.mark.parametrize("pause_s", [OFTEN_S, SELDOM_S])
@pytest.mark.parametrize("seed", range(1, 4))
def test_late_answers_violate_no_rule(seed: int, pause_s: float) -> None:
    violation, late_count = run(seed, pause_s)
    assert violation is None
    assert late_count >= UPDATES


@pytest.mark.parametrize(
    ("break_code", "pause_s", "rule", "text"),
    [
        (_count_old_drift, SELDOM_S, 16, "is older than its last change"),
        (_count_old_readiness, OFTEN_S, 7, "is not ready"),
    ],
)
def test_answer_that_counts_although_it_is_old_is_detected(
    monkeypatch: pytest.MonkeyPatch,
    break_code: Callable[[pytest.MonkeyPatch], None],
    pause_s: float,
    rule: int,
    text: str,
) -> None:
    break_code(monkeypatch)
    found = (run(seed, pause_s)[0] for seed in range(1, 21))
    violation = next(each for each in found if each is not None)
    assert violation.rule == rule
    assert text in violation.message
