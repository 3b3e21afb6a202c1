"""Copies of complete stacks and of what they have in the emulated cloud.

To create thousands of resources by requests would take minutes; the watch reads rows and lists.
"""

from __future__ import annotations

import copy
import uuid
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.tables import resource
from heat_convergence.testing.openstack.emulation import Emulation
from tests.functional.harness import LocalService

Json = Any


def rows_of(service: LocalService, stack_id: str) -> list[Resource]:
    with service.services.store.transaction() as tx:
        return tx.resources.lock_by_stack(stack_id)


def copy_bodies(emulation: Emulation, physical_id: str | None, count: int) -> list[str]:
    """Copy an object, whose copies have ids of their own; return these."""
    assert physical_id is not None
    for collection in emulation._collections.values():
        item = collection.get(physical_id)
        if item is None:
            continue
        bodies = [{**copy.deepcopy(item.body), "id": str(uuid.uuid4())} for _ in range(count)]
        for body in bodies:
            collection.add(body)
        return [str(body["id"]) for body in bodies]
    raise AssertionError(f"{physical_id} is not in the cloud")


def copy_row(row: Resource, physical_id: str, suffix: str, **identity: Json) -> Resource:
    """Return a copy of a row with another physical resource."""
    name = f"{row.identity.physical_name[:200]}{suffix}"
    return replace(
        row,
        identity=replace(row.identity, id=str(uuid.uuid4()), physical_name=name, **identity),
        physical=replace(row.physical, id=physical_id, dependencies=()),
    )


def insert_rows(service: LocalService, rows: list[Resource]) -> None:
    for start in range(0, len(rows), 500):
        with service.services.store.transaction() as tx:
            tx.resources.insert(rows[start : start + 500])


def copy_stack(service: LocalService, emulation: Emulation, path: str, name: str) -> None:
    """Copy a stack with all of its resources."""
    stack_id = path.rsplit("/", 1)[1]
    with service.services.store.transaction() as tx:
        stack = tx.stacks.lock(stack_id)
        assert stack is not None
        copied = replace(stack, id=str(uuid.uuid4()), name=name)
        tx.stacks.insert(copied)
    values = {"stack_id": copied.id, "root_id": copied.id}
    rows = rows_of(service, stack_id)
    ids = {row.id: copy_bodies(emulation, row.physical.id, 1)[0] for row in rows}
    insert_rows(service, [copy_row(row, ids[row.id], name, **values) for row in rows])


def copy_resource(
    service: LocalService, emulation: Emulation, path: str, name: str, count: int
) -> list[str]:
    """Copy a resource so many times in its stack; return the physical ids of the copies."""
    (row,) = (row for row in rows_of(service, path.rsplit("/", 1)[1]) if row.name == name)
    ids = copy_bodies(emulation, row.physical.id, count)
    rows = [copy_row(row, key, f"{n}", name=f"{name}{n}") for n, key in enumerate(ids)]
    insert_rows(service, rows)
    return ids


def count_rows(service: LocalService) -> int:
    with service.database.read() as connection:
        return int(connection.scalar(sa.select(sa.func.count()).select_from(resource)) or 0)
