"""Equal parts of the rows of a stack are one object when many of them are read at once."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.db.connection.database import Database
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.sample_rows import resource_row
from tests.contract.conftest import StoreSeeder

DEFINITION = {"type": "Sim::Resource", "properties": {"list": ["a", {"get_param": "b"}]}}
PROPERTIES = {"plain": {"a": ["b", "c"]}, "long": {"text": "x" * 5000}}


@pytest.fixture
def seeder(database: Database) -> StoreSeeder:
    seeder = StoreSeeder(SqlStore(database))
    seeder.stack()
    rows = [
        resource_row(name, definition=DEFINITION, properties=PROPERTIES) for name in ("a", "b")
    ]
    seeder.resources(*rows)
    return seeder


@pytest.mark.parametrize("named", [False, True])
def test_planned_rows_share_their_definitions(seeder: Any, named: bool) -> None:
    with seeder.store.transaction() as tx:
        if named:
            first, second = tx.resources.lock_by_names("stack-1", ["a", "b"])
        else:
            first, second = tx.resources.lock_by_stack("stack-1")
    assert first.desired.definition == DEFINITION
    assert first.desired.definition is second.desired.definition


def test_inputs_share_their_properties(seeder: Any) -> None:
    with seeder.store.read() as tx:
        inputs = tx.incarnations.get_inputs("stack-1", ["a", "b"])
    assert inputs["a"].properties == PROPERTIES
    for name in PROPERTIES:
        assert inputs["a"].properties[name] is inputs["b"].properties[name]
