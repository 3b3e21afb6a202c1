"""Users' snapshots: rows of a stack, finished by the traversal that takes them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.testing.sample_rows import goal_row, snapshot_row, stack_row, time_at

SAVED = snapshot_row("1", name="before", version=2, status=Status.IN_PROGRESS)


def test_snapshot_round_trip(seeder):
    with seeder.store.transaction() as tx:
        tx.snapshots.insert(SAVED)
        assert tx.snapshots.get("stack-1", "1") == SAVED
        assert tx.snapshots.get("stack-2", "1") is None
        assert tx.snapshots.get("stack-1", "2") is None
        assert (tx.snapshots.count("stack-1"), tx.snapshots.count("stack-2")) == (1, 0)


def test_traversal_finishes_its_own_snapshot(seeder):
    other = replace(SAVED, id="2", version=3, name=None)
    with seeder.store.transaction() as tx:
        tx.snapshots.insert(SAVED)
        tx.snapshots.insert(other)
        tx.snapshots.finish("stack-1", 2, sensitive=False, status=Status.COMPLETE, data={"é": [1]})
    with seeder.store.transaction() as tx:
        done = replace(SAVED, status=Status.COMPLETE, data={"é": [1]})
        assert tx.snapshots.get("stack-1", "1") == done
        assert tx.snapshots.get("stack-1", "2") == other
        tx.snapshots.update("2", action=Action.DELETE)
        assert tx.snapshots.get("stack-1", "2") == replace(other, action=Action.DELETE)
        tx.snapshots.delete("1")
        assert tx.snapshots.get("stack-1", "1") is None
        tx.snapshots.delete_by_stack("stack-1")
        assert tx.snapshots.count("stack-1") == 0


def test_due_snapshot_deletions_are_taken(seeder):
    seeder.stack(stack_row("stack-2"))
    with seeder.store.transaction() as tx:
        tx.snapshots.insert(SAVED)
        tx.snapshots.insert(replace(SAVED, id="2", status=Status.COMPLETE, tries=3))
        tx.snapshots.insert(replace(SAVED, id="3", stack_id="stack-2"))
        tx.snapshots.insert(replace(SAVED, id="4", stack_id="stack-2", delete_at=time_at(9)))
        tx.snapshots.schedule_deletion(["stack-1"], time_at(5))
    assert seeder.store.sweeps.take_snapshots_to_delete(time_at(4), time_at(8), 10) == []
    (first,) = seeder.store.sweeps.take_snapshots_to_delete(time_at(5), time_at(8), 1)
    assert first == replace(
        SAVED, action=Action.DELETE, status=Status.IN_PROGRESS, delete_at=time_at(5)
    )
    (second,) = seeder.store.sweeps.take_snapshots_to_delete(time_at(5), time_at(8), 10)
    assert (second.id, second.tries) == ("2", 0)
    assert seeder.store.sweeps.take_snapshots_to_delete(time_at(7), time_at(8), 10) == []
    again = seeder.store.sweeps.take_snapshots_to_delete(time_at(9), time_at(20), 10)
    assert {saved.id: saved.delete_at for saved in again} == {
        "1": time_at(8),
        "2": time_at(8),
        "4": time_at(9),
    }


def test_snapshot_data_stays_sensitive(seeder):
    with seeder.store.transaction() as tx:
        tx.snapshots.insert(SAVED)
        tx.snapshots.finish("stack-1", 2, sensitive=True, data=None)
    with seeder.store.transaction() as tx:
        assert tx.snapshots.get("stack-1", "1").sensitive


def test_goals_referenced_by_snapshots_are_kept(seeder):
    seeder.stack(stack_row("stack-2"))
    with seeder.store.transaction() as tx:
        for name in ("goal-1", "goal-2", "goal-3"):
            tx.goals.insert(goal_row(name))
        tx.snapshots.insert(SAVED)
        tx.snapshots.insert(replace(SAVED, id="9", stack_id="stack-2", goal_id="goal-2"))
        tx.goals.delete_except(["stack-1"], ["goal-3"])
        left = [name for name in ("goal-1", "goal-2", "goal-3") if tx.goals.get(name)]
    assert left == ["goal-1", "goal-3"]


@pytest.mark.parametrize(
    ("reason", "stored"),
    [
        ("a\0b", "a\ufffdb"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("whole \ud83d\ude00 pair", "whole \U0001f600 pair"),
        ("four bytes \U0001f600", "four bytes \U0001f600"),
    ],
)
def test_unstorable_characters_in_reason_are_replaced(seeder, reason, stored):
    seeder.resources()
    with seeder.store.transaction() as tx:
        tx.stacks.update("stack-1", status_reason=reason, first_failure_reason=reason)
        tx.snapshots.insert(SAVED)
        tx.snapshots.update("1", status_reason=reason)
    with seeder.store.transaction() as tx:
        stack, saved = tx.stacks.get("stack-1"), tx.snapshots.get("stack-1", "1")
    assert (stack.status_reason, stack.first_failure_reason, saved.status_reason) == (stored,) * 3


def test_reason_of_any_length_is_stored(seeder):
    reason = "\U0001f600" * 3_000_000 + "the end"
    with seeder.store.transaction() as tx:
        tx.stacks.update("stack-1", status_reason=reason)
    with seeder.store.transaction() as tx:
        kept = tx.stacks.get("stack-1").status_reason
    assert len(kept) == 262_144
    assert kept.startswith("\U0001f600")
    assert kept.endswith("the end")
    assert "characters left out" in kept


def test_lone_surrogates_in_values_round_trip(seeder):
    with seeder.store.transaction() as tx:
        tx.snapshots.insert(replace(SAVED, data={"a": "\ud83d\0"}))
    with seeder.store.transaction() as tx:
        assert tx.snapshots.get("stack-1", "1").data == {"a": "\ud83d\0"}
