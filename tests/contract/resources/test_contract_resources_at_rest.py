"""Rows at rest, rows of some names, and edges that an update carries over."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import RELEASES_EARLY, SINGLE_STEP
from heat_convergence.convergence.planning.goal_part import is_at_rest
from heat_convergence.testing.sample_rows import resource_row, stack_row
from tests.contract.conftest import StoreSeeder

IMPLEMENTATIONS = {"Sim::Resource": "Sim::Resource", "My::Type": "Sim::Resource"}
AT_REST: dict[str, Any] = {
    "job": None,
    "job_state": None,
    "action": Action.CREATE,
    "status": Status.COMPLETE,
    "definition_hash": "same",
    "applied_hash": "same",
    "physical_id": "p",
}
QUIET = {
    "plain": {},
    "stepped": {"hooks_and_restrictions": (SINGLE_STEP,)},
    "marked": {"hooks_and_restrictions": (RELEASES_EARLY, SINGLE_STEP)},
    "checked": {"action": Action.CHECK},
    "renamed": {"type": "My::Type"},
}
UNSETTLED = {
    "working": {"job": Verb.CONVERGE, "job_state": JobState.QUEUED},
    "contradicting": {"job_state": JobState.QUEUED},
    "unwanted": {"desired": DesiredState.ABSENT},
    "failed": {"status": Status.FAILED},
    "new": {"action": Action.INIT},
    "deleted": {"action": Action.DELETE},
    "suspended": {"suspended": True},
    "changed": {"applied_hash": "another"},
    "never-applied": {"applied_hash": None},
    "restricted": {"hooks_and_restrictions": ("replace",)},
    "of-another-implementation": {"implementation": "Sim::Other"},
    "of-another-type": {"type": "Sim::Other"},
}


@pytest.fixture
def rows(seeder: StoreSeeder) -> StoreSeeder:
    """Return a stack with resources that are at rest and others that are not."""
    every = {**QUIET, **UNSETTLED}
    seeder.resources(*(resource_row(name, **AT_REST | own) for name, own in every.items()))
    return seeder


def test_rows_that_are_not_at_rest_are_found(rows: StoreSeeder) -> None:
    with rows.store.transaction() as tx:
        found = tx.resources.find_unsettled("stack-1", IMPLEMENTATIONS)
        assert set(found) == UNSETTLED.keys()
        assert set(tx.resources.find_unsettled("stack-1", {})) == {*QUIET, *UNSETTLED}
        assert tx.resources.find_unsettled("nobody", IMPLEMENTATIONS) == []
    for row in rows.rows(*QUIET, *UNSETTLED):
        assert is_at_rest(row, IMPLEMENTATIONS) == (row.name in QUIET)


def test_rows_of_some_names_are_as_planning_needs_them(rows: StoreSeeder) -> None:
    rows.stack(stack_row("stack-2"))
    rows.resources(resource_row("other", stack_id="stack-2", name="plain"))
    with rows.store.transaction() as tx:
        every = tx.resources.lock_by_stack("stack-1")
        some = tx.resources.lock_by_names("stack-1", ["plain", "failed", "nobody"])
        assert some == [row for row in every if row.name in ("plain", "failed")]
        assert tx.resources.lock_by_names("stack-1", []) == []


def test_rows_of_a_stack_are_counted(rows: StoreSeeder) -> None:
    with rows.store.transaction() as tx:
        assert tx.resources.count_by_stack("stack-1") == len(QUIET) + len(UNSETTLED)
        assert tx.resources.count_by_stack("nobody") == 0


def test_versions_of_a_part_are_set(seeder: StoreSeeder) -> None:
    seeder.resources(*(resource_row(f"r{at:03}", timeline="posted 1\n") for at in range(600)))
    with seeder.store.transaction() as tx:
        tx.resources.set_versions_of([f"r{at:03}" for at in range(1, 600)], 2)
        tx.resources.set_versions_of([], 3)
    first, second, *_, last = seeder.rows(*(f"r{at:03}" for at in range(600)))
    assert (first.job.version, first.job.timeline) == (1, "posted 1\n")
    assert [(row.job.version, row.job.timeline) for row in (second, last)] == [(2, None)] * 2


def test_edges_beside_a_part_stay_as_they_are(seeder: StoreSeeder) -> None:
    seeder.resources(*(resource_row(name) for name in "abcd"))
    seeder.stack(stack_row("stack-2"))
    seeder.resources(resource_row("z", stack_id="stack-2"))
    edges = [
        Edge("a", "b", True),
        Edge("a", "c", True),
        Edge("b", "d"),
        Edge("c", None),
        Edge("d", None),
    ]
    with seeder.store.transaction() as tx:
        tx.graph.add_edges("stack-1", 1, edges)
        tx.graph.add_edges("stack-2", 1, [Edge("z", None)])
        tx.graph.add_physical_dependencies("stack-1", [("b", "a")])
    with seeder.store.transaction() as tx:
        assert tx.graph.clear_part("stack-1", ["c", "d"])
        assert tx.graph.get_edges_at("stack-1", list("abcd")) == [Edge("a", "b", True)]
        assert tx.graph.find_physical_dependents("stack-1", ["a"]) == []
        assert tx.graph.get_edges_at("stack-2", ["z"]) == [Edge("z", None)]
        assert tx.graph.clear_part("stack-2", [])
        assert not tx.graph.clear_part("stack-2", ["z"])
        assert not tx.graph.clear_part("nobody", ["a"])
