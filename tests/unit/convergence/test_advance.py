"""What is noted of a look depends on what the resource is at by then."""

from __future__ import annotations

import random

import pytest

from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.advance import advance
from heat_convergence.convergence.failing import Sighting, job_of
from heat_convergence.convergence.model import (
    Action,
    Desired,
    Edge,
    JobState,
    Observed,
    Resource,
    Status,
)
from heat_convergence.convergence.ports import Settings
from heat_convergence.convergence.traversal import Means
from heat_convergence.testing.rows import START, at, resource_row, stack_row
from heat_convergence.testing.store import MemoryStore

BUILDING = resource_row(
    "a",
    job_state=JobState.WATCHED,
    action=Action.CREATE,
    status=Status.IN_PROGRESS,
    observed=Observed.BUSY,
    observe_at=at(1),
    posted_at=at(0),
    physical_id="thing-1",
)


def _stored(*rows: Resource, **stack: object) -> MemoryStore:
    store = MemoryStore()
    with store.transaction() as tx:
        tx.insert_stack(stack_row(**stack))
        tx.insert_resources(rows)
        tx.add_edges("stack-1", rows[0].version, [Edge(row.id, None) for row in rows])
    return store


def _note(store: MemoryStore, sighting: Sighting) -> Resource | None:
    means = Means(at(5), IdGenerator(lambda: START, random.Random(1)), Settings())
    with store.transaction() as tx:
        advance(tx, "stack-1", ["a"], {"a": sighting}, means)
    with store.transaction() as tx:
        rows = tx.get_resources(["a"])
    return rows[0] if rows else None


def test_a_look_at_the_job_that_still_runs_counts() -> None:
    row = _note(_stored(BUILDING), Sighting(Observed.READY, job=job_of(BUILDING)))
    assert (row.status, row.job) == (Status.COMPLETE, None)


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param({"version": 2, "posted_at": at(2)}, id="a newer goal's"),
        pytest.param({"posted_at": at(3)}, id="the same goal's next try"),
    ],
)
def test_a_look_at_an_earlier_job_does_not_end_the_one_that_runs_now(meanwhile) -> None:
    now = resource_row(
        "a",
        job_state=JobState.WATCHED,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        observed=Observed.BUSY,
        observe_at=at(9),
        **meanwhile,
    )
    store = _stored(now, version=now.version)
    row = _note(store, Sighting(Observed.READY, job=job_of(BUILDING)))
    assert (row.status, row.job_state) == (Status.IN_PROGRESS, JobState.WATCHED)


def test_what_was_seen_before_a_deletion_does_not_hide_that_it_is_done() -> None:
    deleted = resource_row(
        "a",
        version=2,
        desired=Desired.ABSENT,
        job_state=JobState.WATCHED,
        action=Action.DELETE,
        status=Status.IN_PROGRESS,
        observed=Observed.ABSENT,
        observe_at=at(9),
        posted_at=at(2),
    )
    store = _stored(deleted, version=2, action=Action.DELETE)
    assert _note(store, Sighting(Observed.READY, job=job_of(BUILDING))) is None


def test_a_failed_resource_is_told_and_one_that_may_not_be_touched_stays_as_it_is() -> None:
    refused = "ResourceActionRestricted: resources.b: update is restricted for resource."
    common = {"job_state": JobState.WATCHED, "observed": Observed.FAILED, "observe_at": at(9)}
    rows = [
        resource_row(
            "a", action=Action.CREATE, status=Status.IN_PROGRESS, status_reason="why", **common
        ),
        resource_row(
            "b",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason=refused,
            **{**common, "observed": Observed.SPARED},
        ),
    ]
    store = _stored(*rows)
    means = Means(at(5), IdGenerator(lambda: START, random.Random(1)), Settings())
    with store.transaction() as tx:
        advance(tx, "stack-1", ["a", "b"], {}, means)
    with store.transaction() as tx:
        a, b = tx.get_resources(["a", "b"])
    assert (a.status, a.status_reason) == (Status.FAILED, "why")
    assert (b.status, b.status_reason) == (
        Status.COMPLETE, "update is restricted for resource."
    )
    assert {a.job_state, b.job_state} == {JobState.HALTED}
    assert {a.observe_at, b.observe_at} == {None}
    events = [event for event in store.tables.events if event.resource_name in ("a", "b")]
    assert [(event.action, event.status, event.reason) for event in events] == [
        (Action.CREATE, Status.FAILED, "why"),
        (Action.UPDATE, Status.FAILED, "update is restricted for resource."),
    ]
