"""Stacks' credentials on every database: sealed, replaced, found when unneeded."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from heat_convergence.db.repositories.snapshots import SqlSnapshotRepository
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.db.statements import credentials
from heat_convergence.db.tables import stack_credential
from heat_convergence.testing.sample_rows import stack_row, time_at
from tests.contract.test_contract_snapshots import SAVED

BODY = {"secret": {"trust_id": "planted-secret"}}


def test_credential_is_encrypted_and_replaced(database):
    with database.write() as conn:
        credentials.upsert(conn, "s", {"secret": "first"}, time_at(1))
        credentials.upsert(conn, "s", BODY, time_at(2))
        assert credentials.get(conn, "s") == BODY
        assert credentials.get(conn, "t") is None
        raw = conn.execute(sa.select(sa.type_coerce(stack_credential.c.body, sa.Text)))
        (text,) = raw.scalars()
        assert text.startswith("sealed:")
        credentials.delete(conn, "s")
        assert credentials.get(conn, "s") is None


def test_credentials_without_live_stack_are_orphaned(database):
    with database.write() as conn:
        for name in ("lives", "deleted", "never", "young"):
            credentials.upsert(conn, name, BODY, time_at(1))
        credentials.upsert(conn, "young", BODY, time_at(9))
        SqlStackRepository(conn).insert(stack_row("lives"))
        SqlStackRepository(conn).insert(stack_row("deleted", name="other"))
        SqlStackRepository(conn).update("deleted", deleted_at=time_at(3))
        found = credentials.list_orphaned(conn, time_at(5), 10)
        assert found == [("deleted", BODY), ("never", BODY)]
        assert [key for key, _body in credentials.list_orphaned(conn, time_at(5), 1)] == [
            "deleted"
        ]


def test_credential_is_kept_until_snapshot_data_is_deleted(database):
    with database.write() as conn:
        credentials.upsert(conn, "s", BODY, time_at(1))
        SqlStackRepository(conn).insert(stack_row("s"))
        SqlStackRepository(conn).update("s", deleted_at=time_at(3))
        SqlSnapshotRepository(conn).insert(replace(SAVED, stack_id="s"))
        SqlSnapshotRepository(conn).schedule_deletion(["s"], time_at(4))
        assert credentials.list_orphaned(conn, time_at(5), 10) == []
        SqlSnapshotRepository(conn).delete(SAVED.id)
        assert credentials.list_orphaned(conn, time_at(5), 10) == [("s", BODY)]
