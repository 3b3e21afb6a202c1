"""Long values of resources and events: read as they were written, stored once."""

from __future__ import annotations

import hashlib

import pytest
import sqlalchemy as sa

from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.maintenance import consistency, purge
from heat_convergence.db.reads import events as event_reads
from heat_convergence.db.reads import resources as resource_reads
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import content, event, resource
from heat_convergence.testing.sample_rows import (
    event_row,
    goal_row,
    resource_row,
    stack_row,
    time_at,
)

TEMPLATE = "template"
TEMPLATE_HASH = hashlib.sha256(TEMPLATE.encode()).hexdigest()
LONG, OTHER = "a line of user data\n" * 500, "another line\n" * 900
MEMBERS = [{"n": number, "text": "x" * 50} for number in range(200)]
VALUES = {
    "user_data": LONG,
    "nested": {"again": [LONG, {"$content": "is data"}]},
    "members": MEMBERS,
    "marked": {"$call": ["like", "a", OTHER]},
    "short": "text",
}


@pytest.fixture(params=[False, True], ids=["plain", "encrypted"])
def filled(database, request):
    attach_keyring(database.engine, Keyring(["a key for tests"]))
    sensitive = request.param
    with SqlStore(database).transaction() as tx:
        tx.contents.put({TEMPLATE_HASH: TEMPLATE})
        tx.stacks.insert(stack_row(goal_id="goal-1"))
        tx.goals.insert(goal_row("goal-1", template_hash=TEMPLATE_HASH, files={}))
        tx.resources.insert([
            resource_row(name, name=name, properties=VALUES, attributes={"shown": LONG},
                         sensitive=sensitive)
            for name in "abc"
        ])  # fmt: skip
        tx.events.insert([event_row("e1", properties=VALUES, sensitive=sensitive)])
    return database


def hashes(database):
    with database.read() as conn:
        return set(conn.scalars(sa.select(content.c.hash))) - {TEMPLATE_HASH}


def test_every_reader_restores_deduplicated_values(filled):
    with SqlStore(filled).transaction() as tx:
        rows = [
            *tx.resources.get(["a"]),
            *tx.leases.get_unblocked({"stack-1": ["b"]}).rows,
            *tx.resources.get_by_stack("stack-1"),
        ]
        found = [row.physical for row in rows]
        found += [tx.incarnations.get_inputs("stack-1", ["c"])["c"]]
        assert len(found) == 6
        for each in found:
            assert (each.properties, each.attributes) == (VALUES, {"shown": LONG})
    with filled.read() as conn:
        shown = [
            resource_reads.get_by_name(conn, "stack-1", "a"),
            *resource_reads.list_by_stacks(conn, ["stack-1"], detailed=True),
            *(row.physical for row in resource_reads.list_full(conn, "stack-1")),
        ]
        for row in shown:
            assert (row.properties, row.attributes) == (VALUES, {"shown": LONG})
        assert event_reads.get(conn, "stack-1", "e1").properties == VALUES
        (listed,) = event_reads.list_page(conn, ["stack-1"], event_reads.EventQuery())
        assert (listed.id, listed.properties) == ("e1", None)


def test_rows_read_together_share_one_object(filled):
    """Two hundred members with the same map do not hold two hundred copies of it."""
    with SqlStore(filled).transaction() as tx:
        read = [
            [row.physical for row in tx.resources.get("abc")],
            tx.incarnations.get_inputs("stack-1", set("abc")).values(),
        ]
    for rows in read:
        members = [row.properties["members"] for row in rows]
        assert members == [MEMBERS] * 3
        assert len({id(each) for each in members}) == 1


def test_long_value_is_stored_once(filled):
    assert len(hashes(filled)) == 3 + 1  # two texts, and two maps or lists as a whole
    with filled.read() as conn:
        for column in (resource.c.properties, resource.c.attributes, event.c.properties):
            for text in conn.scalars(sa.select(sa.type_coerce(column, sa.Text))):
                assert len(text) < 1500


