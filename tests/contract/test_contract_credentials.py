"""Stacks' credentials on every database: sealed, replaced, found when unneeded."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from heat_convergence.db import credentials, snapshots, stacks
from heat_convergence.db.tables import stack_credential
from heat_convergence.testing.rows import at, stack_row
from tests.contract.test_contract_snapshots import SAVED

BODY = {"secret": {"trust_id": "planted-secret"}}


def test_a_credential_is_sealed_and_replaced(database):
    with database.write() as conn:
        credentials.put(conn, "s", {"secret": "first"}, at(1))
        credentials.put(conn, "s", BODY, at(2))
        assert credentials.get(conn, "s") == BODY
        assert credentials.get(conn, "t") is None
        raw = conn.execute(sa.select(sa.type_coerce(stack_credential.c.body, sa.Text)))
        (text,) = raw.scalars()
        assert text.startswith("sealed:")
        credentials.delete(conn, "s")
        assert credentials.get(conn, "s") is None


def test_those_of_deleted_stacks_and_of_none_are_unneeded(database):
    with database.write() as conn:
        for name in ("lives", "deleted", "never", "young"):
            credentials.put(conn, name, BODY, at(1))
        credentials.put(conn, "young", BODY, at(9))
        stacks.insert(conn, stack_row("lives"))
        stacks.insert(conn, stack_row("deleted", name="other"))
        stacks.update(conn, "deleted", deleted_at=at(3))
        found = credentials.unneeded(conn, at(5), 10)
        assert found == [("deleted", BODY), ("never", BODY)]
        assert [key for key, _body in credentials.unneeded(conn, at(5), 1)] == ["deleted"]


def test_what_snapshots_saved_is_deleted_first(database):
    with database.write() as conn:
        credentials.put(conn, "s", BODY, at(1))
        stacks.insert(conn, stack_row("s"))
        stacks.update(conn, "s", deleted_at=at(3))
        snapshots.insert(conn, replace(SAVED, stack_id="s"))
        snapshots.doom(conn, "s", at(4))
        assert credentials.unneeded(conn, at(5), 10) == []
        snapshots.delete(conn, SAVED.id)
        assert credentials.unneeded(conn, at(5), 10) == [("s", BODY)]
