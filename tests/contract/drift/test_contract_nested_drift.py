"""The drift of nested stacks on every database: levels, times, and what is left out."""

from __future__ import annotations

from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    ResourceObservation,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.model.action import Status
from heat_convergence.db.drift import nested_stacks, reads
from heat_convergence.db.drift.reads import ResourceDrift
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import resource
from heat_convergence.testing.sample_rows import resource_row, stack_row, time_at
from tests.contract.conftest import StoreSeeder

TYPE = "Sim::Resource"
PARENTS = {"middle": ("root", "m"), "leaf": ("middle", "l"), "empty": ("root", "e")}


def observation(resource_id, stack_id, second, status=DriftStatus.IN_SYNC):
    return ResourceObservation(
        resource_id=resource_id,
        stack_id=stack_id,
        project_id="project-1",
        implementation=TYPE,
        status=status,
        since=time_at(second),
        observed_at=time_at(second),
    )


def tree(database) -> SqlStore:
    """Store a root with a nested stack, one below that, and one of which nothing was read."""
    seeder = StoreSeeder(SqlStore(database))
    seeder.stack(stack_row("root", status=Status.COMPLETE))
    for stack_id, (parent, owner) in sorted(
        PARENTS.items(), key=lambda each: each[1][0] != "root"
    ):
        values = {"owner_id": parent, "owner_resource_id": owner, "root_id": "root"}
        seeder.stack(stack_row(stack_id, status=Status.COMPLETE, **values))
    rows = {"m": "root", "e": "root", "l": "middle", "x": "middle", "y": "leaf", "z": "leaf"}
    common = {"physical_id": "p", "job": None, "job_state": None, "status": Status.COMPLETE}
    seeder.resources(
        *(
            resource_row(name, stack_id=stack_id, project_id="project-1", **common)
            for name, stack_id in rows.items()
        )
    )
    return seeder.store


def record(store, *observations, observed_at=None):
    group = WatchGroup(
        project_id="project-1",
        implementation=TYPE,
        interval_s=15.0,
        next_at=time_at(15),
        observed_at=observed_at,
    )
    store.watch.add_groups(["middle"], [TYPE], time_at(15), 15.0)
    assert store.watch.record(group, WatchResult(observations)) == len(observations)


def test_status_and_time_of_all_levels(database):
    store = tree(database)
    unknown = observation("z", "leaf", 20, DriftStatus.UNKNOWN)
    deleted = observation("y", "leaf", 40, DriftStatus.DELETED)
    record(store, observation("x", "middle", 30), unknown, deleted)
    modified = ResourceDrift(DriftStatus.MODIFIED, time_at(20))
    with database.read() as connection:
        assert nested_stacks.read_by_parents(connection, ["root"]) == {"m": modified}
        both = nested_stacks.read_by_parents(connection, ["root", "middle", "leaf"])
        assert both == {"m": modified, "l": modified}
        assert nested_stacks.read_of_resource(connection, "l") == modified
        assert nested_stacks.read_of_resource(connection, "e") is None


def test_time_is_that_of_the_last_read_of_the_group(database):
    store = tree(database)
    record(store, observation("x", "middle", 20), observed_at=time_at(90))
    with database.read() as connection:
        found = nested_stacks.read_of_resource(connection, "m")
    assert found == ResourceDrift(DriftStatus.IN_SYNC, time_at(90))


def test_observation_from_before_an_action_is_ignored(database):
    store = tree(database)
    record(store, observation("y", "leaf", 20, DriftStatus.DELETED))
    with database.write() as connection:
        changed = resource.update().where(resource.c.id == "y")
        connection.execute(changed.values(updated_at=time_at(50)))
    with database.read() as connection:
        assert nested_stacks.read_of_resource(connection, "m") is None


def test_nested_stack_counts_its_descendants(database):
    store = tree(database)
    record(store, observation("x", "middle", 30), observation("y", "leaf", 40))
    with store.transaction() as tx:
        middle = tx.stacks.get("middle")
    with database.read() as connection:
        assert reads.count_by_status(connection, middle) == {DriftStatus.IN_SYNC: 2}
