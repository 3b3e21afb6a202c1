"""Rolling updates of groups whose members' template moves to another file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
_TEXTS = {
    name: json.dumps(hot_template({"a": {"type": "OS::Heat::RandomString"}, extra: {
        "type": "OS::Heat::TestResource", "properties": {"value": name}}}))
    for name, extra in (("old.yaml", "b"), ("new.yaml", "c"))
}  # fmt: skip
_ROLLING = {"max_batch_size": 1, "min_in_service": 0, "pause_time": 0}


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def resource_group(file: str) -> Json:
    return {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 3, "resource_def": {"type": file}},
        "update_policy": {"rolling_update": _ROLLING},
    }


def scaling_group(file: str) -> Json:
    return {
        "type": "OS::Heat::AutoScalingGroup",
        "properties": {
            "max_size": 3,
            "min_size": 3,
            "resource": {"type": file},
            "rolling_updates": _ROLLING,
        },
    }


@pytest.mark.parametrize("group", [resource_group, scaling_group])
def test_members_move_to_another_file_one_by_one(heat: ProjectClient, group: Any) -> None:
    heat.create("s", hot_template({"g": group("old.yaml")}), files=_only("old.yaml"))
    nested = heat.nested_stack("s", "g")["id"]
    heat.update("s", hot_template({"g": group("new.yaml")}), files=_only("new.yaml"))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert _member_types(heat, nested) == {"new.yaml": 3}
    traversals = [each for each in heat.events(nested) if each["resource_name"].startswith("s-g")]
    assert _count(traversals, "UPDATE_COMPLETE") == 3
    for member in heat.resources(nested):
        inner = heat.nested_stack(nested, member["resource_name"])["id"]
        assert {each["resource_name"] for each in heat.resources(inner)} == {"a", "c"}


@pytest.mark.parametrize("group", [resource_group, scaling_group])
def test_members_of_a_failed_batch_keep_their_files(heat: ProjectClient, group: Any) -> None:
    failing = {"b": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}}
    heat.create("s", hot_template({"g": group("old.yaml")}), files=_only("old.yaml"))
    nested = heat.nested_stack("s", "g")["id"]
    files = {"bad.yaml": json.dumps(hot_template(failing))}
    heat.update("s", hot_template({"g": group("bad.yaml")}), files=files)
    assert heat.status("s") == "UPDATE_FAILED"
    assert _member_types(heat, nested) == {"bad.yaml": 1, "old.yaml": 2}
    heat.update("s", hot_template({"g": group("new.yaml")}), files=_only("new.yaml"))
    assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
    assert _member_types(heat, nested) == {"new.yaml": 3}


def _only(file: str) -> Json:
    return {file: _TEXTS[file]}


def _member_types(heat: ProjectClient, nested: str) -> Json:
    types = [each["resource_type"] for each in heat.resources(nested)]
    return {each: types.count(each) for each in types}


def _count(events: Json, status: str) -> int:
    return sum(each["resource_status"] == status for each in events)
