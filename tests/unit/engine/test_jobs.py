"""A job whose values are wrong becomes a failed job, not a lost worker."""

from __future__ import annotations

from datetime import UTC, datetime

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.deciding import Step
from heat_convergence.convergence.model import (
    Action,
    Desired,
    Resource,
    Stack,
    Status,
    Verb,
)
from heat_convergence.engine.jobs import Claim, make_job
from heat_convergence.engine.performing import perform
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.registry import Registry

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STACK = Stack("s", "web", "p", 1, Action.CREATE, Status.IN_PROGRESS, "", "g", NOW)


def test_properties_that_turn_out_to_be_no_map_fail_the_resource() -> None:
    row = Resource(
        id="r",
        stack_id="s",
        name="a",
        type=TestResource.name,
        implementation=TestResource.name,
        version=1,
        desired=Desired.PRESENT,
        definition={"type": TestResource.name, "properties": ["not", "a", "map"]},
        definition_hash="h",
        physical_name="web-a-1",
        created_at=NOW,
        job=Verb.CONVERGE,
    )
    job = make_job(row, Claim(STACK, {}, Registry([TestResource()]), NOW))
    error = perform(job, lambda: True).error
    assert isinstance(error, StackValidationFailed)
    assert error.path == "resources.a.properties"


def test_what_a_lost_create_made_is_sought_by_its_properties() -> None:
    """RULE 4: the row of a create that was never recorded has no properties."""
    row = Resource(
        id="r",
        stack_id="s",
        name="a",
        type=TestResource.name,
        implementation=TestResource.name,
        version=1,
        desired=Desired.ABSENT,
        definition={"type": TestResource.name, "properties": {"value": "mine"}},
        definition_hash="h",
        physical_name="web-a-1",
        created_at=NOW,
        action=Action.CREATE,
        status=Status.IN_PROGRESS,
        job=Verb.CONVERGE,
    )
    job = make_job(row, Claim(STACK, {}, Registry([TestResource()]), NOW))
    assert job.step is Step.FIND_AND_DELETE
    assert job.view is not None
    assert job.view.properties["value"] == "mine"
