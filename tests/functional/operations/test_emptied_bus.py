"""Jobs that found no room on the bus, which workers have emptied before their commit.

The workers could not see them, so that nobody would post them before the sweep. Databases on
servers alone: SQLite has one transaction at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from heat_convergence.convergence.model.job import Workload
from heat_convergence.db.repositories.jobs import SqlJobRepository
from heat_convergence.db.tables import metadata
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
PLACES = 2
VALUE: Json = {"type": "OS::Heat::Value", "properties": {"value": 1}}
FULL = hot_template({f"r{number}": VALUE for number in range(PLACES)})
CHAIN = hot_template({"first": VALUE, "second": {**VALUE, "depends_on": "first"}})


@pytest.fixture(params=["mariadb_url", "postgresql_url"])
def heat(request: pytest.FixtureRequest) -> Iterator[ProjectClient]:
    service = LocalService(request.getfixturevalue(request.param))
    with service.database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
    service.use_settings(jobs_on_bus=PLACES)
    yield ProjectClient(service)
    metadata.drop_all(service.database.engine)  # later tests have stacks of the same ids
    service.close()


@contextmanager
def after_next_look_at_the_bus(run: Callable[[], None]) -> Iterator[None]:
    """Run what other processes do, once, when a transaction has read how full the bus is."""
    read, waiting = SqlJobRepository.get_workload, [run]

    def read_early(repository: SqlJobRepository, *arguments: Any) -> Workload:
        found = read(repository, *arguments)
        while waiting:
            waiting.pop()()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlJobRepository, "get_workload", read_early)
        yield
    assert not waiting


def end_all_jobs(heat: ProjectClient) -> None:
    """Let the daemons do what is on the bus; there is no sweep."""
    while heat.service.handle_next():
        pass


def test_new_stack_of_a_project_with_a_full_bus(heat: ProjectClient) -> None:
    heat.create("full", FULL, hold=True)
    with after_next_look_at_the_bus(lambda: end_all_jobs(heat)):
        heat.create("late", FULL, hold=True)
    end_all_jobs(heat)
    assert heat.status("full") == heat.status("late") == "CREATE_COMPLETE"


def test_leaf_that_gets_free_while_the_bus_is_full(heat: ProjectClient) -> None:
    heat.create("chain", CHAIN, hold=True)
    engine_message = heat.service.bus.pending.popleft()
    heat.service.deliver(engine_message)
    observer_message = heat.service.bus.pending.popleft()
    assert observer_message.method == "observe"
    heat.create("full", FULL, hold=True)
    with after_next_look_at_the_bus(lambda: end_all_jobs(heat)):
        heat.service.deliver(observer_message)
    end_all_jobs(heat)
    assert heat.status("full") == heat.status("chain") == "CREATE_COMPLETE"


@pytest.mark.parametrize("names", [("one",), ("one", "two")])
def test_nested_stacks_that_start_while_the_bus_is_full(
    heat: ProjectClient, names: tuple[str, ...]
) -> None:
    parent = hot_template({name: {"type": "full.yaml"} for name in names})
    heat.create("parent", parent, files={"full.yaml": json.dumps(FULL)}, hold=True)
    engine_message = heat.service.bus.pending.popleft()
    assert len(engine_message.resource_ids) == len(names)
    heat.create("full", FULL, hold=True)
    with after_next_look_at_the_bus(lambda: end_all_jobs(heat)):
        heat.service.deliver(engine_message)
    end_all_jobs(heat)
    assert heat.status("full") == heat.status("parent") == "CREATE_COMPLETE"
