"""A resource that is to be deleted and looks well is one that is still being deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heat_convergence.convergence.deciding import Step
from heat_convergence.convergence.model import (
    Action,
    Desired,
    JobState,
    Observed,
    Stack,
    Status,
)
from heat_convergence.engine.jobs import Claim, make_job
from heat_convergence.engine.performing import perform
from heat_convergence.observer.looking import Due, look_at
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.resources.plugin import Look, View
from heat_convergence.resources.registry import Registry
from heat_convergence.testing.rows import at, resource_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STACK = Stack("stack-1", "web", "p", 1, Action.DELETE, Status.IN_PROGRESS, "", "g", NOW)


class Lingering(TestResource):
    """Takes the order to go and shows itself in good health."""

    def delete(self, view: View) -> Look:
        return Look(Observed.READY)

    def observe(self, view: View) -> Look:
        return Look(Observed.READY)


@pytest.fixture
def leaving():
    return resource_row(
        "a",
        type=Lingering.name,
        implementation=Lingering.name,
        desired=Desired.ABSENT,
        physical_id="thing-1",
        action=Action.DELETE,
        status=Status.IN_PROGRESS,
        job_state=JobState.WATCHED,
        observed=Observed.BUSY,
        observe_at=at(0),
        properties={},
    )


def test_after_the_call(leaving) -> None:
    claim = Claim(stack=STACK, inputs={}, registry=Registry.of(Lingering), now=NOW)
    job = make_job(leaving, claim)
    assert job.step is Step.DELETE
    assert perform(job, lambda: True).look.observed is Observed.BUSY


def test_at_a_later_look(leaving) -> None:
    seen = look_at([Due(STACK, [leaving], {})], Registry.of(Lingering), NOW)
    assert seen["stack-1"]["a"].observed is Observed.BUSY
