"""Updates that name the same implementation otherwise: nothing is replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
TYPE = "OS::Heat::TestResource"
ALIAS = "My::Resource"
FILES = {
    name: json.dumps(hot_template({"a": {"type": TYPE, "properties": {"value": "x"}}}))
    for name in ("one.yaml", "two.yaml")
}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def body(target: str) -> Json:
    return {"files": FILES, "environment": {"resource_registry": {ALIAS: target}}}


def template(type_name: str, **properties: Json) -> Json:
    return hot_template({"r": {"type": type_name, "properties": properties}})


@pytest.mark.parametrize(("before", "after"), [(ALIAS, TYPE), (TYPE, ALIAS)])
def test_alias_and_type_are_the_same_resource(
    heat: ProjectClient, before: str, after: str
) -> None:
    heat.create("s", template(before, value="x"), **body(TYPE))
    old = heat.resource("s", "r")
    heat.update("s", template(after, value="x"), **body(TYPE))
    new = heat.resource("s", "r")
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert new["physical_resource_id"] == old["physical_resource_id"]
    assert (new["resource_type"], new["resource_status"]) == (after, "CREATE_COMPLETE")
    heat.update("s", template(before, value="y"), **body(TYPE))
    changed = heat.resource("s", "r")
    assert changed["physical_resource_id"] == old["physical_resource_id"]
    assert (changed["resource_type"], changed["resource_status"]) == (before, "UPDATE_COMPLETE")


@pytest.mark.parametrize(
    ("before", "after"), [(ALIAS, "one.yaml"), ("one.yaml", ALIAS), ("one.yaml", "two.yaml")]
)
def test_other_name_of_a_template_keeps_the_nested_stack(
    heat: ProjectClient, before: str, after: str
) -> None:
    heat.create("s", template(before), **body("one.yaml"))
    nested = heat.nested_stack("s", "r")["id"]
    old = heat.resource(nested, "a")["physical_resource_id"]
    heat.update("s", template(after), **body("two.yaml"))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert heat.resource("s", "r")["resource_type"] == after
    assert heat.resource("s", "r")["physical_resource_id"] == nested
    assert heat.resource(nested, "a")["physical_resource_id"] == old


def test_preview_replaces_nothing(heat: ProjectClient) -> None:
    heat.create("s", template(ALIAS), **body(TYPE))
    request = {"template": template(TYPE), **body(TYPE)}
    shown = heat.send("PUT", f"{heat.path('s')}/preview", request).json["resource_changes"]
    assert [each["resource_name"] for each in shown["unchanged"]] == ["r"]
    assert shown["replaced"] == shown["added"] == shown["deleted"] == []


def test_other_type_replaces_the_resource(heat: ProjectClient) -> None:
    heat.create("s", template(TYPE, value="x"), **body(TYPE))
    old = heat.resource("s", "r")["physical_resource_id"]
    heat.update("s", template("OS::Heat::Value", value="x"), **body(TYPE))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "r")["physical_resource_id"] != old
