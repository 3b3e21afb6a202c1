"""Observations are recorded only if they match the current job of the resource."""

from __future__ import annotations

import random

import pytest

from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import Observation, job_key
from heat_convergence.convergence.lifecycle.progress.observed_stacks import process_observations
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import START_TIME, resource_row, stack_row, time_at

BUILDING = resource_row(
    "a",
    job_state=JobState.AWAITING_OBSERVATION,
    action=Action.CREATE,
    status=Status.IN_PROGRESS,
    observed=ObservedState.BUSY,
    observe_at=time_at(1),
    posted_at=time_at(0),
    physical_id="physical-1",
)


def _stored(*rows: Resource, **stack: object) -> MemoryStore:
    store = MemoryStore()
    with store.transaction() as tx:
        tx.stacks.insert(stack_row(**stack))
        tx.resources.insert(rows)
        tx.graph.add_edges("stack-1", rows[0].job.version, [Edge(row.id, None) for row in rows])
    return store


def _process(store: MemoryStore, observation: Observation) -> Resource | None:
    context = TraversalContext(
        time_at(5), IdGenerator(lambda: START_TIME, random.Random(1)), ConvergenceSettings()
    )
    with store.transaction() as tx:
        process_observations(tx, {"stack-1": ["a"]}, {"a": observation}, context)
    with store.transaction() as tx:
        rows = tx.resources.get(["a"])
    return rows[0] if rows else None


def test_observation_of_the_current_job_is_recorded() -> None:
    row = _process(_stored(BUILDING), Observation(ObservedState.READY, job=job_key(BUILDING)))
    assert (row.state.status, row.job.verb) == (Status.COMPLETE, None)


@pytest.mark.parametrize(
    "meanwhile",
    [
        pytest.param({"version": 2, "posted_at": time_at(2)}, id="a newer goal's"),
        pytest.param({"posted_at": time_at(3)}, id="the same goal's next try"),
    ],
)
def test_observation_of_an_earlier_job_does_not_complete_the_current_one(meanwhile) -> None:
    now = resource_row(
        "a",
        job_state=JobState.AWAITING_OBSERVATION,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        observed=ObservedState.BUSY,
        observe_at=time_at(9),
        **meanwhile,
    )
    store = _stored(now, version=now.job.version)
    row = _process(store, Observation(ObservedState.READY, job=job_key(BUILDING)))
    assert (row.state.status, row.job.state) == (Status.IN_PROGRESS, JobState.AWAITING_OBSERVATION)


@pytest.mark.parametrize(
    ("postponed_to", "next_poll"),
    [
        pytest.param(BUILDING.observation.observe_at, time_at(65), id="its own poll"),
        pytest.param(time_at(30), BUILDING.observation.observe_at, id="a signal's poll"),
    ],
)
def test_observation_keeps_the_poll_that_a_signal_has_requested(postponed_to, next_poll) -> None:
    busy = Observation(
        ObservedState.BUSY,
        recheck_after_s=60,
        job=job_key(BUILDING),
        postponed_to=postponed_to,
    )
    row = _process(_stored(BUILDING), busy)
    assert row.observation.observe_at == next_poll


def test_observation_from_before_a_deletion_does_not_hide_its_completion() -> None:
    deleted = resource_row(
        "a",
        version=2,
        desired=DesiredState.ABSENT,
        job_state=JobState.AWAITING_OBSERVATION,
        action=Action.DELETE,
        status=Status.IN_PROGRESS,
        observed=ObservedState.ABSENT,
        observe_at=time_at(9),
        posted_at=time_at(2),
    )
    store = _stored(deleted, version=2, action=Action.DELETE)
    assert _process(store, Observation(ObservedState.READY, job=job_key(BUILDING))) is None


def test_failure_is_recorded_and_a_restricted_resource_keeps_its_status() -> None:
    refused = "ResourceActionRestricted: resources.b: update is restricted for resource."
    common = {
        "job_state": JobState.AWAITING_OBSERVATION,
        "observed": ObservedState.FAILED,
        "observe_at": time_at(9),
    }
    rows = [
        resource_row(
            "a", action=Action.CREATE, status=Status.IN_PROGRESS, status_reason="why", **common
        ),
        resource_row(
            "b",
            action=Action.CREATE,
            status=Status.COMPLETE,
            status_reason=refused,
            **{**common, "observed": ObservedState.SKIPPED},
        ),
    ]
    store = _stored(*rows)
    context = TraversalContext(
        time_at(5), IdGenerator(lambda: START_TIME, random.Random(1)), ConvergenceSettings()
    )
    with store.transaction() as tx:
        process_observations(tx, {"stack-1": ["a", "b"]}, {}, context)
    with store.transaction() as tx:
        a, b = tx.resources.get(["a", "b"])
    assert (a.state.status, a.state.reason) == (Status.FAILED, "why")
    assert (b.state.status, b.state.reason) == (
        Status.COMPLETE,
        "update is restricted for resource.",
    )
    assert {a.job.state, b.job.state} == {JobState.CANCELLED}
    assert {a.observation.observe_at, b.observation.observe_at} == {None}
    events = [event for event in store.tables.events if event.resource_name in ("a", "b")]
    assert [(event.action, event.status, event.reason) for event in events] == [
        (Action.CREATE, Status.FAILED, "why"),
        (Action.UPDATE, Status.FAILED, "update is restricted for resource."),
    ]
