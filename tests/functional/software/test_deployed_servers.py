"""Tests of deployments on servers outside the cloud, and on servers without an agent."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import TEXT, ServerAgentTestbed

Json = Any
HEAT = "POLL_SERVER_HEAT"


def template(host: Json, deletion_policy: str = "Delete") -> Json:
    return hot_template(
        {
            "host": {**host, "metadata": {"mine": "own"}, "deletion_policy": deletion_policy},
            "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": TEXT}},
            "deployment": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "config"},
                    "server": {"get_resource": "host"}, "signal_transport": "NO_SIGNAL",
                },
            },
        },
        outputs={
            "id": {"get_resource": "host"},
            "name": {"get_attr": ["host", "name"]},
            "told": {"get_attr": ["host", "os_collect_config"]},
        },
    )  # fmt: skip


def machine(**properties: Json) -> Json:
    return {"type": "OS::Heat::DeployedServer", "properties": properties}


def server(**properties: Json) -> Json:
    values = {"image": "cirros", "flavor": "m1.nano", "networks": [], **properties}
    return {"type": "OS::Nova::Server", "properties": values}


def metadata(heat: ProjectClient) -> Json:
    path = f"{heat.path('s')}/resources/host/metadata"
    return heat.send("GET", path, leave_pending=True).json["metadata"]


def test_agent_reads_deployments(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine(name="rack-7", software_config_transport=HEAT)))
    assert heat.status("s") == "CREATE_COMPLETE"
    shown, row, outputs = metadata(heat), heat.resource("s", "host"), heat.outputs("s")
    (deployed,) = shown["deployments"]
    assert (shown["mine"], deployed["config"]) == ("own", TEXT)
    assert (outputs["id"], outputs["name"]) == (row["physical_resource_id"], "rack-7")
    config = outputs["told"]
    assert config == shown["os-collect-config"]
    assert config["collectors"] == ["heat", "local"]
    agent = config["heat"]
    assert testbed.fake.users[agent["user_id"]]["password"] == agent["password"]
    assert testbed.files_containing(agent["password"]) == []
    heat.delete("s")
    assert heat.stack("s") is None
    assert agent["user_id"] not in testbed.fake.users


def test_transport_changes_in_place(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine()))
    before, agent = heat.outputs("s"), metadata(heat)["os-collect-config"]
    assert agent["collectors"] == ["cfn", "local"]
    heat.update("s", template(machine(software_config_transport=HEAT, name="other")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    after = heat.outputs("s")
    assert (after["id"], after["name"]) == (before["id"], "other")
    keys = testbed.fake.ec2[agent["cfn"]["access_key_id"]]
    assert after["told"]["heat"]["password"] == keys["secret"]
    assert len(testbed.fake.ec2) == 1


def test_suspended_agent_is_disabled(testbed: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine(software_config_transport=HEAT)))
    user = testbed.fake.users[heat.outputs("s")["told"]["heat"]["user_id"]]
    for action, done, enabled in (
        ("suspend", "SUSPEND_COMPLETE", False),
        ("resume", "RESUME_COMPLETE", True),
    ):
        heat.perform_action("s", action)
        assert (heat.status("s"), user["enabled"]) == (done, enabled)


def test_deletion_policy_snapshot_keeps_nothing(heat: ProjectClient) -> None:
    heat.create("s", template(machine(), deletion_policy="Snapshot"))
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize(
    ("host", "path"),
    [
        (server(user_data_format="RAW"), "deployment.properties.server"),
        (server(), "deployment.properties.server"),  # HEAT_CFNTOOLS
    ],
)
def test_deployment_without_polling_agent_is_refused(
    heat: ProjectClient, host: Json, path: str
) -> None:
    body = {"stack_name": "s", "template": template(host)}
    response = heat.send("POST", "/stacks", body)
    assert response.status_int == 400
    assert f"resources.{path}" in response.json["error"]["message"]
    assert heat.stack("s") is None


def test_unknown_user_data_format_passes_validation(heat: ProjectClient) -> None:
    chosen = {"get_attr": ["format", "value"]}
    body = template(server(user_data_format=chosen))
    body["resources"]["format"] = {
        "type": "OS::Heat::Value",
        "properties": {"value": "SOFTWARE_CONFIG"},
    }
    heat.create("s", body)
    assert heat.status("s") == "CREATE_COMPLETE"


def test_delete_does_not_wait_for_a_missing_server(heat: ProjectClient) -> None:
    """The deployment is for DELETE, and the server has been deleted in the meantime."""
    heat.create(
        "servers", hot_template({"host": server()}, outputs={"id": {"get_resource": "host"}})
    )
    body = template(server())
    del body["resources"]["host"], body["outputs"]
    body["resources"]["deployment"]["properties"] |= {
        "server": heat.outputs("servers")["id"],
        "signal_transport": "HEAT_SIGNAL",
        "actions": ["DELETE"],
    }
    heat.create("s", body)
    heat.delete("s", leave_pending=True)
    heat.service.run_due_work()
    assert heat.status("s") == "DELETE_IN_PROGRESS"  # the server has not answered yet
    heat.delete("servers")
    heat.service.run_until_idle()
    assert heat.stack("s") is None
