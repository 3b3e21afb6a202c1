"""Nested stacks that are retained, or that users delete on their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition


@pytest.fixture
def heat(tmp_path: Path) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_retained_nested_stack_becomes_a_root_stack(heat: ProjectClient) -> None:
    n = {"type": "n.yaml", "deletion_policy": "retain"}
    inner = json.dumps(
        hot_template({"x": resource_definition(value="1"), "m": {"type": "m.yaml"}})
    )
    files = {
        "n.yaml": inner,
        "m.yaml": json.dumps(hot_template({"y": resource_definition(value="2")})),
    }
    heat.create("s", hot_template({"n": n, "a": resource_definition(value="a")}), files=files)
    old = heat.nested_stack("s", "n")
    heat.update("s", hot_template({"a": resource_definition(value="a")}))
    free = heat.stack(old["stack_name"])
    assert (free["id"], free["parent"], free["stack_status"]) == (
        old["id"],
        None,
        "CREATE_COMPLETE",
    )
    listed = heat.send("GET", "/stacks", leave_pending=True).json["stacks"]
    assert {each["stack_name"] for each in listed} == {"s", old["stack_name"]}
    inside = heat.resources(old["stack_name"], "?nested_depth=2")
    assert {each["resource_name"] for each in inside} == {"x", "m", "y"}
    heat.update(
        old["stack_name"],
        hot_template({"x": resource_definition(value="3"), "m": {"type": "m.yaml"}}),
        files=files,
    )
    assert heat.status(old["stack_name"]) == "UPDATE_COMPLETE"
    heat.delete("s")
    heat.delete(old["stack_name"])
    assert heat.send("GET", "/stacks?show_nested=true", leave_pending=True).json["stacks"] == []


def test_nested_stack_cannot_be_retained_when_its_name_is_in_use(heat: ProjectClient) -> None:
    n = {"type": "n.yaml", "deletion_policy": "retain"}
    heat.create(
        "s",
        hot_template({"n": n}),
        files={"n.yaml": json.dumps(hot_template({"x": resource_definition(value="1")}))},
    )
    name = heat.nested_stack("s", "n")["stack_name"]
    heat.create(name, hot_template({}))
    heat.delete("s")
    assert heat.status("s") == "DELETE_FAILED"
    assert f"The Stack ({name}) already exists" in heat.stack("s")["stack_status_reason"]
    heat.delete(name)
    heat.delete("s")
    assert heat.status(name) == "CREATE_COMPLETE"


def test_next_update_recreates_a_nested_stack_that_users_deleted(
    heat: ProjectClient,
) -> None:
    body = hot_template({"n": {"type": "n.yaml"}})
    files = {"n.yaml": json.dumps(hot_template({"x": resource_definition(value="1")}))}
    heat.create("s", body, files=files)
    old = heat.nested_stack("s", "n")
    heat.delete(old["id"])
    heat.update("s", body, files=files)
    new = heat.nested_stack("s", "n")
    assert (heat.status("s"), new["stack_status"]) == ("UPDATE_COMPLETE", "CREATE_COMPLETE")
    assert new["id"] != old["id"]
