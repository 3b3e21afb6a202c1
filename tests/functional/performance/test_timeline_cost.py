"""The cost of recorded timelines: at most 3 % more statements for a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.timeline import marks
from heat_convergence.db.connection.database import Database
from heat_convergence.db.tables import resource
from tests.functional.empty_tables import open_with_empty_tables
from tests.functional.performance.test_traversal_cost import CostMeter, chain, layered, wide

MOST_MORE = 1.03


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    with open_with_empty_tables(request.getfixturevalue(f"{request.param}_url")) as opened:
        yield opened


def _without_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JobTransition, "with_marks", lambda self, *_args, **_kwargs: self)
    monkeypatch.setattr(marks, "for_event", lambda *_args: None)


def _statements(database: Database, shape: Callable[[int], Any], size: int) -> int:
    meter = CostMeter(database, ConvergenceSettings())
    meter.created(shape(2 if shape is not layered else 10))
    with meter.measured() as cost:
        stack_id = meter.created(shape(size))
        meter.service.delete(stack_id)
        meter.settle(stack_id)
    return cost.statements.total


@pytest.mark.parametrize("database", ["sqlite", "mariadb", "postgresql"], indirect=True)
@pytest.mark.parametrize("shape", [wide, chain, layered])
def test_timelines_cost_few_statements(
    database: Database, monkeypatch: pytest.MonkeyPatch, shape: Callable[[int], Any]
) -> None:
    recorded = _statements(database, shape, 60)
    with monkeypatch.context() as patch:
        _without_marks(patch)
        plain = _statements(database, shape, 60)
    assert plain <= recorded <= MOST_MORE * plain


@pytest.mark.parametrize("database", ["sqlite", "mariadb", "postgresql"], indirect=True)
def test_each_resource_knows_what_has_unblocked_it(database: Database) -> None:
    meter = CostMeter(database, ConvergenceSettings())
    stack_id = meter.created(layered(30))
    with database.read() as connection:
        rows = connection.execute(
            sa.select(resource.c.id, resource.c.name, resource.c.requires, resource.c.timeline)
            .where(resource.c.stack_id == stack_id)
        ).all()  # fmt: skip
    names = {row.id: row.name for row in rows}
    for row in rows:
        _, found = marks.parse_marks(row.timeline)
        causes = {names[mark.detail] for mark in found if mark.type is marks.MarkType.UNBLOCKED}
        assert len(causes) == bool(row.requires)
        assert causes <= set(row.requires)


@pytest.mark.parametrize("database", ["sqlite", "mariadb", "postgresql"], indirect=True)
def test_a_timeline_has_a_bound(database: Database) -> None:
    """Marks are left out where there is no more room, in SQL as in Python."""
    meter = CostMeter(database, ConvergenceSettings())
    stack_id = meter.created(wide(1))
    full = "x" * (marks.MAX_CHARS - 1)
    with meter.store.transaction() as tx:
        (row,) = tx.resources.get_by_stack(stack_id)
    with database.write() as connection:
        connection.execute(resource.update().values(timeline=full).where(resource.c.id == row.id))
    for expected in (full + "mark;", full + "mark;"):
        with meter.store.transaction() as tx:
            change = JobTransition("test", frozenset({None}), {"hook": None}, "mark;")
            tx.jobs.apply([row.id], change)
        with meter.store.transaction() as tx:
            (found,) = tx.resources.get([row.id])
        assert found.job.timeline == expected
    assert marks.append_marks(full + "mark;", "mark;") == full + "mark;"
