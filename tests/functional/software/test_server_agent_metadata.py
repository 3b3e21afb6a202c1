"""Tests of the metadata that agents of servers read, and of its encryption at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.resources import custom_constraints
from heat_convergence.resources.catalog import custom_constraints as cloud_constraints
from heat_convergence.resources.catalog.resource_types import load_resource_types
from tests.functional.clients.fake_keystone import FakeKeystone
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_users import FakeStackCloud, users_of

Json = Any
TEXT = "echo from-the-deployment"


class ServerAgentTestbed:
    def __init__(self, folder: Path) -> None:
        self.fake, self.sky, self.folder = FakeKeystone(), ClockedEmulation(), folder
        checks = {
            **cloud_constraints.load_custom_constraints(load_resource_types()),
            **custom_constraints.load_constraints(),
        }
        self.service = LocalService(
            f"sqlite:///{folder}/hc.sqlite", cloud_of=self.cloud_for, custom_constraints=checks
        )
        self.sky.service = self.service

    def cloud_for(self, tree_id: str) -> Any:
        cloud = FakeStackCloud(self.sky.cloud_for(tree_id), users_of(self.fake), tree_id=tree_id)
        cloud.software = DatabaseSoftwareStore(self.service.database)
        return cloud

    def files_containing(self, text: str) -> list[str]:
        """Return the names of the database's files that contain the text."""
        return [one.name for one in self.folder.iterdir() if text.encode() in one.read_bytes()]


def template(form: str) -> Json:
    server = {
        "image": "cirros",
        "flavor": "m1.nano",
        "networks": [],
        "user_data_format": form,
        "software_config_transport": "POLL_SERVER_HEAT",
    }
    return hot_template(
        {
            "server": {"type": "OS::Nova::Server", "properties": server,
                       "metadata": {"mine": "own"}},
            "config": {"type": "OS::Heat::SoftwareConfig", "properties": {"config": TEXT}},
            "deployment": {
                "type": "OS::Heat::SoftwareDeployment",
                "properties": {
                    "config": {"get_resource": "config"},
                    "server": {"get_resource": "server"}, "signal_transport": "NO_SIGNAL",
                },
            },
            "reader": {
                "type": "OS::Heat::Value",
                "properties": {"value": {"get_attr": ["server", "os_collect_config"]}},
            },
        },
        outputs={"told": {"get_attr": ["server", "os_collect_config", "heat"]}},
    )  # fmt: skip


def test_agent_reads_deployments(testbed: ServerAgentTestbed) -> None:
    heat = ProjectClient(testbed.service)
    heat.create("s", template("SOFTWARE_CONFIG"))
    assert heat.status("s") == "CREATE_COMPLETE"
    response = heat.send("GET", f"{heat.path('s')}/resources/server/metadata", leave_pending=True)
    shown = response.json["metadata"]
    assert shown["mine"] == "own"
    (deployed,) = shown["deployments"]
    assert deployed["config"] == TEXT
    agent = shown["os-collect-config"]["heat"]
    assert agent == heat.outputs("s")["told"]
    stack = heat.stack("s")
    assert agent["stack_id"] == f"s/{stack['id']}"
    assert testbed.fake.users[agent["user_id"]]["password"] == agent["password"]
    assert testbed.files_containing(agent["password"]) == []
    heat.delete("s")
    assert agent["user_id"] not in testbed.fake.users


def test_metadata_without_agent_has_no_deployments(testbed: ServerAgentTestbed) -> None:
    heat = ProjectClient(testbed.service)
    body = template("RAW")
    del body["resources"]["deployment"]
    heat.create("s", body)
    response = heat.send("GET", f"{heat.path('s')}/resources/server/metadata", leave_pending=True)
    assert response.json["metadata"] == {"mine": "own"}
    assert testbed.files_containing("m1.nano") != []  # its row is not sealed
