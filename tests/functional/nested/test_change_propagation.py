"""Changes in a nested stack reach all stacks above it, one after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.nested.test_resource_groups import group as resource_group
from tests.functional.nested.test_scaling_groups import FlakyMemberType, group, policy
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    FlakyMemberType.broken = False
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(FlakyMemberType(),))
    yield ProjectClient(service)
    service.close()


def wrap(resource: Json) -> Json:
    return hot_template({"n": resource}, outputs={"size": {"get_attr": ["n", "size"]}})


TREE = wrap({"type": "mid.yaml"})
LOWEST = hot_template(
    {"g": group(resource={"type": "Test::FlakyMember"}), "up": policy(1)},
    outputs={"size": {"get_attr": ["g", "current_size"]}},
)
FILES = {
    "mid.yaml": json.dumps(wrap({"type": "low.yaml"})),
    "low.yaml": json.dumps(LOWEST),
}


@pytest.fixture
def lowest(heat: ProjectClient) -> str:
    """Return the id of the stack with the group, two levels under ``s``."""
    heat.create("s", TREE, files=FILES)
    return _lowest(heat)


def _lowest(heat: ProjectClient) -> str:
    return str(heat.nested_stack(heat.nested_stack("s", "n")["id"], "n")["id"])


def _scale_up(heat: ProjectClient, lowest: str) -> None:
    response = heat.send("POST", f"{heat.path(lowest)}/resources/up/signal")
    assert response.status_int == 200, response.text


def test_scaling_changes_the_outputs_of_the_root(heat: ProjectClient, lowest: str) -> None:
    assert heat.outputs("s") == {"size": 1}
    _scale_up(heat, lowest)
    assert heat.outputs("s") == {"size": 2}
    before = len(heat.events("s", "?nested_depth=4"))
    heat.update("s", TREE, files=FILES)
    assert len(heat.events("s", "?nested_depth=4")) == before + 2  # nothing is left to do


def test_update_of_the_root_repairs_a_failed_descendant(heat: ProjectClient, lowest: str) -> None:
    FlakyMemberType.broken = True
    _scale_up(heat, lowest)
    assert heat.nested_stack(lowest, "g")["stack_status"] == "UPDATE_FAILED"
    FlakyMemberType.broken = False
    heat.update("s", TREE, files=FILES)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.nested_stack(lowest, "g")["stack_status"] == "UPDATE_COMPLETE"


@pytest.mark.parametrize("deep", [False, True])
def test_update_of_the_root_recreates_a_deleted_descendant(
    heat: ProjectClient, lowest: str, deep: bool
) -> None:
    deleted = heat.nested_stack(lowest, "g")["id"] if deep else lowest
    heat.delete(deleted)
    heat.update("s", TREE, files=FILES)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.nested_stack(_lowest(heat), "g")["stack_status"] == "CREATE_COMPLETE"
    assert (_lowest(heat) == lowest) is deep
    assert heat.outputs("s") == {"size": 1}


def test_update_of_the_root_replaces_an_unhealthy_member(
    heat: ProjectClient,
) -> None:
    inner = {"in.yaml": json.dumps(hot_template({"g": resource_group(2), "n": {"type": "leaf.yaml"}})),  # noqa: E501
             "leaf.yaml": json.dumps(hot_template({"a": resource_definition(value="x")}))}  # fmt: skip  # noqa: E501
    body = hot_template({"top": {"type": "in.yaml"}, "still": {"type": "leaf.yaml"}})
    heat.create("s", body, files=inner)
    middle = heat.nested_stack("s", "top")["id"]
    descendant = heat.nested_stack(middle, "g")["id"]

    def present() -> dict[str, str]:
        rows = heat.resources(descendant)
        return {each["resource_name"]: each["physical_resource_id"] for each in rows}

    before = present()
    path = f"{heat.path(descendant)}/resources/1"
    assert heat.send("PATCH", path, {"mark_unhealthy": True}).status_int == 200
    heat.update("s", body, files=inner)
    assert heat.status("s") == "UPDATE_COMPLETE"
    after = present()
    assert (after["0"], len(after)) == (before["0"], 2)
    assert after["1"] != before["1"]
    assert heat.nested_stack("s", "still")["stack_status"] == "CREATE_COMPLETE"
    events = len(heat.events("s", "?nested_depth=4"))
    heat.update("s", body, files=inner)
    assert len(heat.events("s", "?nested_depth=4")) == events + 2  # nothing is left to do
