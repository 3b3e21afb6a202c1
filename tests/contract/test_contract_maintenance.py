"""Purge, key rotation and consistency check on every database, also during writes."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
import sqlalchemy as sa

from heat_convergence.common.failures import ConcurrentTransaction
from heat_convergence.db.encryption.column_encryption import (
    ENCRYPTED_PREFIX,
    Keyring,
    attach_keyring,
)
from heat_convergence.db.maintenance import consistency, key_rotation, purge
from heat_convergence.db.repositories.stacks import SqlStackRepository
from heat_convergence.db.statements import contents
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import content, goal, metadata, resource, stack
from heat_convergence.testing.sample_rows import (
    event_row,
    goal_row,
    resource_row,
    stack_row,
    time_at,
)
from tests.contract.test_contract_snapshots import SAVED

HASHES = {hashlib.sha256(text.encode()).hexdigest(): text for text in ("one", "two", "three")}
A, B, C = sorted(HASHES)


def insert_stacks(database):
    """Insert a stack that exists, with text B, and two deleted ones, with A and B."""
    with SqlStore(database).transaction() as tx:
        tx.contents.put(HASHES)
        for number, name in enumerate(("lives", "old", "older")):
            tx.stacks.insert(
                stack_row(
                    name,
                    goal_id=f"goal-{name}",
                    tags=("t",),
                    project_id="p" if name == "older" else "q",
                )
            )
            text = B if name == "lives" else A
            tx.goals.insert(
                goal_row(f"goal-{name}", stack_id=name, template_hash=text, files={"f": B})
            )
            tx.events.insert([event_row(f"e{number}", stack_id=name)])
        tx.stacks.update("old", deleted_at=time_at(20))
        tx.stacks.update("older", deleted_at=time_at(10))


def get_ids(database, table=stack):
    (key,) = table.primary_key.columns
    with database.read() as conn:
        return sorted(conn.scalars(sa.select(key)))


def test_purge_selects_stacks_deleted_before_a_time(database):
    insert_stacks(database)
    assert purge.find_deleted_stacks(database, time_at(9), None, 10) == []
    assert purge.find_deleted_stacks(database, time_at(15), None, 10) == ["older"]
    assert purge.find_deleted_stacks(database, time_at(30), None, 10) == ["older", "old"]
    assert purge.find_deleted_stacks(database, time_at(30), "q", 10) == ["old"]
    assert purge.find_deleted_stacks(database, time_at(30), None, 1) == ["older"]


def test_purge_waits_for_snapshot_deletion(database):
    insert_stacks(database)
    with SqlStore(database).transaction() as tx:
        for name in ("old", "older"):
            tx.snapshots.insert(replace(SAVED, id=f"of-{name}", stack_id=name))
        tx.snapshots.schedule_deletion(["old"], time_at(20))
    assert purge.find_deleted_stacks(database, time_at(30), None, 10) == ["older"]
    with SqlStore(database).transaction() as tx:
        tx.snapshots.update("of-old", delete_at=None)  # no further tries
    assert purge.find_deleted_stacks(database, time_at(30), None, 10) == ["older", "old"]


def test_purge_retries_concurrent_transaction(database, monkeypatch):
    insert_stacks(database)
    write, tries = database.write, []

    def troubled():
        tries.append(1)
        if len(tries) % 2:
            raise ConcurrentTransaction("deadlock")
        return write()

    monkeypatch.setattr(database, "write", troubled)
    assert purge.purge_contents(database) == 1
    keyring = Keyring(["new key", "a key for tests"])
    assert (
        key_rotation.rewrite_encrypted_values(
            database, key_rotation.rotate_to_newest_key(keyring)
        ).rewritten
        == 2
    )
    assert len(tries) == 8


def test_purged_stack_leaves_no_rows(database):
    insert_stacks(database)
    assert purge.purge_stacks(database, ["old", "older", "nobody"]) == 2
    with database.read() as conn:
        for table in metadata.sorted_tables:
            if "stack_id" in table.c:
                assert set(conn.scalars(sa.select(table.c.stack_id))) <= {"lives"}, table.name
    assert get_ids(database) == ["lives"]


def test_unreferenced_contents_are_purged(database):
    insert_stacks(database)
    assert purge.purge_contents(database) == 1
    assert get_ids(database, content) == [A, B]
    purge.purge_stacks(database, ["old", "older"])
    assert purge.purge_contents(database) == 1
    assert get_ids(database, content) == [B]


def test_purge_on_galera_waits_for_transactions_on_other_nodes(database, monkeypatch):
    """The text is used by a transaction that another node commits during the wait."""
    insert_stacks(database)
    monkeypatch.setattr(database, "is_on_galera", lambda: True)
    waits = []

    def use(seconds):
        waits.append(seconds)
        with database.write() as conn:
            conn.execute(goal.update().where(goal.c.id == "goal-old").values(template_hash=C))

    before = set(get_ids(database, content))
    assert purge.purge_contents(database, wait=use) == 0
    assert waits == [purge.MAX_TRANSACTION_S]
    assert set(get_ids(database, content)) == before


def test_content_stored_again_is_not_purged(database):
    insert_stacks(database)
    with database.write() as conn:
        conn.execute(content.update().values(unused=True))
        contents.put_contents(conn, {C: HASHES[C]})
        left = sa.select(content.c.hash).where(content.c.unused).order_by(content.c.hash)
        assert list(conn.scalars(left)) == [A, B]


def test_project_purge_deletes_all_its_rows(database):
    insert_stacks(database)
    assert purge.find_project_stacks(database, "p", 10) == ["older"]
    purge.purge_stacks(database, purge.find_project_stacks(database, "p", 10))
    assert get_ids(database) == ["lives", "old"]


def test_key_rotation_changes_no_value(database):
    old, new = Keyring(["old key"]), Keyring(["new key", "old key"])
    attach_keyring(database.engine, old)
    with SqlStore(database).transaction() as tx:
        tx.contents.put({A: HASHES[A]})
        tx.stacks.insert(stack_row())
        tx.goals.insert(goal_row(parameters={"p": "secret"}, sensitive=True))
        tx.resources.insert(
            [
                resource_row("r1", sensitive=True, properties={"p": "secret"}),
                resource_row("r2", properties={"p": "plain"}),
            ]
        )
    attach_keyring(database.engine, new)
    done = key_rotation.rewrite_encrypted_values(
        database, key_rotation.rotate_to_newest_key(new), batch_size=1
    )
    assert done.unreadable == 0
    assert done.rewritten == 1 + 3 + 4  # a text, a goal's values, a resource's
    assert (
        key_rotation.rewrite_encrypted_values(
            database, key_rotation.rotate_to_newest_key(new)
        ).rewritten
        == 0
    )
    attach_keyring(database.engine, Keyring(["new key"]))
    with SqlStore(database).transaction() as tx:
        assert tx.goals.get("goal-1").parameters == {"p": "secret"}
        assert [row.physical.properties for row in tx.resources.get(["r1", "r2"])] == [
            {"p": "secret"},
            {"p": "plain"},
        ]
        assert tx.contents.get([A]) == {A: HASHES[A]}


def test_interrupted_key_rotation_is_repeatable(database, monkeypatch):
    """Both keys read everything in between; afterwards no value needs the old one."""
    old, new = Keyring(["old key"]), Keyring(["new key", "old key"])
    attach_keyring(database.engine, old)
    with SqlStore(database).transaction() as tx:
        tx.contents.put(HASHES)
        for number in range(4):
            tx.goals.insert(goal_row(f"g{number}", parameters={"p": "secret"}, sensitive=True))
    attach_keyring(database.engine, new)
    write, left = database.write, iter(range(6))

    def dying():
        next(left)  # StopIteration, as the process would end
        return write()

    monkeypatch.setattr(database, "write", dying)
    with pytest.raises(StopIteration):
        key_rotation.rewrite_encrypted_values(
            database, key_rotation.rotate_to_newest_key(new), batch_size=2
        )
    monkeypatch.setattr(database, "write", write)
    with SqlStore(database).transaction() as tx:
        assert all(tx.goals.get(f"g{number}").parameters for number in range(4))
        assert tx.contents.get(HASHES) == HASHES
    assert (
        key_rotation.rewrite_encrypted_values(
            database, key_rotation.rotate_to_newest_key(new)
        ).rewritten
        == 3 + 4 * 3 - 6
    )
    newest = Keyring(["new key"])
    for table, columns in key_rotation.list_encryptable_columns():
        with database.read() as conn:
            raw = sa.select(*(sa.type_coerce(table.c[name], sa.Text) for name in columns))
            texts = [text for row in conn.execute(raw) for text in row if text is not None]
        for text in texts:
            if text.startswith(ENCRYPTED_PREFIX):
                newest.decrypt(text.removeprefix(ENCRYPTED_PREFIX))


def test_secrets_are_decrypted_and_reencrypted(database):
    keyring = Keyring(["a key for tests"])
    with SqlStore(database).transaction() as tx:
        tx.goals.insert(goal_row("g1", parameters={"p": "planted-secret"}, sensitive=True))
        tx.goals.insert(goal_row("g2", parameters={"p": "nothing"}))
    raw = sa.select(sa.type_coerce(goal.c.parameters, sa.Text)).order_by(goal.c.id)
    key_rotation.rewrite_encrypted_values(database, key_rotation.decrypt_to_plaintext(keyring))
    with database.read() as conn:
        assert list(conn.scalars(raw)) == ['{"p":"planted-secret"}', '{"p":"nothing"}']
    key_rotation.rewrite_encrypted_values(database, key_rotation.encrypt_plaintext(keyring))
    with database.read() as conn:
        sealed, plain = conn.scalars(raw)
        assert sealed.startswith("sealed:")
        assert plain == '{"p":"nothing"}'


def test_undecryptable_values_are_counted_and_kept(database):
    with SqlStore(database).transaction() as tx:
        tx.goals.insert(goal_row(parameters={"p": "secret"}, sensitive=True))
    other = Keyring(["another key"])
    assert (
        key_rotation.rewrite_encrypted_values(
            database, key_rotation.rotate_to_newest_key(other)
        ).unreadable
        == 3
    )
    with SqlStore(database).transaction() as tx:
        assert tx.goals.get("goal-1").parameters == {"p": "secret"}


def test_inconsistencies_are_reported_per_stack(database):
    insert_stacks(database)
    with database.write() as conn:
        conn.execute(goal.delete().where(goal.c.id == "goal-lives"))
        conn.execute(content.delete().where(content.c.hash == A))
        SqlStackRepository(conn).insert(stack_row("child", owner_id="old", goal_id="goal-old"))
    with SqlStore(database).transaction() as tx:
        tx.resources.insert([resource_row("r1", stack_id="older")])
    with database.read() as conn:
        found = [(each.stack_id, each.problem) for each in consistency.find_inconsistencies(conn)]
    assert found == [
        ("lives", "its goal_id goal-lives does not exist"),
        ("old", "the template of goal goal-old is not stored"),
        ("older", "the template of goal goal-older is not stored"),
        ("older", "it is deleted and has 1 resources"),
        ("child", "its parent stack old does not exist"),
    ]
    with database.read() as conn:
        assert consistency.list_live_stacks(conn, "", 10) == ["child", "lives"]
        assert conn.execute(sa.select(sa.func.count()).select_from(resource)).scalar_one() == 1
