"""The cost of readiness levels and stabilization windows, in statements and messages.

Levels that nobody uses cost nothing; what those in use cost more follows the batches in which
resources are observed, not the resources.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

from heat_convergence.db.tables import metadata
from heat_convergence.resources.builtin.test_resource import TestResource
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
SIZES = (20, 60)
PLAIN, STAGED = TestResource.name, "Test::Staged"
LATE = {"readiness": "active"}
SLOW = {"wait_secs": 3}
EARLY_STATEMENTS_PER_PAIR = 2
WINDOW_STATEMENTS = 40


class StagedType(TestResource):
    """A resource that others may refer to while it is being created."""

    name = STAGED
    dependent_levels: ClassVar = {"*": ReadinessLevel.EXISTS}


@pytest.fixture(scope="module")
def heat(any_database_url: str) -> Iterator[ProjectClient]:
    service = LocalService(any_database_url, types=[StagedType()])
    yield ProjectClient(service)
    metadata.drop_all(service.database.engine)
    service.close()


def pairs(type_name: str, size: int) -> Json:
    """Return slow resources of the type, each with another one that needs its id."""
    resources = {}
    for at in range(size):
        resources[f"a{at}"] = {"type": type_name, "properties": SLOW}
        value = {"get_resource": f"a{at}"}
        resources[f"b{at}"] = {"type": PLAIN, "properties": {"value": value}}
    return hot_template(resources)


def unique_name() -> str:
    return f"costs-{uuid.uuid4().hex}"


def cost(heat: ProjectClient, type_name: str, size: int, policy: Json) -> tuple[int, int]:
    """Return how many statements and messages the creation of pairs takes."""
    environment = {"resource_registry": {"resources": {"*": policy}}}
    body = {"environment": environment, "hold": False}
    heat.create(unique_name(), pairs(type_name, 1), **body)  # stores what stacks have in common
    name, sent = unique_name(), heat.service.bus.sent_count_by_method
    before = sum(sent.values())
    with count_statements(heat.service.database.engine) as statements:
        heat.create(name, pairs(type_name, size), **body)
    assert heat.status(name) == "CREATE_COMPLETE"
    return statements.total, sum(sent.values()) - before


@pytest.mark.parametrize("size", SIZES)
def test_levels_that_are_not_used_cost_nothing(heat: ProjectClient, size: int) -> None:
    assert cost(heat, STAGED, size, LATE) == cost(heat, PLAIN, size, LATE)


def test_early_release_costs_two_statements_for_a_pair_at_most(heat: ProjectClient) -> None:
    more = []
    for size in SIZES:
        early, late = cost(heat, STAGED, size, {}), cost(heat, PLAIN, size, {})
        more.append(early[0] - late[0])
    few, many = more
    assert many - few <= EARLY_STATEMENTS_PER_PAIR * (SIZES[1] - SIZES[0])


def test_window_costs_the_same_for_any_number_of_resources(heat: ProjectClient) -> None:
    more = []
    for size in SIZES:
        stable = cost(heat, PLAIN, size, {"stabilization": 60})
        plain = cost(heat, PLAIN, size, {})
        assert stable[1] == plain[1]
        more.append(stable[0] - plain[0])
    few, many = more
    assert few == many <= WINDOW_STATEMENTS
