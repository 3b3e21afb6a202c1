"""A huge stack stands before a small one: how much of it is done first, in jobs."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.tables import metadata
from tests.functional.performance.test_traversal_cost import CostMeter, wide

SMALL = 5


def _jobs_ahead(folder: Path, size: int) -> int:
    """Jobs of a stack of that size which engines do from the moment at which a small
    one is asked for until it is complete; one message at a time, in their order."""
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
    """By those that are on the bus already, and those of its turn beside the small
    one's; as many as a stack of a hundredth of its size."""
    most = 2 * ConvergenceSettings().jobs_on_bus - SMALL
    assert 0 < _jobs_ahead(tmp_path, 500) == _jobs_ahead(tmp_path, 50_000) <= most
