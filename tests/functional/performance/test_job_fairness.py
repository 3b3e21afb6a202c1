"""Fairness between a huge and a small stack, counted in jobs."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import database_from_url
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
