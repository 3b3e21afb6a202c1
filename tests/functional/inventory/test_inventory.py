"""The inventory of a project: what its services hold that no stack owns."""

from __future__ import annotations

import logging
import threading
from argparse import Namespace
from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.cli.openstack_commands.inventory import ListStackInventory
from heat_convergence.testing.openstack.emulation import PROJECT_ID, EmulatedResponse
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    server,
    template,
)
from tests.functional.plans.test_plan_commands import InProcessClient

Json = Any
TYPES = ("OS::Neutron::Net", "OS::Nova::Server", "OS::Neutron::Port", "OS::Cinder::Volume")
QUERY = "?" + "&".join(f"type={name}" for name in TYPES)


def inventory(service: LocalService, query: str = QUERY) -> Json:
    found = service.send("GET", f"/inventory{query}")
    assert found.status_int == 200, found.text
    return found.json


def listed(service: LocalService, resource_type: str) -> set[str]:
    return {
        each["physical_resource_id"]
        for each in inventory(service)["inventory"]
        if each["resource_type"] == resource_type
    }


def test_objects_of_stacks_are_left_out(service, emulated_cloud):
    before = listed(service, "OS::Neutron::Net")
    path = create_stack(service, template(port=port(), server=server()))
    made = emulated_cloud.emulation.add(
        "neutron.network", name="by hand", status="ACTIVE", project_id=PROJECT_ID
    )
    net = physical_id(service, path, "net")
    assert listed(service, "OS::Neutron::Net") == before | {made["id"]}
    assert net not in before | {made["id"]}
    assert listed(service, "OS::Nova::Server") == listed(service, "OS::Neutron::Port") == set()
    (entry,) = [
        each
        for each in inventory(service)["inventory"]
        if each["physical_resource_id"] == made["id"]
    ]
    assert (entry["name"], entry["status"]) == ("by hand", "ACTIVE")
    service.send("DELETE", path)
    service.run_until_idle()
    assert listed(service, "OS::Neutron::Net") == before | {made["id"]}


def test_ports_that_a_server_of_a_stack_has_made_belong_to_it(service):
    networks = [{"network": {"get_resource": "net"}}]
    create_stack(service, template(server=server(networks=networks)))
    assert listed(service, "OS::Neutron::Port") == set()


def test_retained_objects_are_listed(service, emulated_cloud):
    kept = {"type": "OS::Cinder::Volume", "deletion_policy": "Retain", "properties": {"size": 1}}
    path = create_stack(service, template(disk=kept))
    disk = physical_id(service, path, "disk")
    assert listed(service, "OS::Cinder::Volume") == set()
    service.send("DELETE", path)
    service.run_until_idle()
    assert listed(service, "OS::Cinder::Volume") == {disk}


def test_objects_of_other_projects_are_left_out(service, emulated_cloud):
    before = listed(service, "OS::Neutron::Net")
    emulated_cloud.emulation.add("neutron.network", name="shared", project_id="other")
    assert listed(service, "OS::Neutron::Net") == before


def test_another_projects_stacks_own_nothing_here(service, emulated_cloud):
    """Which of the listed ids count as owned is decided by the stacks of the caller's project."""
    path = create_stack(service, template())
    net = physical_id(service, path, "net")
    other = service.send("GET", f"/inventory{QUERY}", project="q")
    assert net in {each["physical_resource_id"] for each in other.json["inventory"]}


def test_an_object_that_is_being_created_is_left_out(service, emulated_cloud):
    before = listed(service, "OS::Neutron::Net")
    body = {"stack_name": "s", "template": template()}
    assert service.send("POST", "/stacks", body, leave_pending=True).status_int == 201

    def crash(*_arguments: Any) -> None:
        raise SystemExit

    service.engine._finish = crash  # the object exists, and its id is not recorded
    with pytest.raises(SystemExit):
        service.handle_next()
    assert "s-net-" in str(emulated_cloud.bodies("neutron.network"))
    found = service.send("GET", f"/inventory{QUERY}", leave_pending=True).json["inventory"]
    nets = {
        each["physical_resource_id"]
        for each in found
        if each["resource_type"] == "OS::Neutron::Net"
    }
    assert nets == before


def test_a_service_that_does_not_answer_is_named(service, emulated_cloud):
    emulated_cloud.emulation.add_handler(
        "block_storage", "GET", "/volumes/detail", lambda *_: EmulatedResponse(500, {})
    )
    found = inventory(service)
    assert [each["resource_type"] for each in found["unread"]] == ["OS::Cinder::Volume"]
    assert found["unread"][0]["reason"]


def test_services_are_listed_at_the_same_time(service, emulated_cloud):
    meeting = threading.Barrier(2, timeout=30)

    def answer(*_request: Any) -> EmulatedResponse:
        meeting.wait()  # it returns when both lists are under way
        return EmulatedResponse(500, {})

    for name, path in (("block_storage", "/volumes/detail"), ("network", "/ports")):
        emulated_cloud.emulation.add_handler(name, "GET", path, answer)
    unread = {each["resource_type"] for each in inventory(service)["unread"]}
    assert unread == {"OS::Cinder::Volume", "OS::Neutron::Port"}


def test_one_deadline_holds_for_all_lists(service, monkeypatch):
    monkeypatch.setattr("heat_convergence.stacks.inventory.TIME_LIMIT_S", 0.0)
    reasons = {each["reason"] for each in inventory(service)["unread"]}
    assert reasons == {"earlier lists have taken too long"}


def test_all_types_of_projects_are_listed_by_default(service):
    found = inventory(service, "")
    assert found["unread"] == []


@pytest.mark.parametrize("query", ["?type=OS::Keystone::User", "?type=No::Such", "?limit=1"])
def test_bad_queries_are_refused(service, query):
    assert service.send("GET", f"/inventory{query}").status_int == 400


def test_nothing_is_listed_without_a_cloud(tmp_path):
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    found = inventory(service)
    assert found["inventory"] == []
    assert {each["resource_type"] for each in found["unread"]} == set(TYPES)
    service.close()


def test_the_command_prints_objects_and_warns(service, emulated_cloud, caplog):
    made = emulated_cloud.emulation.add("neutron.network", name="n", project_id=PROJECT_ID)
    emulated_cloud.emulation.add_handler(
        "block_storage", "GET", "/volumes/detail", lambda *_: EmulatedResponse(500, {})
    )
    manager = SimpleNamespace(orchestration=InProcessClient(service))
    app = SimpleNamespace(client_manager=manager, LOG=logging.getLogger("test"))
    command = ListStackInventory(app, Namespace())
    parsed = command.get_parser("openstack stack inventory").parse_args(
        ["--type", "OS::Neutron::Net", "--type", "OS::Cinder::Volume"]
    )
    columns, rows = command.take_action(parsed)
    shown = [dict(zip(columns, row, strict=True)) for row in rows]
    assert made["id"] in {each["Physical Resource ID"] for each in shown}
    assert "OS::Cinder::Volume not listed" in caplog.text
