"""The memory while a large stack is written.

It has neither the parsed request nor its template while rows are written, and no rows yet while
the template's text is.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.repositories.contents import SqlContentRepository
from heat_convergence.db.repositories.resources import SqlResourceRepository
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


def test_text_is_written_before_rows_are_planned(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[int] = []
    original = SqlContentRepository.put

    def noted(repository: SqlContentRepository, contents: Mapping[str, str]) -> None:
        rows = (each for each in gc.get_objects() if isinstance(each, Resource))
        kept.append(sum(each.name in NAMES for each in rows))
        original(repository, contents)

    monkeypatch.setattr(SqlContentRepository, "put", noted)
    heat.create("s", template(_MARK), hold=True)
    assert kept == [0]
