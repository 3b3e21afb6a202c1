"""The quarantine: entries, what they wait for, and who may try them."""

from __future__ import annotations

from dataclasses import replace

from heat_convergence.testing.sample_rows import quarantine_entry, resource_row, time_at


def add(store, *entries):
    with store.transaction() as tx:
        tx.quarantine.add(entries)


def listed(store, project_id="project-1", **page):
    with store.transaction() as tx:
        return tx.quarantine.list_by_project(project_id, **page)


def take(store, now, until=99, limit=9):
    with store.transaction() as tx:
        taken = tx.quarantine.take_due(time_at(now), time_at(until), limit)
    return [each.resource_id for each in taken]


def test_entries_are_listed_by_project_and_page(store):
    first, second = (
        quarantine_entry("a", waits_for=("b", "stack-2")),
        quarantine_entry("b", next_at=time_at(5)),
    )
    add(store, first, second, quarantine_entry("c", project_id="project-2"))
    assert listed(store) == [first, second]
    assert listed(store, limit=1) == [first]
    assert listed(store, marker="a") == [second]
    assert [each.resource_id for each in listed(store, "project-2")] == ["c"]


def test_an_entry_that_exists_stays_as_it_is(store):
    add(store, quarantine_entry("a", tries=3))
    add(store, quarantine_entry("a"), quarantine_entry("b"))
    with store.transaction() as tx:
        assert [each.tries for each in tx.quarantine.get(["a", "b", "c"])] == [3, 0]
        assert tx.quarantine.list_ids("stack-1") == {"a", "b"}


def test_due_entries_are_taken_by_one_until_their_time_is_over(store):
    add(
        store,
        quarantine_entry("a", next_at=time_at(5)),
        quarantine_entry("b"),
        quarantine_entry("c", next_at=time_at(4)),
    )
    assert take(store, now=3) == []
    assert take(store, now=5, until=20, limit=1) == ["c"]
    assert take(store, now=5, until=20) == ["a"]
    assert take(store, now=19) == []
    assert take(store, now=20) == ["c", "a"]
    with store.transaction() as tx:
        tx.quarantine.update(["a", "c"], next_at=time_at(30), taken_until=None, tries=1)
    assert take(store, now=29) == []
    assert take(store, now=30) == ["a", "c"]


def test_entries_of_a_deleted_stack_become_due(store):
    add(store, quarantine_entry("a"), quarantine_entry("b", stack_id="stack-2"))
    with store.transaction() as tx:
        tx.quarantine.activate("stack-1", time_at(7))
    assert [each.next_at for each in listed(store)] == [time_at(7), None]


def test_waking_makes_active_entries_of_the_tree_due_that_were_never_tried(store):
    later = time_at(60)
    add(
        store,
        quarantine_entry("inactive"),
        quarantine_entry("other", root_id="stack-9", next_at=later),
        quarantine_entry("tried", tries=1, next_at=later),
        quarantine_entry("waiting", next_at=later),
    )
    with store.transaction() as tx:
        tx.quarantine.wake("stack-1", time_at(2))
    assert {each.resource_id: each.next_at for each in listed(store)} == {
        "inactive": None,
        "other": later,
        "tried": later,
        "waiting": time_at(2),
    }


def add_entries_of_two_trees(store):
    add(
        store,
        quarantine_entry("a"),
        quarantine_entry("b", stack_id="stack-2"),
        quarantine_entry("c", root_id="stack-9"),
    )


def test_blockers_are_entries_and_stacks_of_the_trees(store):
    add_entries_of_two_trees(store)
    with store.transaction() as tx:
        found = tx.quarantine.find_blockers(["stack-1"], ["a", "c", "x", "stack-2", "stack-9"])
        assert found == {"a", "stack-2"}
        assert tx.quarantine.find_blockers(["stack-1"], []) == frozenset()


def test_entries_are_listed_by_stack_and_by_tree(store):
    add_entries_of_two_trees(store)
    with store.transaction() as tx:
        assert tx.quarantine.list_ids("stack-1") == {"a", "c"}
        assert tx.quarantine.list_ids_of_tree("stack-1") == {"a", "b"}


def test_entries_are_locked_by_their_ids(store):
    add(store, quarantine_entry("b"), quarantine_entry("a"), quarantine_entry("c"))
    with store.transaction() as tx:
        assert [each.resource_id for each in tx.quarantine.lock(["b", "x", "a"])] == ["a", "b"]
        assert tx.quarantine.lock([]) == []


def test_observers_pass_over_entries_that_are_locked(shared):
    add(shared.store, quarantine_entry("a", next_at=time_at(0)))
    with shared.store.transaction() as one, shared.store.transaction() as two:
        assert one.quarantine.lock(["a"])
        assert two.quarantine.take_due(time_at(1), time_at(9), 10) == []


def test_entries_are_deleted_alone_and_by_stack(store):
    add(
        store,
        quarantine_entry("a"),
        quarantine_entry("b"),
        quarantine_entry("c", stack_id="stack-2"),
    )
    with store.transaction() as tx:
        tx.quarantine.delete(["a"])
        tx.quarantine.delete_by_stack("stack-2")
    assert [each.resource_id for each in listed(store)] == ["b"]


def test_the_resources_of_a_deleted_stack_stay_if_they_are_kept(seeder):
    seeder.resources(resource_row("a"), resource_row("b"))
    with seeder.store.transaction() as tx:
        tx.resources.delete_by_stacks(["stack-1"], {"b"})
    assert [row.id for row in seeder.rows("a", "b")] == ["b"]


def test_a_stack_keeps_that_it_quarantines(seeder):
    with seeder.store.transaction() as tx:
        assert not tx.stacks.get("stack-1").quarantines
        tx.stacks.update("stack-1", quarantines=True)
    with seeder.store.transaction() as tx:
        assert tx.stacks.get("stack-1") == replace(tx.stacks.get("stack-1"), quarantines=True)
