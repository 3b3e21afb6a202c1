"""The times when jobs are posted and the end of a traversal is looked for, as counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.repositories.readiness import SqlReadinessRepository
from heat_convergence.db.tables import metadata
from tests.functional.performance.test_traversal_cost import CostMeter, wide

SMALL = 5


def _jobs_ahead(folder: Path, size: int) -> int:
    """Return how many jobs of a stack of ``size`` run before a later small one is complete."""
    database = database_from_url(f"sqlite:///{folder}/{size}.sqlite")
    metadata.create_all(database.engine)
    bench = CostMeter(database, ConvergenceSettings())
    huge = bench.service.create(wide(size), name="huge")
    small = bench.service.create(wide(SMALL), name="small")
    ahead = 0
    while bench.service.stack(small).in_progress:
        message = bench.service.bus.pending[0]
        if (message.method, message.stack_id) == ("converge", huge):
            ahead += len(message.resource_ids)
        assert bench.service.handle_next()
    database.close()
    return ahead


def test_fifty_thousand_resources_delay_five_by_a_few_jobs(tmp_path: Path) -> None:
    """Only the jobs already on the bus and one round of scheduling come first."""
    most = 2 * ConvergenceSettings().jobs_on_bus - SMALL
    assert 0 < _jobs_ahead(tmp_path, 500) == _jobs_ahead(tmp_path, 50_000) <= most


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[CostMeter]:
    database = database_from_url(f"sqlite:///{tmp_path}/hc.sqlite")
    metadata.create_all(database.engine)
    yield CostMeter(database, ConvergenceSettings())
    database.close()


def test_leaves_of_a_new_stack_are_posted_as_they_are_stored(bench: CostMeter) -> None:
    on_bus = ConvergenceSettings().jobs_on_bus
    for size, posted in ((10, 10), (100, on_bus - 10), (10, 0)):
        with bench.measured() as cost:
            bench.service.create(wide(size), name=f"with {posted} posted")
        assert cost.jobs == posted
        assert "UPDATE resource" not in cost.statements.by_statement


def test_end_of_a_traversal_is_looked_for_when_nothing_is_under_way(
    bench: CostMeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[bool] = []
    original = SqlReadinessRepository.find_unready_stacks

    def noted(repository: Any, stack_ids: Sequence[str]) -> frozenset[str]:
        unready = original(repository, stack_ids)
        if stack_ids:
            found.append(bool(unready))
        return unready

    monkeypatch.setattr(SqlReadinessRepository, "find_unready_stacks", noted)
    bench.created(wide(200))
    assert found == [False]
