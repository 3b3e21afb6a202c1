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

from tests.grounds.harness import Ground

Json = Any
SERVERS = 20
ADDRESSES = 5
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl hc"
LISTS = (
    ("network", "list"), ("subnet", "list"), ("router", "list"), ("port", "list"),
    ("security", "group", "list"), ("floating", "ip", "list"), ("keypair", "list"),
    ("server", "list"), ("volume", "list"), ("volume", "backup", "list"), ("image", "list"),
    ("stack", "list"),
)
WAIT = ("--wait",)


def _ref(name: str) -> Json:
    return {"get_resource": name}


def _shared() -> Json:
    return {
        "net": {"type": "OS::Neutron::Net"},
        "subnet": {"type": "OS::Neutron::Subnet",
                   "properties": {"network": _ref("net"), "cidr": "10.77.0.0/24"}},
        "router": {"type": "OS::Neutron::Router",
                   "properties": {"external_gateway_info": {"network": "public"}}},
        "link": {"type": "OS::Neutron::RouterInterface",
                 "properties": {"router": _ref("router"), "subnet": _ref("subnet")}},
        "group": {"type": "OS::Neutron::SecurityGroup", "properties": {
            "name": "hc-life", "description": "of the demonstration", "rules": [
                {"protocol": "tcp", "port_range_min": {"get_param": "open"},
                 "port_range_max": {"get_param": "open"}}]}},
        "key": {"type": "OS::Nova::KeyPair",
                "properties": {"name": {"get_param": "key_name"}, "public_key": KEY}},
    }


def _member(number: int) -> Json:
    return {
        f"port{number}": {"type": "OS::Neutron::Port", "properties": {
            "network": _ref("net"), "security_groups": [_ref("group")],
            "fixed_ips": [{"subnet": _ref("subnet"), "ip_address": f"10.77.0.{100 + number}"}]}},
        f"server{number}": {"type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.nano", "key_name": _ref("key"),
            "networks": [{"port": _ref(f"port{number}")}],
            "metadata": {"release": {"get_param": "release"}}}},
        f"volume{number}": {"type": "OS::Cinder::Volume",
                            "properties": {"size": {"get_param": "size"}}},
        f"attachment{number}": {"type": "OS::Cinder::VolumeAttachment", "properties": {
            "instance_uuid": _ref(f"server{number}"), "volume_id": _ref(f"volume{number}")}},
    }


def _template() -> Json:
    resources = _shared()
    for number in range(SERVERS):
        resources.update(_member(number))
    for number in range(ADDRESSES):
        resources[f"ip{number}"] = {
            "type": "OS::Neutron::FloatingIP", "depends_on": "link",
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


def _lists(ground: Ground) -> dict[str, set[str]]:
    told = ground.told_all([" ".join(command) for command in LISTS])
    return {
        " ".join(command): {str(row.get("ID") or row["Name"]) for row in rows}
        for command, rows in zip(LISTS, told, strict=True)
    }


class Life:
    def __init__(self, ground: Ground, template: Path) -> None:
        self.ground = ground
        self._template = str(template)

    def goal(self, verb: str, **parameters: str) -> None:
        given = [f"--parameter={name}={value}" for name, value in parameters.items()]
        self.ground.openstack("stack", verb, "-t", self._template, *given, *WAIT, "life")
        self.is_at(f"{verb.upper()}_COMPLETE")

    def does(self, verb: str) -> None:
        self.ground.openstack("stack", verb, *WAIT, "life")

    def is_at(self, status: str) -> None:
        shown = self.ground.told("stack", "show", "life")
        assert shown["stack_status"] == status, shown["stack_status_reason"]

    def ids(self) -> dict[str, str]:
        rows = self.ground.told("stack", "resource", "list", "life")
        assert len({row["resource_name"] for row in rows}) == len(rows)
        assert {row["resource_status"].rpartition("_")[2] for row in rows} == {"COMPLETE"}
        return {row["resource_name"]: row["physical_resource_id"] for row in rows}

    def servers(self) -> list[Json]:
        return self.ground.told("server", "list", "--long")

    def statuses(self) -> set[str]:
        return {row["Status"] for row in self.servers()}


@pytest.fixture
def life(real_ground: Ground, deploy: Any, tmp_path: Path) -> Iterator[Life]:
    deploy(real_ground, engines=1, observers=1)
    ground = real_ground.of("alt_demo", "alt_demo")  # where nobody else is at work
    path = tmp_path / "life.yaml"
    path.write_text(yaml.safe_dump(_template()))
    yield Life(ground, path)
    ground.openstack("stack", "delete", "-y", "--wait", "life", check=False)


@pytest.mark.timeout(1800)
def test_a_life_leaves_nothing_behind(life: Life) -> None:
    before = _lists(life.ground)
    with life.ground.book.counted() as calls:
        life.goal("create")
        made = life.ids()
    print(f"create: {len(calls)} calls for {len(made)} resources")
    assert len(made) == 6 + 4 * SERVERS + ADDRESSES
    assert life.statuses() == {"ACTIVE"}

    life.goal("update", release="2", size="2", open="443")
    assert life.ids() == made
    volumes = life.ground.told("volume", "list")
    assert {(row["Size"], row["Status"]) for row in volumes} == {(2, "in-use")}

    life.goal("update", release="2", size="2", open="443", key_name="hc-life-2")
    replaced = life.ids()
    differ = {name.rstrip("0123456789") for name in made if made[name] != replaced[name]}
    assert {"key", "server"} <= differ <= {"key", "server", "attachment"}
    assert {row["ID"] for row in life.servers()} == {
        replaced[f"server{number}"] for number in range(SERVERS)
    }

    life.does("suspend")
    assert life.statuses() == {"SUSPENDED"}
    life.does("resume")
    assert life.statuses() == {"ACTIVE"}
    life.does("check")
    life.is_at("CHECK_COMPLETE")
    shown = json.loads(
        life.ground.openstack("stack", "snapshot", "create", "life", "-f", "json")
    )
    own_id = shown.get("id") or shown["ID"]
    _saved(life, own_id)
    life.ground.openstack("stack", "snapshot", "delete", "-y", "life", own_id)

    life.ground.openstack("stack", "delete", "-y", *WAIT, "life")
    assert _settled(life.ground, before) == before


def _settled(ground: Ground, goal: dict[str, set[str]]) -> dict[str, set[str]]:
    """The lists, once what a service deletes in its own time is gone: images of the
    snapshot are the observer's to discard."""
    for _ in range(20):
        lists = _lists(ground)
        if lists == goal:
            break
        time.sleep(3)
    return lists


def _saved(life: Life, snapshot_id: str) -> None:
    user = life.ground.heat_user()
    user.wait("life", "SNAPSHOT_COMPLETE")
    found = user.heat.stacks.snapshot_show("life", snapshot_id)["snapshot"]
    assert found["status"] == "COMPLETE", found["status_reason"]
    data = found["data"]["resources"]
    saved = [one for one in data.values() if one["type"] == "OS::Nova::Server"]
    assert len(saved) == SERVERS
    assert all(one["resource_data"].get("snapshot_image_id") for one in saved)
