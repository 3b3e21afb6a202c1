"""A stack of servers, volumes and networks on real services, by the ``openstack`` command.

It is created, updated, replaced, suspended, resumed, checked, saved and deleted; afterwards the
cloud's lists are the same as before.
"""

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


def _shared_resources() -> Json:
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


def _member_resources(number: int) -> Json:
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
    resources = _shared_resources()
    for number in range(SERVER_COUNT):
        resources.update(_member_resources(number))
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


def _list_resources(target_cloud: TargetCloud) -> dict[str, set[str]]:
    lists = target_cloud.openstack_json_many([" ".join(command) for command in LIST_COMMANDS])
    return {
        " ".join(command): {str(row.get("ID") or row["Name"]) for row in rows}
        for command, rows in zip(LIST_COMMANDS, lists, strict=True)
    }


class StackLifecycle:
    def __init__(self, target_cloud: TargetCloud, template: Path) -> None:
        self.target_cloud = target_cloud
        self._template = str(template)

    def apply_template(self, command: str, **parameters: str) -> None:
        parameter_options = [f"--parameter={name}={value}" for name, value in parameters.items()]
        self.target_cloud.openstack(
            "stack", command, "-t", self._template, *parameter_options, *WAIT_OPTION, "life"
        )
        self.assert_status(f"{command.upper()}_COMPLETE")

    def run_action(self, command: str) -> None:
        self.target_cloud.openstack("stack", command, *WAIT_OPTION, "life")

    def assert_status(self, status: str) -> None:
        shown = self.target_cloud.openstack_json("stack", "show", "life")
        assert shown["stack_status"] == status, shown["stack_status_reason"]

    def physical_ids(self) -> dict[str, str]:
        rows = self.target_cloud.openstack_json("stack", "resource", "list", "life")
        assert len({row["resource_name"] for row in rows}) == len(rows)
        assert {row["resource_status"].rpartition("_")[2] for row in rows} == {"COMPLETE"}
        return {row["resource_name"]: row["physical_resource_id"] for row in rows}

    def servers(self) -> list[Json]:
        return list(self.target_cloud.openstack_json("server", "list", "--long"))

    def statuses(self) -> set[str]:
        return {row["Status"] for row in self.servers()}


@pytest.fixture
def lifecycle(
    real_target_cloud: TargetCloud, deploy: Any, tmp_path: Path
) -> Iterator[StackLifecycle]:
    deploy(real_target_cloud, engines=1, observers=1)
    target_cloud = real_target_cloud.as_user(
        "alt_demo", "alt_demo"
    )  # a project without other work
    path = tmp_path / "life.yaml"
    path.write_text(yaml.safe_dump(_template()))
    yield StackLifecycle(target_cloud, path)
    target_cloud.openstack("stack", "delete", "-y", "--wait", "life", check=False)


@pytest.mark.timeout(1800)
def test_lifecycle_leaves_no_resources(lifecycle: StackLifecycle) -> None:
    before = _list_resources(lifecycle.target_cloud)
    with lifecycle.target_cloud.call_log.record_calls() as calls:
        lifecycle.apply_template("create")
        created = lifecycle.physical_ids()
    print(f"create: {len(calls)} calls for {len(created)} resources")
    assert len(created) == 6 + 4 * SERVER_COUNT + FLOATING_IP_COUNT
    assert lifecycle.statuses() == {"ACTIVE"}

    lifecycle.apply_template("update", release="2", size="2", open="443")
    assert lifecycle.physical_ids() == created
    volumes = lifecycle.target_cloud.openstack_json("volume", "list")
    assert {(row["Size"], row["Status"]) for row in volumes} == {(2, "in-use")}

    lifecycle.apply_template("update", release="2", size="2", open="443", key_name="hc-life-2")
    replaced = lifecycle.physical_ids()
    changed_types = {
        name.rstrip("0123456789") for name in created if created[name] != replaced[name]
    }
    assert {"key", "server"} <= changed_types <= {"key", "server", "attachment"}
    assert {row["ID"] for row in lifecycle.servers()} == {
        replaced[f"server{number}"] for number in range(SERVER_COUNT)
    }

    lifecycle.run_action("suspend")
    assert lifecycle.statuses() == {"SUSPENDED"}
    lifecycle.run_action("resume")
    assert lifecycle.statuses() == {"ACTIVE"}
    lifecycle.run_action("check")
    lifecycle.assert_status("CHECK_COMPLETE")
    shown = json.loads(
        lifecycle.target_cloud.openstack("stack", "snapshot", "create", "life", "-f", "json")
    )
    snapshot_id = shown.get("id") or shown["ID"]
    _check_snapshot(lifecycle, snapshot_id)
    lifecycle.target_cloud.openstack("stack", "snapshot", "delete", "-y", "life", snapshot_id)

    lifecycle.target_cloud.openstack("stack", "delete", "-y", *WAIT_OPTION, "life")
    assert _wait_for_lists(lifecycle.target_cloud, before) == before


def _wait_for_lists(
    target_cloud: TargetCloud, expected: dict[str, set[str]]
) -> dict[str, set[str]]:
    """Return the lists once they equal the expected ones, or after a minute.

    Services and the observer delete some resources asynchronously.
    """
    for _ in range(20):
        lists = _list_resources(target_cloud)
        if lists == expected:
            break
        time.sleep(3)
    return lists


def _check_snapshot(lifecycle: StackLifecycle, snapshot_id: str) -> None:
    user = lifecycle.target_cloud.heat_user()
    user.wait_for_status("life", "SNAPSHOT_COMPLETE")
    snapshot = user.heat.stacks.snapshot_show("life", snapshot_id)["snapshot"]
    assert snapshot["status"] == "COMPLETE", snapshot["status_reason"]
    data = snapshot["data"]["resources"]
    servers = [item for item in data.values() if item["type"] == "OS::Nova::Server"]
    assert len(servers) == SERVER_COUNT
    assert all(item["resource_data"].get("snapshot_image_id") for item in servers)
