"""Machines made elsewhere, on which software is deployed; and servers that take none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import TEXT, ServerAgentTestbed

Json = Any
HEAT = "POLL_SERVER_HEAT"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[ServerAgentTestbed]:
    world = ServerAgentTestbed(tmp_path)
    yield world
    world.service.close()
    world.fake.close()


@pytest.fixture
def heat(world: ServerAgentTestbed) -> ProjectClient:
    return ProjectClient(world.service)


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
    given = {"image": "cirros", "flavor": "m1.nano", "networks": [], **properties}
    return {"type": "OS::Nova::Server", "properties": given}


def metadata(heat: ProjectClient) -> Json:
    path = f"{heat.path('s')}/resources/host/metadata"
    return heat.send("GET", path, leave_pending=True).json["metadata"]


def test_its_agent_reads_what_is_deployed(world: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine(name="rack-7", software_config_transport=HEAT)))
    assert heat.status("s") == "CREATE_COMPLETE"
    shown, row, outputs = metadata(heat), heat.resource("s", "host"), heat.outputs("s")
    (deployed,) = shown["deployments"]
    assert (shown["mine"], deployed["config"]) == ("own", TEXT)
    assert (outputs["id"], outputs["name"]) == (row["physical_resource_id"], "rack-7")
    told = outputs["told"]
    assert told == shown["os-collect-config"]
    assert told["collectors"] == ["heat", "local"]
    agent = told["heat"]
    assert world.fake.users[agent["user_id"]]["password"] == agent["password"]
    assert world.files_containing(agent["password"]) == []
    heat.delete("s")
    assert heat.stack("s") is None
    assert agent["user_id"] not in world.fake.users


def test_its_transport_changes_in_place(world: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine()))
    before, agent = heat.outputs("s"), metadata(heat)["os-collect-config"]
    assert agent["collectors"] == ["cfn", "local"]
    heat.update("s", template(machine(software_config_transport=HEAT, name="other")))
    assert heat.status("s") == "UPDATE_COMPLETE"
    after = heat.outputs("s")
    assert (after["id"], after["name"]) == (before["id"], "other")
    keys = world.fake.ec2[agent["cfn"]["access_key_id"]]
    assert after["told"]["heat"]["password"] == keys["secret"]
    assert len(world.fake.ec2) == 1


def test_asleep_its_agent_is_locked_out(world: ServerAgentTestbed, heat: ProjectClient) -> None:
    heat.create("s", template(machine(software_config_transport=HEAT)))
    user = world.fake.users[heat.outputs("s")["told"]["heat"]["user_id"]]
    for action, done, enabled in (
        ("suspend", "SUSPEND_COMPLETE", False),
        ("resume", "RESUME_COMPLETE", True),
    ):
        heat.perform_action("s", action)
        assert (heat.status("s"), user["enabled"]) == (done, enabled)


def test_there_is_nothing_to_keep_of_it(heat: ProjectClient) -> None:
    heat.create("s", template(machine(), deletion_policy="Snapshot"))
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize(
    ("host", "place"),
    [
        (server(user_data_format="RAW"), "deployment.properties.server"),
        (server(), "deployment.properties.server"),  # HEAT_CFNTOOLS
        (
            machine(software_config_transport="ZAQAR_MESSAGE"),
            "host.properties.software_config_transport",
        ),
    ],
)
def test_nothing_is_deployed_where_nobody_asks(
    heat: ProjectClient, host: Json, place: str
) -> None:
    body = {"stack_name": "s", "template": template(host)}
    answer = heat.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert f"resources.{place}" in answer.json["error"]["message"]
    assert heat.stack("s") is None


def test_what_a_format_will_be_may_not_be_known_yet(heat: ProjectClient) -> None:
    chosen = {"get_attr": ["format", "value"]}
    wanted = template(server(user_data_format=chosen))
    wanted["resources"]["format"] = {
        "type": "OS::Heat::Value",
        "properties": {"value": "SOFTWARE_CONFIG"},
    }
    heat.create("s", wanted)
    assert heat.status("s") == "CREATE_COMPLETE"


def test_who_is_gone_is_not_waited_for(heat: ProjectClient) -> None:
    """Deployed when it is deleted, and the server was deleted by others meanwhile."""
    heat.create(
        "servers", hot_template({"host": server()}, outputs={"id": {"get_resource": "host"}})
    )
    wanted = template(server())
    del wanted["resources"]["host"], wanted["outputs"]
    wanted["resources"]["deployment"]["properties"] |= {
        "server": heat.outputs("servers")["id"],
        "signal_transport": "HEAT_SIGNAL",
        "actions": ["DELETE"],
    }
    heat.create("s", wanted)
    heat.delete("s", leave_pending=True)
    heat.service.run_due_work()
    assert heat.status("s") == "DELETE_IN_PROGRESS"  # the server has not answered yet
    heat.delete("servers")
    heat.service.run_until_idle()
    assert heat.stack("s") is None
