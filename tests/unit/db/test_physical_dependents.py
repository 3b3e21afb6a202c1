"""Physical dependents are found by keys: the cost grows with them, not with the stack."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.db.connection.database import Database
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.sample_rows import resource_row, stack_row


@pytest.mark.parametrize("count", [1, 100])
def test_physical_dependents_are_found_by_index(database: Database, count: int) -> None:
    rows = [resource_row(f"r{number:04}") for number in range(1000)]
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if statement.startswith("SELECT"):
            sent.append((statement, parameters))

    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row("stack-1"))
        tx.resources.insert(rows)
        tx.graph.add_physical_dependencies(
            "stack-1", [(row.id, f"used by {row.id}") for row in rows]
        )
        sa.event.listen(database.engine, "before_cursor_execute", note)
        expected = [row.id for row in rows[:count]]
        found = tx.graph.find_physical_dependents(
            "stack-1", [f"used by {row_id}" for row_id in expected]
        )
        sa.event.remove(database.engine, "before_cursor_execute", note)
    assert [row.id for row in found] == expected
    ((statement, parameters),) = sent
    with database.read() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    steps = [row.detail for row in plan]
    assert not [step for step in steps if step.startswith("SCAN resource")], steps
    assert any("resource_hold" in step and "held_id=?" in step for step in steps), steps
