"""Trees of stacks, with breakpoints, in the simulator: no rule is violated."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from heat_convergence.testing.simulation.fault_injector import FAULTS_BY_POINT_TYPE
from heat_convergence.testing.simulation.scenarios import scenario_runner
from heat_convergence.testing.simulation.scenarios.scenario_generator import (
    Scenario,
    TimedRequest,
    nested_request_scenario,
    nested_scenario,
)
from heat_convergence.testing.simulation.scenarios.scenario_language import format_scenario
from heat_convergence.testing.simulation.scenarios.scenario_runner import (
    SimulationResult,
    run_scenario,
)
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

SEEDS = range(1, 41)
SQLITE_SEEDS = range(501, 506)
NESTED_REQUEST_SEEDS = range(1, 21)
BEFORE = "n: NestedStack\nn.a: Resource\nb: Resource attributes=n"
AFTER = "n: NestedStack\nn.a: Resource size=2\nb: Resource attributes=n"
SCENARIO = Scenario(
    EnvironmentConfig(seed=7, engines=2, observers=1, max_work_s=1.0),
    "memory",
    (
        TimedRequest(0.5, UserRequest("create", "red", BEFORE)),
        TimedRequest(20.0, UserRequest("update", "red", AFTER)),
    ),
    faults_by_point={},
    horizon_s=50.0,
)


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("heat_convergence")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@cache
def run_history(seed: int, store: str) -> SimulationResult:
    return run_scenario(nested_scenario(seed, store=store))


def _report(seed: int, store: str, result: SimulationResult) -> str:
    return f"{result.violation}\n{format_scenario(nested_scenario(seed, store=store), result.injected_faults)}"  # noqa: E501


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rule_is_violated(seed: int) -> None:
    result = run_history(seed, "memory")
    assert result.violation is None, _report(seed, "memory", result)


@pytest.mark.parametrize("seed", SQLITE_SEEDS)
def test_no_rule_is_violated_on_sqlite(seed: int) -> None:
    result = run_history(seed, "sqlite")
    assert result.violation is None, _report(seed, "sqlite", result)


@pytest.mark.parametrize("seed", NESTED_REQUEST_SEEDS)
def test_no_rule_is_violated_by_requests_about_nested_stacks(seed: int) -> None:
    case = nested_request_scenario(seed)
    result = run_scenario(case)
    report = f"{result.violation}\n{format_scenario(case, result.injected_faults)}"
    assert result.violation is None, report


def test_nested_stacks_and_breakpoints_occur() -> None:
    occurrences: Counter[str] = Counter()
    for seed in SEEDS:
        occurrences += run_history(seed, "memory").occurrences
    expected = {
        "nested stack created", "nested stack deleted", "nested stack failed", "breakpoint",
        "nested breakpoint", "user clear_hook", "jobs of several stacks in a message",
    }  # fmt: skip

    assert {name for name in expected if occurrences[name] < 3} == set(), occurrences


@pytest.mark.parametrize(
    "point_type", sorted(FAULTS_BY_POINT_TYPE.keys() - {"answer", "call", "observe", "provision"})
)
def test_a_fault_at_every_point_of_a_tree_violates_no_rule(point_type: str) -> None:
    """Crashes before and after every commit include one between child and parent completion."""
    points = scenario_runner.fault_points(SCENARIO, point_type)
    assert len(points) >= 3
    for point in points:
        for fault in sorted(FAULTS_BY_POINT_TYPE[point_type]):
            values = {name: getattr(SCENARIO, name) for name in Scenario.__slots__}
            result = run_scenario(Scenario(**{**values, "faults_by_point": {point: fault}}))
            assert result.violation is None, (point, fault, str(result.violation))
