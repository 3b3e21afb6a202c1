"""Tests of software deployments: the metadata of a server, and the effect of its signal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
OUTPUTS = [{"name": "result"}, {"name": "problem", "error_output": True}]
INPUTS = [{"name": "size", "default": "1"}, {"name": "disk", "replace_on_change": True}]


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def template(values: Json = None, text: str = "echo", **properties: Json) -> Json:
    return hot_template(
        {
            "c": {
                "type": "OS::Heat::SoftwareConfig",
                "properties": {
                    "group": "script",
                    "config": text,
                    "inputs": INPUTS,
                    "outputs": OUTPUTS,
                },
            },
            "d": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "c"},
                    "server": "srv",
                    "input_values": values or {},
                    "signal_transport": "HEAT_SIGNAL",
                    **properties,
                },
            },
            "after": {"type": "OS::Heat::None", "depends_on": "d"},
        },
        outputs={
            "out": {"get_attr": ["d", "deploy_stdout"]},
            "result": {"get_attr": ["d", "result"]},
        },
    )


def start(heat: ProjectClient, body: Json) -> None:
    heat.create("s", body, hold=True)
    heat.service.run_due_work()


def signal(heat: ProjectClient, **outputs: Json) -> Any:
    path = f"{heat.path('s')}/resources/d/signal"
    response = heat.send("POST", path, outputs or None, leave_pending=True)
    heat.service.run_due_work()
    return response


def server_metadata(heat: ProjectClient) -> Json:
    """Return the deployments that the server polls."""
    return heat.send("GET", "/software_deployments/metadata/srv", leave_pending=True).json[
        "metadata"
    ]


def deployments(heat: ProjectClient) -> Json:
    return heat.send("GET", "/software_deployments", leave_pending=True).json[
        "software_deployments"
    ]


def test_signal_of_the_server_completes_the_deployment(heat: ProjectClient) -> None:
    start(heat, template({"size": 3, "more": "x"}))
    assert heat.resource("s", "d")["resource_status"] == "CREATE_IN_PROGRESS"
    (config,) = server_metadata(heat)
    values = {each["name"]: each["value"] for each in config["inputs"]}
    assert (config["group"], config["config"]) == ("script", "echo")
    assert (values["size"], values["disk"], values["more"]) == (3, None, "x")
    stack = heat.stack("s")
    assert values["deploy_stack_id"] == f"s/{stack['id']}"
    assert (
        values["deploy_action"],
        values["deploy_resource_name"],
        values["deploy_server_id"],
        values["deploy_signal_transport"],
    ) == ("CREATE", "d", "srv", "HEAT_SIGNAL")
    (deployment,) = deployments(heat)
    assert (deployment["status"], deployment["status_reason"]) == (
        "IN_PROGRESS",
        "Deploy data available",
    )
    assert heat.resource("s", "d")["physical_resource_id"] == deployment["id"]
    signal(heat, deploy_stdout="hello", deploy_status_code=0, result="42")
    assert heat.status("s") == "CREATE_COMPLETE"
    assert heat.outputs("s") == {"out": "hello", "result": "42"}
    (deployment,) = deployments(heat)
    assert (deployment["status"], deployment["output_values"]["result"]) == ("COMPLETE", "42")
    events = [
        e["resource_status_reason"]
        for e in heat.events("s")
        if e["resource_status"].startswith("SIGNAL")
    ]
    assert events == [f"Signal: deployment {deployment['id']} succeeded"]


def test_pending_deployment_is_observed_rarely(heat: ProjectClient) -> None:
    start(heat, template())
    due = heat.service.services.store.sweeps.get_next_observation_time()
    assert due is not None
    assert due - heat.service.clock() > timedelta(seconds=50)
    assert not heat.service.bus.pending


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ({"deploy_status_code": 2}, "Deployment exited with non-zero status code: 2"),
        ({"problem": "no disk"}, "problem : no disk"),
    ],
)
def test_failure_outputs_fail_the_deployment(
    heat: ProjectClient, outputs: Json, reason: str
) -> None:
    start(heat, template())
    signal(heat, **outputs)
    assert heat.status("s") == "CREATE_FAILED"
    message = heat.resource("s", "d")["resource_status_reason"]
    assert message.startswith("Error: resources.d: Deployment to server failed: ")
    assert message.endswith(reason)
    assert deployments(heat)[0]["status"] == "FAILED"


def test_signal_sets_the_updated_time(heat: ProjectClient) -> None:
    start(heat, template())
    (before,) = deployments(heat)
    assert "updated_time" not in before
    heat.service.clock.advance(30)
    signal(heat, deploy_status_code=0)
    (after,) = deployments(heat)
    assert after["updated_time"] > after["creation_time"] == before["creation_time"]


def test_derived_configuration_has_no_null_description(heat: ProjectClient) -> None:
    body = template()
    inputs = [{"name": "size", "default": "1"}, {"name": "disk", "description": "The disk."}]
    body["resources"]["c"]["properties"]["inputs"] = inputs
    start(heat, body)
    (deployment,) = deployments(heat)
    path = f"/software_configs/{deployment['config_id']}"
    config = heat.send("GET", path, leave_pending=True).json["software_config"]
    found = {each["name"]: each.get("description", "") for each in config["inputs"]}
    assert (found["size"], found["disk"]) == ("", "The disk.")
    assert all(each.get("description", "") is not None for each in config["inputs"])


def test_api_request_completes_the_deployment(heat: ProjectClient) -> None:
    start(heat, template())
    (deployment,) = deployments(heat)
    heat.send(
        "PUT",
        f"/software_deployments/{deployment['id']}",
        {"status": "COMPLETE", "output_values": {"result": "r"}},
        leave_pending=True,
    )
    heat.service.run_until_idle()
    assert (heat.status("s"), heat.outputs("s")["result"]) == ("CREATE_COMPLETE", "r")


def test_update_deploys_again(heat: ProjectClient) -> None:
    start(heat, template({"size": 1}))
    signal(heat, result="one")
    before = heat.resource("s", "d")["physical_resource_id"]
    heat.update("s", template({"size": 2}), hold=True)
    heat.service.run_due_work()
    assert heat.resource("s", "d")["resource_status"] == "UPDATE_IN_PROGRESS"
    (config,) = server_metadata(heat)
    values = {each["name"]: each["value"] for each in config["inputs"]}
    assert (values["size"], values["deploy_action"]) == (2, "UPDATE")
    signal(heat, result="two")
    assert (heat.status("s"), heat.outputs("s")["result"]) == ("UPDATE_COMPLETE", "two")
    assert heat.resource("s", "d")["physical_resource_id"] == before
    assert len(heat.send("GET", "/software_configs").json["software_configs"]) == 2


def test_replace_on_change_replaces_the_deployment(heat: ProjectClient) -> None:
    start(heat, template({"disk": "a"}))
    signal(heat)
    before = heat.resource("s", "d")["physical_resource_id"]
    heat.update("s", template({"disk": "b"}), hold=True)
    heat.service.run_due_work()
    signal(heat)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "d")["physical_resource_id"] != before
    assert len(deployments(heat)) == 1


def test_deployment_for_delete_only(heat: ProjectClient) -> None:
    heat.create("s", template(actions=["DELETE"]))
    assert (heat.status("s"), deployments(heat)) == ("CREATE_COMPLETE", [])
    stack_id = heat.stack("s")["id"]
    heat.delete("s", leave_pending=True)
    heat.service.run_due_work()
    assert heat.status(stack_id) == "DELETE_IN_PROGRESS"
    assert server_metadata(heat)[0]["config"] == "echo"
    signal(heat, deploy_status_code=0)
    assert heat.status(stack_id) == "DELETE_COMPLETE"
    assert (deployments(heat), server_metadata(heat)) == ([], [])


def test_suspend_waits_for_the_signal(heat: ProjectClient) -> None:
    heat.create("s", template(actions=["SUSPEND"]))
    heat.perform_action("s", "suspend", leave_pending=True)
    heat.service.run_due_work()
    assert heat.status("s") == "SUSPEND_IN_PROGRESS"
    assert signal(heat).status_int == 200
    assert heat.status("s") == "SUSPEND_COMPLETE"
    heat.perform_action("s", "resume")
    assert heat.status("s") == "RESUME_COMPLETE"


def test_no_signal_transport_completes_at_once(heat: ProjectClient) -> None:
    heat.create("s", template(signal_transport="NO_SIGNAL"))
    assert heat.status("s") == "CREATE_COMPLETE"
    (deployment,) = deployments(heat)
    assert (deployment["status"], deployment["status_reason"]) == (
        "COMPLETE",
        "Not waiting for outputs signal",
    )
    heat.delete("s")
    assert deployments(heat) == []
    assert heat.send("GET", "/software_configs").json["software_configs"] == []


def test_late_signal_of_an_earlier_action_is_ignored(heat: ProjectClient) -> None:
    start(heat, template({"size": 1}))
    signal(heat, result="one")
    signal(heat, result="again")
    assert heat.outputs("s")["result"] == "one"
    heat.update("s", template({"size": 2}), hold=True)
    heat.service.run_due_work()
    assert heat.resource("s", "d")["resource_status"] == "UPDATE_IN_PROGRESS"


def test_update_removes_a_pending_deployment(heat: ProjectClient) -> None:
    start(heat, template())
    heat.update("s", hot_template({"other": {"type": "OS::Heat::None"}}))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert (deployments(heat), server_metadata(heat)) == ([], [])


def test_missing_configuration_fails_the_deployment(heat: ProjectClient) -> None:
    body = template()
    body["resources"]["d"]["properties"]["config"] = "5b6b0f5e-0000-4000-8000-000000000000"
    heat.create("s", body)
    assert heat.status("s") == "CREATE_FAILED"
    assert "there is no software config" in heat.resource("s", "d")["resource_status_reason"]
    stack_id = heat.stack("s")["id"]
    heat.delete("s")
    assert heat.status(stack_id) == "DELETE_COMPLETE"


def test_unknown_output_is_an_error(heat: ProjectClient) -> None:
    body = template(signal_transport="NO_SIGNAL")
    body["outputs"]["none"] = {"value": {"get_attr": ["d", "nothing"]}}
    heat.create("s", body)
    found = {each["output_key"]: each for each in heat.stack("s")["outputs"]}
    assert "nothing" in found["none"]["output_error"]
    assert found["out"]["output_value"] is None


def test_structured_deployment_substitutes_inputs(heat: ProjectClient) -> None:
    body = hot_template({
        "c": {"type": "OS::Heat::StructuredConfig",
              "properties": {"config": {"a": {"get_input": "x"}, "b": {"get_input": "y"}}}},
        "d": {"type": "OS::Heat::StructuredDeployment",
              "properties": {"config": {"get_resource": "c"}, "server": "srv",
                             "input_values": {"x": [1, 2]}, "signal_transport": "NO_SIGNAL"}},
    })  # fmt: skip
    heat.create("s", body)
    assert server_metadata(heat)[0]["config"] == {"a": [1, 2], "b": None}
    body["resources"]["d"]["properties"]["input_values_validate"] = "STRICT"
    heat.update("s", body)
    assert heat.status("s") == "UPDATE_FAILED"
    assert '"y"' in heat.stack("s")["stack_status_reason"]
