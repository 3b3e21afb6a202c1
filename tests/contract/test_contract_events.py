"""Reads and deletions of events on every database."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heat_convergence.db.reads import events as event_reads
from heat_convergence.db.repositories.events import SqlEventRepository
from heat_convergence.db.statements import events
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import event
from heat_convergence.testing.sample_rows import event_row
from heat_convergence.testing.statement_counter import count_statements


def test_newest_events_are_kept(database):
    with database.write() as conn:
        rows = [event_row(f"e{n}", stack_id="many") for n in range(9)]
        SqlEventRepository(conn).insert([*rows, event_row("f0", stack_id="few")])
        assert events.find_stacks_over_limit(conn, 3, 10) == ["many"]
        assert events.find_stacks_over_limit(conn, 9, 10) == []
        assert events.find_stacks_over_limit(conn, 0, 1) == ["few"]
        assert events.find_stacks_over_limit(conn, 3, 10, "e7") == ["many"]
        assert events.find_stacks_over_limit(conn, 0, 10, "e8") == ["few"]
        assert events.delete_oldest(conn, "many", 3, 4) == 4
        assert events.delete_oldest(conn, "many", 3, 4) == 2
        assert events.delete_oldest(conn, "many", 3, 4) == 0
        assert events.delete_oldest(conn, "nobody", 3, 4) == 0
        left = list(conn.scalars(sa.select(event.c.id).order_by(event.c.id)))
        assert left == ["e6", "e7", "e8", "f0"]


def test_one_statement_inserts_the_events_of_a_transaction(database):
    store = SqlStore(database)
    with count_statements(database.engine) as count, store.transaction() as tx:
        tx.events.insert([event_row("a", stack_id="one")])
        tx.events.insert([event_row("b", stack_id="two"), event_row("c", stack_id="one")])
    inserts = {text: n for text, n in count.by_statement.items() if "INSERT INTO event" in text}
    rows_at_once = 1 if database.engine.dialect.name != "sqlite" else 3
    assert sum(inserts.values()) == rows_at_once, count.by_statement
    with database.read() as connection:
        assert sorted(connection.scalars(sa.select(event.c.id))) == ["a", "b", "c"]


def test_transaction_that_raises_inserts_no_event(database):
    def insert_and_raise():
        with SqlStore(database).transaction() as tx:
            tx.events.insert([event_row("a", stack_id="one")])
            raise RuntimeError("of a test")

    with pytest.raises(RuntimeError, match="of a test"):
        insert_and_raise()
    with database.read() as connection:
        assert list(connection.scalars(sa.select(event.c.id))) == []


def test_starts_are_read_in_batches_the_newest_first(database, monkeypatch):
    monkeypatch.setattr(event_reads, "_STARTS_PER_BATCH", 2)
    with database.write() as conn:
        rows = [
            event_row(f"e{n}", stack_id="a", properties={"n": n} if n % 2 else None)
            for n in range(9)
        ]
        other = event_row("f0", stack_id="b", properties={"n": 9})
        SqlEventRepository(conn).insert([*rows, other])
        found = [
            (start.event_id, start.properties) for start in event_reads.iterate_starts(conn, ["a"])
        ]
    assert found == [(f"e{n}", {"n": n}) for n in (7, 5, 3, 1)]