def test_replaced_values_are_purged(filled):
    with SqlStore(filled).transaction() as tx:
        tx.resources.update_each({
            name: {"properties": {"user_data": OTHER}, "attributes": {}, "sensitive": False}
            for name in "abc"
        })  # fmt: skip
        assert tx.resources.get(["b"])[0].physical.properties == {"user_data": OTHER}
    before = hashes(filled)
    assert purge.purge_contents(filled) == 0  # the event has the earlier ones
    with filled.write() as conn:
        conn.execute(event.delete())
    assert purge.purge_contents(filled) == len(before) - 1
    with filled.read() as conn:
        assert resource_reads.get_by_name(conn, "stack-1", "a").properties == {"user_data": OTHER}


def test_missing_content_is_reported(filled):
    with filled.read() as conn:
        assert not [
            found for found in consistency.find_inconsistencies(conn) if "long" in found.problem
        ]
    with filled.write() as conn:
        conn.execute(content.delete().where(content.c.hash != TEMPLATE_HASH))
    with filled.read() as conn:
        problems = [found.problem for found in consistency.find_inconsistencies(conn)]
    assert [problem for problem in problems if "long" in problem] == [
        *(f"long values of resource {name} are not stored" for name in "abc"),
        "long values of its events are not stored",
    ]
    with SqlStore(filled).transaction() as tx:  # the rest can be read
        assert tx.resources.get(["a"])[0].physical.properties == {"short": "text"}


def test_consistency_check_reads_content_hashes_once(filled):
    """Once with the texts, which are compared with their hashes, and once without."""
    sent = []

    def note(conn, cursor, statement, parameters, context, many):
        plain = statement.replace("`", "").replace('"', "")
        if "FROM content" in plain:
            sent.append("content.body" in plain)

    sa.event.listen(filled.engine, "before_cursor_execute", note)
    with filled.read() as conn:
        assert not list(consistency.find_inconsistencies(conn))
    sa.event.remove(filled.engine, "before_cursor_execute", note)
    assert sent == [True, False]


def test_content_stored_during_check_is_not_reported(filled):
    with filled.write() as conn:
        conn.execute(content.delete().where(content.c.hash == TEMPLATE_HASH))
        inconsistencies = consistency.find_inconsistencies(conn)
        assert next(inconsistencies).problem == "the template of goal goal-1 is not stored"
        values = {"user_data": "come lately\n" * 900}
        SqlResourceRepository(conn).insert([resource_row("late", name="late", properties=values)])
        assert not list(inconsistencies)


def test_update_leased_deduplicates_values(filled):
    """Most outcomes are recorded so: each by itself, in one statement."""
    new = {"properties": VALUES, "attributes": {"shown": OTHER}, "sensitive": False}
    with SqlStore(filled).transaction() as tx:
        tx.jobs.apply(["b"], job_transitions.claim("engine", "token", time_at(9)))
        recorded = job_transitions.await_observation(ObservedState.BUSY, time_at(9))
        assert tx.jobs.apply_leased("b", "token", 1, recorded, new)
        (row,) = tx.resources.get(["b"])
        assert (row.physical.properties, row.physical.attributes) == (VALUES, {"shown": OTHER})
    with filled.read() as conn:
        raw = sa.func.length(sa.type_coerce(resource.c.attributes, sa.Text))
        assert conn.execute(sa.select(raw).where(resource.c.id == "b")).scalar_one() < 1500


def test_user_keys_equal_to_marker_survive(database):
    odd = {"$shared": {"text": LONG}, "plain": {"$shared": 1}}
    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([
            resource_row("a", properties=odd), resource_row("b", properties={"$shared": "short"}),
        ])  # fmt: skip
        found = [row.physical.properties for row in tx.resources.get(["a", "b"])]
    assert found == [odd, {"$shared": "short"}]


@pytest.mark.parametrize(
    "damaged",
    [
        '{"$shared": 1}',
        '{"$shared": {"a": {"$content": 5}, "b": {"$json": []}, "c": {"$data": 1}}}',
    ],
)
def test_malformed_reference_does_not_keep_other_rows_from_being_read(database, damaged):
    with SqlStore(database).transaction() as tx:
        tx.stacks.insert(stack_row())
        tx.resources.insert([resource_row(name, name=name, properties=VALUES) for name in "ab"])
    with database.write() as conn:
        row = resource.update().where(resource.c.name == "a")
        conn.execute(row.values(properties=sa.literal(damaged, sa.Text)))
    with database.read() as conn:
        found = SqlResourceRepository(conn).get_readable(["a", "b"])
        properties = {row.name: row.physical.properties for row in found}
    assert properties["b"] == VALUES
    assert "a" in properties
