"""Who holds what is found by keys: the cost is that of what is found, not of the stack."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.engine import database_for
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.testing.rows import resource_row, stack_row


@pytest.mark.parametrize("count", [1, 100])
def test_holders_are_looked_up_one_by_one(tmp_path: Any, count: int) -> None:
    database = database_for(f"sqlite:///{tmp_path}/hc.sqlite")
    metadata.create_all(database.engine)
    rows = [resource_row(f"r{number:04}") for number in range(1000)]
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, given: Any, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, given))

    with SqlStore(database).transaction() as tx:
        tx.insert_stack(stack_row("stack-1"))
        tx.insert_resources(rows)
        tx.add_holds("stack-1", [(row.id, f"held by {row.id}") for row in rows])
        sa.event.listen(database.engine, "before_cursor_execute", note)
        wanted = [row.id for row in rows[:count]]
        found = tx.holding("stack-1", [f"held by {row_id}" for row_id in wanted])
        sa.event.remove(database.engine, "before_cursor_execute", note)
    assert [row.id for row in found] == wanted
    ((statement, given),) = sent
    with database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given).all()
    database.close()
    ways = [row.detail for row in plan]
    assert not [way for way in ways if way.startswith("SCAN resource")], ways
    assert any("resource_hold" in way and "held_id=?" in way for way in ways), ways
