"""A resource that is to be deleted and looks well is one that is still being deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heat_convergence.common.error_log import ErrorLog
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.engine.execution import execute_job
from heat_convergence.engine.jobs import ClaimContext, create_job
from heat_convergence.observer.polling import ObservationBatch, plan_polls
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.sample_rows import resource_row, time_at

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STACK = Stack("stack-1", "web", "p", 1, Action.DELETE, Status.IN_PROGRESS, "", "g", NOW)


class SlowDeletingType(TestResource):
    """Takes the order to go and shows itself in good health."""

    def delete(self, view: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.READY)

    def observe(self, view: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.READY)


@pytest.fixture
def leaving():
    return resource_row(
        "a",
        type=SlowDeletingType.name,
        implementation=SlowDeletingType.name,
        desired=DesiredState.ABSENT,
        physical_id="thing-1",
        action=Action.DELETE,
        status=Status.IN_PROGRESS,
        job_state=JobState.AWAITING_OBSERVATION,
        observed=ObservedState.BUSY,
        observe_at=time_at(0),
        properties={},
    )


def test_delete_is_busy_after_the_call(leaving) -> None:
    claim = ClaimContext(
        stack=STACK, inputs={}, registry=ResourceTypeRegistry.from_types(SlowDeletingType), now=NOW
    )
    job = create_job(leaving, claim)
    assert job.step is JobStep.DELETE
    assert execute_job(job, lambda: True).result.observed is ObservedState.BUSY


def test_delete_is_busy_when_observed(leaving) -> None:
    registry = ResourceTypeRegistry.from_types(SlowDeletingType)
    batches = [ObservationBatch(STACK, [leaving], {})]
    result, groups = plan_polls(batches, registry, NOW, ErrorLog())
    assert not groups  # it does no I/O
    assert result.observations["stack-1"]["a"].observed is ObservedState.BUSY
