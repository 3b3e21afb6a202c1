"""Rows of resources that one statement claims, finds or inserts."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import sqlalchemy as sa

from heat_convergence.common.stored_values import StoredValueUnreadable
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource_columns import COLUMNS, WIDE_COLUMNS
from heat_convergence.db import column_types
from heat_convergence.db.reads.dependents import list_requiring
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import changed_row, resource_row, stack_row, time_at
from tests.contract.test_contract_resources import FULL, without_wide_columns

CLAIM = job_transitions.claim("engine-2", "token-2", time_at(9)).with_marks("claimed")
CHANGES = {
    "root_id": "other",
    "replaces": "other",
    "replaced_by": "other",
    "desired": DesiredState.ABSENT,
    "physical_dependencies": ("other",),
    "sensitive": True,
    "applied_hash": "other",
    "suspended": True,
    "job": Verb.CHECK,
    "job_state": JobState.RETRY,
    "must_run": True,
    "touched_version": 4,
    "version": 2,
    "physical_id": None,
    "properties_hash": None,
    "action": Action.CREATE,
    "status": Status.COMPLETE,
    "status_reason": "other",
    "action_started_at": None,
    "observed": None,
    "observed_at": None,
    "observe_at": None,
    "lease_owner": None,
    "lease_token": "other",
    "lease_expires_at": None,
    "updated_at": None,
    "hooks_and_restrictions": ("replace",),
    "hook": "pre-create",
}


def test_unchanged_row_is_claimed(seeder):
    row = changed_row(FULL, job_state=JobState.POSTED)
    seeder.resources(row)
    later = job_transitions.repost(time_at(8))
    with seeder.store.transaction() as tx:
        (read,) = tx.leases.get_unblocked({"stack-1": ["full"]}).rows
        tx.jobs.apply(["full"], later.with_marks("again"))
        tx.resources.update_each({"full": {"data": {"k": "w"}, "sensitive": False}})
        assert tx.leases.claim_unchanged(read, CLAIM, {"status": Status.IN_PROGRESS})
    (claimed,) = seeder.rows("full")
    assert claimed == changed_row(
        row,
        data={"k": "w"},
        posted_at=time_at(8),
        timeline=later.with_marks("again").marks + "claimed",
        job_state=JobState.RUNNING,
        status=Status.IN_PROGRESS,
        lease_owner="engine-2",
        lease_token="token-2",
        lease_expires_at=time_at(9),
    )


@pytest.mark.parametrize("column", sorted(CHANGES))
def test_changed_row_is_not_claimed(seeder, column):
    before = changed_row(FULL, job_state=JobState.POSTED)
    seeder.resources(changed_row(before, **{column: CHANGES[column]}))
    with seeder.store.transaction() as tx:
        assert not tx.leases.claim_unchanged(before, CLAIM, {"status": Status.IN_PROGRESS})
        assert not tx.leases.claim_unchanged(changed_row(before, id="nobody"), CLAIM, {})
    assert seeder.rows("full") == [changed_row(before, **{column: CHANGES[column]})]


def test_every_column_that_may_change_in_a_version_is_compared():
    set_by_planning = {
        "id",
        "stack_id",
        "name",
        "type",
        "implementation",
        "physical_name",
        "project_id",
        "created_at",
        "definition_hash",
        "requires",
        "referenced_names",
    }
    not_compared = {*set_by_planning, "posted_at", "timeline", *WIDE_COLUMNS}
    assert set(COLUMNS) == CHANGES.keys() | not_compared


NAMES = ["r1", "R1", "r11", "r%", "r_", 'r"1', "r\\1", "r/1", "ré", "r]", "r,"]


@pytest.fixture
def decoded(monkeypatch):
    """The lists of names that are read, as text."""
    texts = []
    decode = column_types._decode_json
    monkeypatch.setattr(
        column_types, "_decode_json", lambda *args: texts.append(args[0]) or decode(*args)
    )
    return texts


def seed_dependents(seeder, name):
    if isinstance(seeder.store, MemoryStore):
        pytest.skip("reads of the API are SQL only")
    seeder.resources(
        resource_row("required", name=name),
        *(resource_row(f"u{at}", requires=("x", each)) for at, each in enumerate(NAMES)),
        *(resource_row(f"v{at}", requires=(f"other{at}",)) for at in range(50)),
        resource_row("old", requires=(name,), desired=DesiredState.ABSENT),
    )


@pytest.mark.parametrize("name", NAMES)
def test_dependents_are_found_by_their_requirements(seeder, name, decoded):
    seed_dependents(seeder, name)
    with seeder.store.database.read() as connection:
        found = list_requiring(connection, "stack-1", name)
    assert found == [f"u{NAMES.index(name)}"]
    assert len(decoded) <= 2  # of databases that compare texts without their case


@pytest.mark.parametrize("reverse", [False, True], ids=["goal", "deletion"])
def test_dependents_are_found_by_the_graph(seeder, decoded, reverse):
    seed_dependents(seeder, "r1")
    user = f"u{NAMES.index('r1')}"
    pairs = [("required", user), ("required", "old"), ("v1", "required"), ("v2", "v3")]
    edges = [Edge(*reversed(pair)) if reverse else Edge(*pair) for pair in pairs]
    ends = [Edge("required", None)] if reverse else []
    with seeder.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 0, edges[:1])  # the last traversal left it alone
        tx.graph.add_edges("stack-1", 1, [*edges[1:], *ends])
    with seeder.store.database.read() as connection:
        assert list_requiring(connection, "stack-1", "r1") == [user]
        assert list_requiring(connection, "stack-1", "nobody") == []
    assert len(decoded) == 2  # of the two that have an edge and are desired


def test_rows_of_a_large_stack_are_inserted_in_chunks(seeder):
    if isinstance(seeder.store, MemoryStore):
        pytest.skip("the store in memory sends no statements")
    sizes = []

    def note(_connection, _clause, rows, _parameters, _options):
        sizes.append(len(rows))

    names = [f"r{at:04}" for at in range(2500)]
    edges = [Edge(needed, needing) for needed, needing in pairwise(names)]
    seeder.stack(stack_row("stack-2"))
    engine = seeder.store.database.engine
    sa.event.listen(engine, "before_execute", note)
    try:
        with seeder.store.transaction() as tx:
            tx.resources.insert([resource_row(name, stack_id="stack-2") for name in names])
            tx.graph.add_edges("stack-2", 1, iter(edges))
    finally:
        sa.event.remove(engine, "before_execute", note)
    assert 1000 <= max(sizes) <= 2000
    with seeder.store.transaction() as tx:
        assert [row.name for row in tx.resources.get_by_stack("stack-2")] == names
        assert set(tx.graph.get_edges_at("stack-2", names)) == set(edges)


def test_columns_without_a_value_are_not_sent(seeder):
    if isinstance(seeder.store, MemoryStore):
        pytest.skip("the store in memory sends no statements")
    sent = []

    def note(_connection, _cursor, statement, *_others):
        sent.append(statement)

    engine = seeder.store.database.engine
    sa.event.listen(engine, "before_cursor_execute", note)
    rows = [resource_row("a"), resource_row("b", replaces="a")]
    try:
        seeder.resources(*rows)
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    (insert,) = (each for each in sent if each.startswith("INSERT INTO resource "))
    assert "replaces" in insert
    assert "replaced_by" not in insert
    assert seeder.rows("a", "b") == rows


@pytest.mark.parametrize("count", [1, 10], ids=["few", "many"])
def test_stack_is_locked_with_its_resources(seeder, count):
    stack = seeder.stack(stack_row("stack-2"))
    names = [f"r{at}" for at in range(count)]
    rows = [changed_row(FULL, id=name, name=name, stack_id="stack-2") for name in names]
    seeder.resources(resource_row("other"), *rows)
    with seeder.store.transaction() as tx:
        expected = [without_wide_columns(row) for row in rows]
        named = [*reversed(names), "other", "nobody"]
        lock = tx.stacks.lock_with_resources
        assert lock({"stack-2": named}) == [(stack, expected)]
        assert lock({"stack-2": ["other"]}) == lock({"stack-2": []}) == [(stack, [])]
        assert lock({"nobody": ["other"]}) == lock({}) == []


def test_stacks_are_locked_together_with_their_resources(seeder):
    rows = {}
    for key in ("stack-2", "stack-3"):
        seeder.stack(stack_row(key))
        rows[key] = changed_row(FULL, id=f"a-{key}", name="a", stack_id=key)
    seeder.resources(*rows.values(), resource_row("other"))
    with seeder.store.transaction() as tx:
        found = tx.stacks.lock_with_resources(
            {"stack-3": ["a-stack-3", "a-stack-2"], "nobody": ["other"], "stack-2": ["a-stack-2"]}
        )
        assert [(stack.id, of) for stack, of in found] == [
            (key, [without_wide_columns(row)]) for key, row in rows.items()
        ]
        alone = tx.stacks.lock_with_resources({"stack-2": [], "stack-3": ["a-stack-2", "other"]})
        assert [(stack.id, of) for stack, of in alone] == [("stack-2", []), ("stack-3", [])]


def test_columns_of_several_stacks_are_set_together(seeder):
    for key in ("stack-2", "stack-3", "stack-4"):
        seeder.stack(stack_row(key, name=key, deadline_at=time_at(5)))
    ended = {"status": Status.COMPLETE, "deadline_at": None}
    with seeder.store.transaction() as tx:
        tx.stacks.update_each(
            {
                "stack-2": {**ended, "complete_goal_id": "goal-2", "status_reason": "two"},
                "stack-3": {**ended, "complete_goal_id": None, "status_reason": "three"},
                "stack-4": {"status": Status.FAILED, "deleted_at": time_at(7)},
                "nobody": ended,
            }
        )
        tx.stacks.update_each({})
        two, three, four = (tx.stacks.get(f"stack-{at}") for at in (2, 3, 4))
    assert (two.status_reason, two.complete_goal_id) == ("two", "goal-2")
    assert (three.status_reason, three.complete_goal_id) == ("three", None)
    assert {two.status, three.status} == {Status.COMPLETE}
    assert (two.deadline_at, three.deadline_at, four.deadline_at) == (None, None, time_at(5))
    assert (four.status, four.deleted_at) == (Status.FAILED, time_at(7))
    seeder.stack(stack_row("stack-5", name="stack-4"))  # the name of a deleted stack is free


def test_many_rows_get_their_own_values(seeder):
    names = [f"r{at:03}" for at in range(120)]
    changes = {
        name: {
            "sensitive": at % 2 == 0,  # and the long values encrypted
            "attributes": {"n": True if at % 2 else 1},  # equal in Python, not in JSON
            "data": {},
            "properties": None,
            "physical_id": None if at % 3 else name,
            "action_started_at": None if at % 4 else time_at(at),
            "requires": ("x",) if at % 5 else (),
            "job": None,
            "status": Status.FAILED if at % 6 else Status.COMPLETE,
        }
        for at, name in enumerate(names)
    }
    before = [changed_row(FULL, id=name, name=name) for name in names]
    seeder.resources(*before)
    with seeder.store.transaction() as tx:
        tx.resources.update_each(dict(reversed(changes.items())))
    expected = [changed_row(row, **changes[row.id]) for row in before]
    assert seeder.rows(*names) == expected
    types = [type(row.physical.attributes["n"]) for row in seeder.rows(*names[:2])]
    assert types == [int, bool]


OWN_MARKS = [{}, {"a": "same", "b": "same"}, {"a": "first", "b": "second"}, {"b": "second"}]


@pytest.mark.parametrize("common", ["", "both"])
@pytest.mark.parametrize("own", OWN_MARKS)
@pytest.mark.parametrize("each", [True, False], ids=["each", "all"])
def test_transitions_of_several_rows_append_their_own_marks(seeder, own, common, each):
    posted = {"job": Verb.CONVERGE, "job_state": JobState.POSTED}
    seeder.resources(resource_row("a", **posted), resource_row("b", timeline="old", **posted))
    transition = replace(CLAIM, marks=common, own_marks=own)
    with seeder.store.transaction() as tx:
        if each:
            tx.jobs.apply_each({name: (transition, {"physical_id": "p"}) for name in ("a", "b")})
        else:
            tx.jobs.apply(["a", "b"], transition, physical_id="p")
    a, b = seeder.rows("a", "b")
    assert (a.job.timeline or "") == own.get("a", "") + common
    assert b.job.timeline == "old" + own.get("b", "") + common
    assert (a.physical.id, b.physical.id) == ("p", "p")


def test_transaction_goes_on_after_a_stack_with_an_unreadable_row(seeder):
    if isinstance(seeder.store, MemoryStore):
        pytest.skip("the store in memory has no unreadable rows")
    seeder.resources(*(resource_row(f"r{at:04}") for at in range(1500)))
    damage = sa.text("UPDATE resource SET requires = 'x' WHERE id IN ('r0003', 'r1400')")
    with seeder.store.database.write() as connection:
        connection.execute(damage)
    with seeder.store.transaction() as tx:
        with pytest.raises(StoredValueUnreadable):
            tx.resources.lock_by_stack("stack-1")
        assert [row.id for row in tx.resources.lock(["r0001"])] == ["r0001"]
        tx.resources.update(["r0001"], status_reason="goes on")
    assert seeder.row("r0001").state.reason == "goes on"
