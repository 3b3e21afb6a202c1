"""One fault at every point of a history: no place is spared because chance missed it."""

from __future__ import annotations

import pytest

from heat_convergence.testing import simulator
from heat_convergence.testing.faults import KINDS
from heat_convergence.testing.generate import Case, Timed
from heat_convergence.testing.users import Act
from heat_convergence.testing.world import Shape

BEFORE = "a: Thing\nb: Rock reads=a\nc: Thing after=b"
AFTER = "a: Thing size=2\nb: Rock reads=a\nd: Thing refs=b"
HISTORY = Case(
    Shape(seed=7, engines=2, observers=1, work_s=1.0),
    "memory",
    (
        Timed(0.5, Act("create", "red", BEFORE)),
        Timed(20.0, Act("update", "red", AFTER)),
    ),
    given={},
    horizon_s=50.0,
)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_fault_at_every_point(kind: str) -> None:
    points = simulator.points(HISTORY, kind)
    assert len(points) >= 3
    for point in points:
        for fault in sorted(KINDS[kind]):
            given = {point: fault}
            result = simulator.run(Case(**_with(given)))
            assert result.fired == given
            assert result.violation is None, (point, fault, str(result.violation))


def _with(given: dict[str, str]) -> dict[str, object]:
    values = {name: getattr(HISTORY, name) for name in Case.__slots__}
    return {**values, "given": given}
