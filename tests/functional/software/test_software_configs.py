"""Tests of software configurations that stacks create, through the API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def template(text: str = "echo") -> Json:
    return hot_template(
        {
            "script": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {"group": "script", "config": text, "inputs": [{"name": "i"}]},
            },
            "init": {
                "type": "OS::Heat::CloudConfig",
                "properties": {"cloud_config": {"packages": ["a"]}},
            },
            "both": {
                "type": "OS::Heat::MultipartMime",
                "properties": {
                    "parts": [
                        {"config": {"get_resource": "init"}, "subtype": "cloud-config"},
                        {"config": {"get_resource": "script"}},
                    ]
                },
            },
        },
        outputs={
            "id": {"get_resource": "script"},
            "text": {"get_attr": ["script", "config"]},
            "both": {"get_attr": ["both", "config"]},
        },
    )


def configs(heat: ProjectClient) -> list[str]:
    found = heat.send("GET", "/software_configs").json["software_configs"]
    return sorted(each["id"] for each in found)


def test_configs_of_a_stack_are_visible_in_the_api(heat: ProjectClient) -> None:
    heat.create("s", template())
    assert heat.status("s") == "CREATE_COMPLETE"
    outputs = heat.outputs("s")
    shown = heat.send("GET", f"/software_configs/{outputs['id']}").json["software_config"]
    assert (shown["group"], shown["config"], shown["inputs"][0]["name"]) == ("script", "echo", "i")
    assert shown["name"].startswith("s-script-")
    assert outputs["text"] == "echo"
    assert "#cloud-config\npackages:\n- a" in outputs["both"]
    assert "echo" in outputs["both"]
    assert len(configs(heat)) == 3


def test_update_replaces_and_delete_removes_configs(heat: ProjectClient) -> None:
    heat.create("s", template())
    before = heat.outputs("s")["id"]
    heat.update("s", template("echo 2"))
    after = heat.outputs("s")["id"]
    assert after != before
    assert "echo 2" in heat.outputs("s")["both"]
    assert len(configs(heat)) == 3
    heat.delete("s")
    assert configs(heat) == []


def test_deployed_config_is_not_deleted(heat: ProjectClient) -> None:
    heat.create("s", template())
    stack_id, config_id = heat.stack("s")["id"], heat.outputs("s")["id"]
    body = {"config_id": config_id, "server_id": "srv", "action": "CREATE", "status": "COMPLETE"}
    made = heat.send("POST", "/software_deployments", body).json["software_deployment"]
    heat.delete("s")
    assert heat.status(stack_id) == "DELETE_FAILED"
    assert "is used by a deployment" in heat.stack(stack_id)["stack_status_reason"]
    heat.send("DELETE", f"/software_deployments/{made['id']}")
    heat.delete(stack_id)
    assert heat.status(stack_id) == "DELETE_COMPLETE"
    assert configs(heat) == []


def test_component_with_two_configurations_for_an_action_is_refused(heat: ProjectClient) -> None:
    configs = [{"config": "a", "tool": "t"}, {"config": "b", "tool": "t"}]
    body = hot_template(
        {"c": {"type": "OS::Heat::SoftwareComponent", "properties": {"configs": configs}}}
    )
    answer = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "StackValidationFailed")
    assert "resources.c.properties.configs[1].actions" in answer.json["error"]["message"]
