"""The memory while a large stack is written.

It has neither the parsed request nor its template while rows are written, and of a large template
no more than a part as objects at any time.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.common import strict_json
from heat_convergence.common.values import packed_map
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.db.repositories import resources as repository
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.resources import validation
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.template import Template
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

NAMES = [f"accepted{at}" for at in range(50)]  # as in no other test
_MARK = "a value that no other test has"


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def template(value: str) -> Mapping[str, Any]:
    resource = resource_definition(value=value, wait_secs=0)
    return hot_template({name: dict(resource) for name in NAMES})


def objects_of_the_template() -> list[str]:
    """Return the kinds of living objects that hold definitions of the template."""
    found = []
    for each in gc.get_objects():
        if isinstance(each, ResourceDefinition) and each.properties.get("value") == _MARK:
            found.append("definition")
        elif isinstance(each, Template) and set(NAMES) <= set(each.resource_names):
            found.append("template")
    return found


@pytest.mark.parametrize("method", ["insert", "lock_by_stack"])
def test_template_is_released_before_rows_are_written(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    kept: list[list[str]] = []
    original = getattr(SqlResourceRepository, method)

    def noted(*arguments: Any) -> Any:
        kept.append(objects_of_the_template())
        return original(*arguments)

    updates = method == "lock_by_stack"
    if updates:
        heat.create("s", template("first"))
    monkeypatch.setattr(SqlResourceRepository, method, noted)
    gc.collect()
    gc.disable()  # the objects must not wait for it
    try:
        if updates:
            heat.update("s", template(_MARK))
        else:
            heat.create("s", template(_MARK))
    finally:
        gc.enable()
    assert kept[0] == []


MANY = [f"many{at}" for at in range(600)]
PART = 20


@pytest.fixture
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_json, "_LARGE", 0)
    monkeypatch.setattr(packed_map, "PACKED_FROM", PART)
    monkeypatch.setattr(packed_map, "_PART_SIZE", PART)
    monkeypatch.setattr(packed_map, "_OPEN_PARTS", 1)
    monkeypatch.setattr(repository, "_INSERTED", PART)


def living(cls: type) -> int:
    """Return how many living objects of a class are about the many resources."""
    names = frozenset(MANY)
    return sum(type(each) is cls and each.name in names for each in gc.get_objects())


@pytest.mark.usefixtures("_small_parts")
def test_large_template_becomes_objects_a_part_at_a_time(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    most: Counter[str] = Counter()
    calls: Counter[str] = Counter()

    def note(place: str, cls: type) -> None:
        calls[place] += 1
        if calls[place] % PART == 0:  # looking at all objects of a process takes long
            most[place] = max(most[place], living(cls))

    check, insert = validation._Resource.check, repository.insert_rows

    def noted_check(each: Any) -> None:
        note("definitions that are checked", ResourceDefinition)
        check(each)

    def noted_insert(*arguments: Any) -> None:
        note("goal while rows are inserted", DesiredResource)
        note("rows that are inserted", Resource)
        insert(*arguments)

    monkeypatch.setattr(validation._Resource, "check", noted_check)
    monkeypatch.setattr(repository, "insert_rows", noted_insert)
    resource = resource_definition(value="1", wait_secs=0)
    heat.create("s", hot_template({name: dict(resource) for name in MANY}), hold=True)
    assert len(heat.resources("s")) == len(MANY)
    assert 0 < most["definitions that are checked"] <= 2 * PART
    assert 0 < most["goal while rows are inserted"] <= 2 * PART
    jobs_in_flight = 200  # the rows that start at once stay
    assert jobs_in_flight < most["rows that are inserted"] <= jobs_in_flight + 2 * PART
