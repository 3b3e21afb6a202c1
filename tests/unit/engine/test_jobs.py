"""A job whose values are wrong becomes a failed job, not a lost worker."""

from __future__ import annotations

from datetime import UTC, datetime

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.engine.execution import execute_job
from heat_convergence.engine.jobs import ClaimContext, create_job
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.sample_rows import resource_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STACK = Stack("s", "web", "p", 1, Action.CREATE, Status.IN_PROGRESS, "", "g", NOW)


def test_properties_that_are_not_a_map_fail_the_resource() -> None:
    row = resource_row(
        "r",
        stack_id="s",
        name="a",
        type=TestResource.name,
        implementation=TestResource.name,
        version=1,
        desired=DesiredState.PRESENT,
        definition={"type": TestResource.name, "properties": ["not", "a", "map"]},
        definition_hash="h",
        physical_name="web-a-1",
        created_at=NOW,
        job=Verb.CONVERGE,
    )
    job = create_job(row, ClaimContext(STACK, {}, ResourceTypeRegistry([TestResource()]), NOW))
    error = execute_job(job, lambda: True).error
    assert isinstance(error, StackValidationFailed)
    assert error.path == "resources.a.properties"


def test_resource_of_a_lost_create_is_searched_by_its_properties() -> None:
    """RULE 4: the row of a create that was never recorded has no properties."""
    row = resource_row(
        "r",
        stack_id="s",
        name="a",
        type=TestResource.name,
        implementation=TestResource.name,
        version=1,
        desired=DesiredState.ABSENT,
        definition={"type": TestResource.name, "properties": {"value": "mine"}},
        definition_hash="h",
        physical_name="web-a-1",
        created_at=NOW,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        job=Verb.CONVERGE,
    )
    job = create_job(row, ClaimContext(STACK, {}, ResourceTypeRegistry([TestResource()]), NOW))
    assert job.step is JobStep.FIND_AND_DELETE
    assert job.context is not None
    assert job.context.properties["value"] == "mine"
