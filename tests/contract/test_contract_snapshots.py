"""Users' snapshots: kept by stack, ended by the traversal that takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.testing.sample_rows import goal_row, stack_row, time_at

SAVED = Snapshot(
    id="1",
    stack_id="stack-1",
    project_id="project-1",
    name="before",
    version=2,
    action=Action.CREATE,
    status=Status.IN_PROGRESS,
    status_reason="",
    goal_id="goal-1",
    created_at=time_at(1),
)


def test_snapshot_round_trip(given):
    with given.store.transaction() as tx:
        tx.insert_snapshot(SAVED)
        assert tx.get_snapshot("stack-1", "1") == SAVED
        assert tx.get_snapshot("stack-2", "1") is None
        assert tx.get_snapshot("stack-1", "2") is None
        assert (tx.count_snapshots("stack-1"), tx.count_snapshots("stack-2")) == (1, 0)


def test_traversal_finishes_its_own_snapshot(given):
    other = replace(SAVED, id="2", version=3, name=None)
    with given.store.transaction() as tx:
        tx.insert_snapshot(SAVED)
        tx.insert_snapshot(other)
        tx.finish_snapshot("stack-1", 2, sensitive=False, status=Status.COMPLETE, data={"é": [1]})
    with given.store.transaction() as tx:
        done = replace(SAVED, status=Status.COMPLETE, data={"é": [1]})
        assert tx.get_snapshot("stack-1", "1") == done
        assert tx.get_snapshot("stack-1", "2") == other
        tx.update_snapshot("2", action=Action.DELETE)
        assert tx.get_snapshot("stack-1", "2") == replace(other, action=Action.DELETE)
        tx.delete_snapshot("1")
        assert tx.get_snapshot("stack-1", "1") is None
        tx.delete_stack_snapshots("stack-1")
        assert tx.count_snapshots("stack-1") == 0


def test_due_snapshot_deletions_are_taken(given):
    given.stack(stack_row("stack-2"))
    with given.store.transaction() as tx:
        tx.insert_snapshot(SAVED)
        tx.insert_snapshot(replace(SAVED, id="2", status=Status.COMPLETE, tries=3))
        tx.insert_snapshot(replace(SAVED, id="3", stack_id="stack-2"))
        tx.insert_snapshot(replace(SAVED, id="4", stack_id="stack-2", delete_at=time_at(9)))
        tx.schedule_snapshot_deletion("stack-1", time_at(5))
    assert given.store.take_snapshots_to_delete(time_at(4), time_at(8), 10) == []
    (first,) = given.store.take_snapshots_to_delete(time_at(5), time_at(8), 1)
    assert first == replace(
        SAVED, action=Action.DELETE, status=Status.IN_PROGRESS, delete_at=time_at(5)
    )
    (second,) = given.store.take_snapshots_to_delete(time_at(5), time_at(8), 10)
    assert (second.id, second.tries) == ("2", 0)
    assert given.store.take_snapshots_to_delete(time_at(7), time_at(8), 10) == []
    again = given.store.take_snapshots_to_delete(time_at(9), time_at(20), 10)
    assert {saved.id: saved.delete_at for saved in again} == {
        "1": time_at(8),
        "2": time_at(8),
        "4": time_at(9),
    }


def test_snapshot_data_stays_sensitive(given):
    with given.store.transaction() as tx:
        tx.insert_snapshot(SAVED)
        tx.finish_snapshot("stack-1", 2, sensitive=True, data=None)
    with given.store.transaction() as tx:
        assert tx.get_snapshot("stack-1", "1").sensitive


def test_goals_referenced_by_snapshots_are_kept(given):
    given.stack(stack_row("stack-2"))
    with given.store.transaction() as tx:
        for name in ("goal-1", "goal-2", "goal-3"):
            tx.insert_goal(goal_row(name))
        tx.insert_snapshot(SAVED)
        tx.insert_snapshot(replace(SAVED, id="9", stack_id="stack-2", goal_id="goal-2"))
        tx.delete_goals_except("stack-1", ["goal-3"])
        left = [name for name in ("goal-1", "goal-2", "goal-3") if tx.get_goal(name)]
    assert left == ["goal-1", "goal-3"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("a\0b", "a\ufffdb"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("whole \ud83d\ude00 pair", "whole \U0001f600 pair"),
        ("four bytes \U0001f600", "four bytes \U0001f600"),
    ],
)
def test_unstorable_characters_in_reason_are_replaced(given, said, kept):
    given.resources()
    with given.store.transaction() as tx:
        tx.update_stack("stack-1", status_reason=said, first_failure_reason=said)
        tx.insert_snapshot(SAVED)
        tx.update_snapshot("1", status_reason=said)
    with given.store.transaction() as tx:
        stack, saved = tx.get_stack("stack-1"), tx.get_snapshot("stack-1", "1")
    assert (stack.status_reason, stack.first_failure_reason, saved.status_reason) == (kept,) * 3


def test_reason_of_any_length_is_stored(given):
    said = "\U0001f600" * 3_000_000 + "the end"
    with given.store.transaction() as tx:
        tx.update_stack("stack-1", status_reason=said)
    with given.store.transaction() as tx:
        kept = tx.get_stack("stack-1").status_reason
    assert len(kept) == 262_144
    assert kept.startswith("\U0001f600")
    assert kept.endswith("the end")
    assert "characters left out" in kept


def test_lone_surrogates_in_values_round_trip(given):
    with given.store.transaction() as tx:
        tx.insert_snapshot(replace(SAVED, data={"a": "\ud83d\0"}))
    with given.store.transaction() as tx:
        assert tx.get_snapshot("stack-1", "1").data == {"a": "\ud83d\0"}
