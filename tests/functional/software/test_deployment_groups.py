"""Tests of groups of software deployments: one for each server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient
from tests.functional.software.test_software_deployments import deployments, start, template

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def group(servers: Json, text: str = "echo", **more: Json) -> Json:
    body = template(text=text)
    policy = more.pop("update_policy", None)
    properties = {**body["resources"]["d"]["properties"], "signal_transport": "NO_SIGNAL", **more}
    del properties["server"]
    body["resources"]["d"] = {
        "type": "OS::Heat::SoftwareDeploymentGroup",
        "properties": {**properties, "servers": servers},
        **({"update_policy": policy} if policy else {}),
    }
    body["outputs"] = {
        "codes": {"value": {"get_attr": ["d", "deploy_status_codes"]}},
        "results": {"value": {"get_attr": ["d", "result"]}},
        "one": {"value": {"get_attr": ["d", "deploy_stdouts", "a"]}},
        "inner": {"value": {"get_attr": ["d", "resource.b.result"]}},
    }
    return body


def servers(heat: ProjectClient) -> list[str]:
    return sorted(each["server_id"] for each in deployments(heat))


def test_group_deploys_to_many_servers(heat: ProjectClient) -> None:
    heat.create("s", group({"a": "one", "b": "two"}))
    assert (heat.status("s"), servers(heat)) == ("CREATE_COMPLETE", ["one", "two"])
    heat.update("s", group({"b": "two", "c": "three"}))
    assert (heat.status("s"), servers(heat)) == ("UPDATE_COMPLETE", ["three", "two"])
    nested_id = heat.nested_stack("s", "d")["id"]
    assert sorted(each["resource_name"] for each in heat.resources(nested_id)) == ["b", "c"]
    heat.delete("s")
    assert servers(heat) == []


def test_group_collects_outputs_of_each_server(heat: ProjectClient) -> None:
    body = group({"a": "one", "b": "two"}, signal_transport="HEAT_SIGNAL")
    start(heat, body)
    nested_id = heat.nested_stack("s", "d")["id"]
    for name in "ab":
        path = f"{heat.path(nested_id)}/resources/{name}/signal"
        outputs = {"deploy_status_code": 0, "deploy_stdout": f"from {name}", "result": name * 2}
        assert heat.send("POST", path, outputs, leave_pending=True).status_int == 200
    heat.service.run_due_work()
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.outputs("s") == {
        "codes": {"a": 0, "b": 0},
        "results": {"a": "aa", "b": "bb"},
        "one": "from a",
        "inner": "bb",
    }


def test_group_deploys_in_batches(heat: ProjectClient) -> None:
    policy = {
        "batch_create": {"max_batch_size": 2, "pause_time": 10},
        "rolling_update": {"max_batch_size": 1, "pause_time": 10},
    }
    five = {name: f"srv-{name}" for name in "abcde"}
    heat.create("s", group(five, update_policy=policy), hold=True)
    heat.service.run_due_work()
    assert servers(heat) == ["srv-a", "srv-b"]
    heat.service.run_until_idle()
    assert (heat.status("s"), len(servers(heat))) == ("CREATE_COMPLETE", 5)
    began = heat.service.clock()
    heat.update("s", group(five, "echo 2", update_policy=policy))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert 40 <= (heat.service.clock() - began).total_seconds() < 60


def test_invalid_group_is_refused_before_creation(heat: ProjectClient) -> None:
    body = group({"a": "one"}, input_values=["no map"])
    response = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert response.status_int == 400
    body = group({"a": "one"}, signal_transport="PIGEON")
    response = heat.send("POST", "/stacks", {"stack_name": "s", "template": body})
    assert "signal_transport" in response.json["error"]["message"]


ROLLING = {"rolling_update": {"max_batch_size": 2, "pause_time": 0}}


@pytest.mark.parametrize("policy", [None, ROLLING], ids=["at_once", "rolling"])
@pytest.mark.parametrize(
    "type_name",
    [
        "SoftwareDeploymentGroup",
        "StructuredDeploymentGroup",
        "SoftwareDeployments",
        "StructuredDeployments",
    ],
)
def test_group_with_unread_attributes(heat: ProjectClient, type_name: str, policy: Json) -> None:
    def body(text: str, **hosts: str) -> Json:
        found = group(hosts, text, update_policy=policy)
        found["resources"]["d"]["type"] = f"OS::Heat::{type_name}"
        if type_name.startswith("Structured"):
            config = {"config": {"text": text}, "outputs": [{"name": "result"}]}
            config_type = "OS::Heat::StructuredConfig"
            found["resources"]["c"] = {"type": config_type, "properties": config}
        del found["outputs"]
        return found

    heat.create("s", body("echo", a="one", b="two", c="three"))
    assert (heat.status("s"), servers(heat)) == ("CREATE_COMPLETE", ["one", "three", "two"])
    heat.update("s", body("echo 2", a="one", b="two", d="four"))
    assert (heat.status("s"), servers(heat)) == ("UPDATE_COMPLETE", ["four", "one", "two"])
    heat.delete("s")
    assert servers(heat) == []


def test_deployments_of_a_stack_that_timed_out_are_cancelled(heat: ProjectClient) -> None:
    body = group({"one": "s1", "two": "s2"}, signal_transport="HEAT_SIGNAL")
    heat.create("s", body, hold=True, timeout_mins=1)
    heat.service.run_due_work()
    assert statuses(heat) == [("IN_PROGRESS", "Deploy data available")] * 2
    heat.service.clock.advance(61)
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    assert statuses(heat) == [("FAILED", "Deployment cancelled.")] * 2
    heat.delete("s")
    assert statuses(heat) == []


def statuses(heat: ProjectClient) -> list[tuple[str, str]]:
    """Return the status and reason of each deployment."""
    found = heat.send("GET", "/software_deployments", leave_pending=True).json
    shown = [
        heat.send("GET", f"/software_deployments/{each['id']}", leave_pending=True).json
        for each in found["software_deployments"]
    ]
    assert [each["software_deployment"] for each in shown] == found["software_deployments"]
    return [(each["status"], each["status_reason"]) for each in found["software_deployments"]]


@pytest.mark.parametrize("prefix", ["Software", "Structured"])
def test_new_name_of_a_group_replaces_nothing(heat: ProjectClient, prefix: str) -> None:
    def body(name: str, text: str) -> Json:
        found = group({"a": "one", "b": "two"}, text)
        found["resources"]["d"]["type"] = f"OS::Heat::{prefix}{name}"
        if prefix == "Structured":
            properties = {"config": {"text": text}}
            found["resources"]["c"] = {
                "type": "OS::Heat::StructuredConfig",
                "properties": properties,
            }
        del found["outputs"]
        return found

    heat.create("s", body("Deployments", "echo"))
    nested = heat.nested_stack("s", "d")["id"]
    before = statuses(heat)
    for text in ("echo", "echo 2"):
        heat.update("s", body("DeploymentGroup", text))
        assert heat.status("s") == "UPDATE_COMPLETE", heat.stack("s")["stack_status_reason"]
        assert heat.nested_stack("s", "d")["id"] == nested
    assert len(statuses(heat)) == len(before)
    heat.delete("s")
    assert (heat.stack("s"), statuses(heat)) == (None, [])
