"""Trees of stacks, with breakpoints, under the simulator: no rule is broken."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from functools import cache

import pytest

from heat_convergence.testing import simulator, transcript
from heat_convergence.testing.faults import KINDS
from heat_convergence.testing.generate import Case, Timed, below_case, tree_case
from heat_convergence.testing.simulator import Result, run
from heat_convergence.testing.users import Act
from heat_convergence.testing.world import Shape

SEEDS = range(1, 41)
SQLITE_SEEDS = range(501, 506)
BELOW_SEEDS = range(1, 21)
BEFORE = "n: Nest\nn.a: Thing\nb: Thing reads=n"
AFTER = "n: Nest\nn.a: Thing size=2\nb: Thing reads=n"
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


@pytest.fixture(autouse=True, scope="module")
def _quiet() -> Iterator[None]:
    logger = logging.getLogger("heat_convergence")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)


@cache
def history(seed: int, store: str) -> Result:
    return run(tree_case(seed, store=store))


def _told(seed: int, store: str, result: Result) -> str:
    return f"{result.violation}\n{transcript.written(tree_case(seed, store=store), result.fired)}"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_rule_is_broken(seed: int) -> None:
    result = history(seed, "memory")
    assert result.violation is None, _told(seed, "memory", result)


@pytest.mark.parametrize("seed", SQLITE_SEEDS)
def test_no_rule_is_broken_on_sqlite(seed: int) -> None:
    result = history(seed, "sqlite")
    assert result.violation is None, _told(seed, "sqlite", result)


@pytest.mark.parametrize("seed", BELOW_SEEDS)
def test_no_rule_is_broken_by_requests_about_nested_stacks(seed: int) -> None:
    case = below_case(seed)
    result = run(case)
    told = f"{result.violation}\n{transcript.written(case, result.fired)}"
    assert result.violation is None, told


def test_trees_and_breakpoints_come_up() -> None:
    happened: Counter[str] = Counter()
    for seed in SEEDS:
        happened += history(seed, "memory").happened
    wanted = {"nest made", "nest deleted", "nest failed", "held", "held below", "user clear"}
    assert {name for name in wanted if happened[name] < 3} == set(), happened


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"call", "look", "birth"}))
def test_a_fault_at_every_point_of_a_tree(kind: str) -> None:
    """A crash before and after every commit: also between the end of the child and that
    of the parent."""
    points = simulator.points(HISTORY, kind)
    assert len(points) >= 3
    for point in points:
        for fault in sorted(KINDS[kind]):
            values = {name: getattr(HISTORY, name) for name in Case.__slots__}
            result = run(Case(**{**values, "given": {point: fault}}))
            assert result.violation is None, (point, fault, str(result.violation))
