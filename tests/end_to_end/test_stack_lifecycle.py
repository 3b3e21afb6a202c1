"""A stack of servers, volumes and all that they need, through the ``openstack`` client on
real services: made, changed, replaced, suspended, resumed, checked, saved and deleted, and
the cloud's lists are afterwards what they were before."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.end_to_end.harness import TargetCloud

Json = Any
SERVER_COUNT = 20
FLOATING_IP_COUNT = 5
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl hc"
LIST_COMMANDS = (
    ("network", "list"),
    ("subnet", "list"),
    ("router", "list"),
    ("port", "list"),
    ("security", "group", "list"),
    ("floating", "ip", "list"),
    ("keypair", "list"),
    ("server", "list"),
    ("volume", "list"),
    ("volume", "backup", "list"),
    ("image", "list"),
    ("stack", "list"),
)
WAIT_OPTION = ("--wait",)


def _ref(name: str) -> Json:
    return {"get_resource": name}


def _shared() -> Json:
    return {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {
            "type": "OS::Neutron::Subnet",
            "properties": {"network": _ref("net"), "cidr": "10.77.0.0/24"},
        },
        "router": {
            "type": "OS::Neutron::Router",
            "properties": {"external_gateway_info": {"network": "public"}},
        },
        "link": {
            "type": "OS::Neutron::RouterInterface",
            "properties": {"router": _ref("router"), "subnet": _ref("subnet")},
        },
        "group": {
            "type": "OS::Neutron::SecurityGroup",
            "properties": {
                "name": "hc-life",
                "description": "of the demonstration",
                "rules": [
                    {
                        "protocol": "tcp",
                        "port_range_min": {"get_param": "open"},
                        "port_range_max": {"get_param": "open"},
                    }
                ],
            },
        },
        "key": {
            "type": "OS::Nova::KeyPair",
            "properties": {"name": {"get_param": "key_name"}, "public_key": PUBLIC_KEY},
        },
    }


def _member(number: int) -> Json:
    return {
        f"port{number}": {
            "type": "OS::Neutron::Port",
            "properties": {
                "network": _ref("net"),
                "security_groups": [_ref("group")],
                "fixed_ips": [{"subnet": _ref("subnet"), "ip_address": f"10.77.0.{100 + number}"}],
            },
        },
        f"server{number}": {
            "type": "OS::Nova::Server",
            "properties": {
                "image": "cirros",
                "flavor": "m1.nano",
                "key_name": _ref("key"),
                "networks": [{"port": _ref(f"port{number}")}],
                "metadata": {"release": {"get_param": "release"}},
            },
        },
        f"volume{number}": {
            "type": "OS::Cinder::Volume",
            "properties": {"size": {"get_param": "size"}},
        },
        f"attachment{number}": {
            "type": "OS::Cinder::VolumeAttachment",
            "properties": {
                "instance_uuid": _ref(f"server{number}"),
                "volume_id": _ref(f"volume{number}"),
            },
        },
    }


def _template() -> Json:
    resources = _shared()
    for number in range(SERVER_COUNT):
        resources.update(_member(number))
    for number in range(FLOATING_IP_COUNT):
        resources[f"ip{number}"] = {
            "type": "OS::Neutron::FloatingIP",
            "depends_on": "link",
            "properties": {"floating_network": "public", "port_id": _ref(f"port{number}")},
        }
    return {
        "heat_template_version": "2018-08-31",
        "parameters": {
            "release": {"type": "string", "default": "1"},
            "size": {"type": "number", "default": 1},
            "open": {"type": "number", "default": 22},
            "key_name": {"type": "string", "default": "hc-life-1"},
        },
        "resources": resources,
        "outputs": {"first": {"value": {"get_attr": ["server0", "first_address"]}}},
    }


def _lists(target_cloud: TargetCloud) -> dict[str, set[str]]:
    told = target_cloud.openstack_json_many([" ".join(command) for command in LIST_COMMANDS])
    return {
        " ".join(command): {str(row.get("ID") or row["Name"]) for row in rows}
        for command, rows in zip(LIST_COMMANDS, told, strict=True)
    }


class StackLifecycle:
    def __init__(self, target_cloud: TargetCloud, template: Path) -> None:
        self.target_cloud = target_cloud
        self._template = str(template)

    def apply_template(self, verb: str, **parameters: str) -> None:
        given = [f"--parameter={name}={value}" for name, value in parameters.items()]
        self.target_cloud.openstack(
            "stack", verb, "-t", self._template, *given, *WAIT_OPTION, "life"
        )
        self.assert_status(f"{verb.upper()}_COMPLETE")

    def run_action(self, verb: str) -> None:
        self.target_cloud.openstack("stack", verb, *WAIT_OPTION, "life")

    def assert_status(self, status: str) -> None:
        shown = self.target_cloud.openstack_json("stack", "show", "life")
        assert shown["stack_status"] == status, shown["stack_status_reason"]

    def physical_ids(self) -> dict[str, str]:
        rows = self.target_cloud.openstack_json("stack", "resource", "list", "life")
        assert len({row["resource_name"] for row in rows}) == len(rows)
        assert {row["resource_status"].rpartition("_")[2] for row in rows} == {"COMPLETE"}
        return {row["resource_name"]: row["physical_resource_id"] for row in rows}

    def servers(self) -> list[Json]:
        return self.target_cloud.openstack_json("server", "list", "--long")

    def statuses(self) -> set[str]:
        return {row["Status"] for row in self.servers()}


@pytest.fixture
def life(real_target_cloud: TargetCloud, deploy: Any, tmp_path: Path) -> Iterator[StackLifecycle]:
    deploy(real_target_cloud, engines=1, observers=1)
    target_cloud = real_target_cloud.as_user(
        "alt_demo", "alt_demo"
    )  # where nobody else is at work
    path = tmp_path / "life.yaml"
    path.write_text(yaml.safe_dump(_template()))
    yield StackLifecycle(target_cloud, path)
    target_cloud.openstack("stack", "delete", "-y", "--wait", "life", check=False)


@pytest.mark.timeout(1800)
def test_lifecycle_leaves_no_resources(life: StackLifecycle) -> None:
    before = _lists(life.target_cloud)
    with life.target_cloud.call_log.record_calls() as calls:
        life.apply_template("create")
        made = life.physical_ids()
    print(f"create: {len(calls)} calls for {len(made)} resources")
    assert len(made) == 6 + 4 * SERVER_COUNT + FLOATING_IP_COUNT
    assert life.statuses() == {"ACTIVE"}

    life.apply_template("update", release="2", size="2", open="443")
    assert life.physical_ids() == made
    volumes = life.target_cloud.openstack_json("volume", "list")
    assert {(row["Size"], row["Status"]) for row in volumes} == {(2, "in-use")}

    life.apply_template("update", release="2", size="2", open="443", key_name="hc-life-2")
    replaced = life.physical_ids()
    differ = {name.rstrip("0123456789") for name in made if made[name] != replaced[name]}
    assert {"key", "server"} <= differ <= {"key", "server", "attachment"}
    assert {row["ID"] for row in life.servers()} == {
        replaced[f"server{number}"] for number in range(SERVER_COUNT)
    }

    life.run_action("suspend")
    assert life.statuses() == {"SUSPENDED"}
    life.run_action("resume")
    assert life.statuses() == {"ACTIVE"}
    life.run_action("check")
    life.assert_status("CHECK_COMPLETE")
    shown = json.loads(
        life.target_cloud.openstack("stack", "snapshot", "create", "life", "-f", "json")
    )
    own_id = shown.get("id") or shown["ID"]
    _saved(life, own_id)
    life.target_cloud.openstack("stack", "snapshot", "delete", "-y", "life", own_id)

    life.target_cloud.openstack("stack", "delete", "-y", *WAIT_OPTION, "life")
    assert _settled(life.target_cloud, before) == before


def _settled(target_cloud: TargetCloud, goal: dict[str, set[str]]) -> dict[str, set[str]]:
    """The lists, once what a service deletes in its own time is gone: images of the
    snapshot are the observer's to discard."""
    for _ in range(20):
        lists = _lists(target_cloud)
        if lists == goal:
            break
        time.sleep(3)
    return lists


def _saved(life: StackLifecycle, snapshot_id: str) -> None:
    user = life.target_cloud.heat_user()
    user.wait_for_status("life", "SNAPSHOT_COMPLETE")
    found = user.heat.stacks.snapshot_show("life", snapshot_id)["snapshot"]
    assert found["status"] == "COMPLETE", found["status_reason"]
    data = found["data"]["resources"]
    saved = [one for one in data.values() if one["type"] == "OS::Nova::Server"]
    assert len(saved) == SERVER_COUNT
    assert all(one["resource_data"].get("snapshot_image_id") for one in saved)
