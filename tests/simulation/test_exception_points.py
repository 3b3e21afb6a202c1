"""An unexpected exception at each call fails one tree at most, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from heat_convergence.cli import simulate
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.testing.simulation.exception_points import POINT_TYPES
from heat_convergence.testing.simulation.scenarios.fault_enumeration import (
    SHAPES,
    FaultPoint,
    every_nth,
    list_points,
    run_fault,
)

SAMPLE_PER_SHAPE = 25


@cache
def points_of(shape: str) -> tuple[FaultPoint, ...]:
    return tuple(list_points(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_type_of_point_is_passed(shape: str) -> None:
    passed = {each.point.split("/")[1] for each in points_of(shape)}
    assert passed >= set(POINT_TYPES) - {"workers"}
    assert len(points_of(shape)) > 500


@pytest.mark.parametrize("shape", SHAPES)
def test_exception_at_a_call_is_contained(shape: str) -> None:
    results = [run_fault(each) for each in every_nth(points_of(shape), SAMPLE_PER_SHAPE)]
    assert len(results) >= SAMPLE_PER_SHAPE
    assert all(result.raised for result in results)
    assert not [(each.fault, each.violation) for each in results if each.violation is not None]


def without_boundary(removed: BoundaryName) -> Callable[..., Any]:
    original = ErrorBoundary.run

    def run(self: ErrorBoundary, work: Any, failed: Any, subject: Any = None) -> Any:
        return work() if self.name is removed else original(self, work, failed, subject)

    return run


def test_removed_boundary_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    fault = FaultPoint("verbs", "create a/verb", lasts=True)
    assert fault in points_of("verbs")
    assert run_fault(fault).violation is None
    monkeypatch.setattr(ErrorBoundary, "run", without_boundary(BoundaryName.RESOURCE_TYPE))
    assert "rule 11" in str(run_fault(fault).violation)


def test_command_reports_the_number_of_points(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate, "SHAPES", ("flat",))
    monkeypatch.setattr(simulate, "_SAMPLED_FAULTS", 3)
    assert simulate.main(["--faults", "sample"]) == simulate.EXIT_OK
    output = capsys.readouterr().out
    assert f"of {len(points_of('flat'))} points on the memory store: 0 violated" in output
