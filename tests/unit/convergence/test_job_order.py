"""Physical dependencies of a resource, depending on its job in the last traversal."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.job_order import physical_dependencies_of
from heat_convergence.testing.sample_rows import changed_row, resource_row

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def resource(**values: object) -> Resource:
    row = resource_row(
        "a-1", version=2, definition_hash="new", requires=("b", "gone"), applied_hash="old",
        physical_dependencies=("c-1",), job=None, job_state=None,
    )  # fmt: skip
    return changed_row(row, **values)


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ({"applied_hash": "new"}, ("b-2",)),
        ({}, ("c-1",)),  # a verb came before the definition was applied
        ({"job": Verb.CONVERGE, "job_state": JobState.BLOCKED}, ("c-1",)),
        ({"job": Verb.CONVERGE, "job_state": JobState.QUEUED}, ("c-1",)),
        ({"job": Verb.CONVERGE, "job_state": JobState.RUNNING}, ("b-2", "c-1")),
        ({"job": Verb.CONVERGE, "job_state": JobState.CANCELLED}, ("b-2", "c-1")),
        ({"job": Verb.CONVERGE, "job_state": JobState.CANCELLED, "id": "a-2"}, ("c-1",)),
        ({"job": Verb.RESUME, "job_state": JobState.RUNNING}, ("c-1",)),
        ({"job": Verb.ADOPT, "job_state": JobState.BLOCKED}, ("b-2", "c-1")),
        ({"job": Verb.CONVERGE, "job_state": JobState.RUNNING, "desired": DesiredState.ABSENT},
         ("c-1",)),
    ],
)  # fmt: skip
def test_physical_dependencies_of_a_resource(
    values: dict[str, object], held: tuple[str, ...]
) -> None:
    assert physical_dependencies_of(resource(**values), {"a": "a-1", "b": "b-2"}, {"a-2"}) == held
