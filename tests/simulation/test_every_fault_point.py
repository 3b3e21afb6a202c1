"""One fault at every point of a history, so that no point is left to chance."""

from __future__ import annotations

import pytest

from heat_convergence.testing.simulation.fault_injector import FAULTS_BY_POINT_TYPE
from heat_convergence.testing.simulation.scenarios import scenario_runner
from heat_convergence.testing.simulation.scenarios.scenario_generator import Scenario, TimedRequest
from heat_convergence.testing.simulation.simulation_context import EnvironmentConfig
from heat_convergence.testing.simulation.workload.user_requests import UserRequest

BEFORE = "a: Resource\nb: Immutable attributes=a\nc: Resource depends_on=b"
AFTER = "a: Resource size=2\nb: Immutable attributes=a\nd: Resource references=b"
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


@pytest.mark.parametrize("point_type", sorted(FAULTS_BY_POINT_TYPE))
def test_a_fault_at_every_point_violates_no_rule(point_type: str) -> None:
    points = scenario_runner.fault_points(SCENARIO, point_type)
    assert len(points) >= 3
    for point in points:
        for fault in sorted(FAULTS_BY_POINT_TYPE[point_type]):
            faults = {point: fault}
            result = scenario_runner.run_scenario(Scenario(**_values(faults)))
            assert result.injected_faults == faults
            assert result.violation is None, (point, fault, str(result.violation))


def _values(faults: dict[str, str]) -> dict[str, object]:
    values = {name: getattr(SCENARIO, name) for name in Scenario.__slots__}
    return {**values, "faults_by_point": faults}
