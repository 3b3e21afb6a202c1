"""Events beyond the limit are deleted, the oldest first, on every database."""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.db.repositories.events import SqlEventRepository
from heat_convergence.db.statements import events
from heat_convergence.db.tables import event
from heat_convergence.testing.sample_rows import event_row


def test_newest_events_are_kept(database):
    with database.write() as conn:
        rows = [event_row(f"e{n}", stack_id="many") for n in range(9)]
        SqlEventRepository(conn).insert([*rows, event_row("f0", stack_id="few")])
        assert events.find_stacks_over_limit(conn, 3, 10) == ["many"]
        assert events.find_stacks_over_limit(conn, 9, 10) == []
        assert events.find_stacks_over_limit(conn, 0, 1) == ["few"]
        assert events.delete_oldest(conn, "many", 3, 4) == 4
        assert events.delete_oldest(conn, "many", 3, 4) == 2
        assert events.delete_oldest(conn, "many", 3, 4) == 0
        assert events.delete_oldest(conn, "nobody", 3, 4) == 0
        left = list(conn.scalars(sa.select(event.c.id).order_by(event.c.id)))
        assert left == ["e6", "e7", "e8", "f0"]
