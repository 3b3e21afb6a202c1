"""Objects made by hand become a stack on a real cloud, and one of them moves to another stack."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from keystoneauth1.session import Session
from openstack.connection import Connection

from heat_convergence.testing.daemon_processes import wait_until
from tests.cloud.conftest import DeployService
from tests.cloud.testbed import CloudTestbed, DeployedService

Json = Any
USER = "demo"
EMPTY: Json = {"heat_template_version": "2021-04-16", "resources": {}}
TYPES = {
    "net": "OS::Neutron::Net",
    "subnet": "OS::Neutron::Subnet",
    "group": "OS::Neutron::SecurityGroup",
    "port": "OS::Neutron::Port",
    "volume": "OS::Cinder::Volume",
    "server": "OS::Nova::Server",
}
MARK = f"hand-{uuid.uuid4().hex[:6]}"


@pytest.fixture(scope="module")
def service(deploy: DeployService) -> DeployedService:
    return deploy()


@pytest.fixture(scope="module")
def auth(cloud_testbed: CloudTestbed) -> Session:
    return cloud_testbed.session(USER)


@pytest.fixture(scope="module")
def cloud(cloud_testbed: CloudTestbed) -> Connection:
    return cloud_testbed.connection(USER, cloud_testbed.facts["region"])


@pytest.fixture(scope="module")
def made(cloud_testbed: CloudTestbed, cloud: Connection) -> Iterator[dict[str, str]]:
    """The ids of objects made by hand; what the test has not deleted is deleted at last."""
    network, storage, compute = cloud.network, cloud.block_storage, cloud.compute
    net = network.create_network(name=MARK)
    subnet = network.create_subnet(network_id=net.id, name=MARK, cidr="10.94.0.0/24", ip_version=4)
    group = network.create_security_group(name=MARK, description="by hand")
    port = network.create_port(network_id=net.id, name=MARK, security_groups=[group.id])
    volume = storage.create_volume(name=MARK, size=1)
    server = compute.create_server(
        name=MARK,
        image_id=cloud_testbed.facts["ids"]["image"],
        flavor_id=compute.find_flavor("m1.nano").id,
        networks=[{"port": port.id}],
    )
    wait_until(lambda: compute.get_server(server.id).status == "ACTIVE", "the server is active",
               timeout_s=300)  # fmt: skip
    wait_until(lambda: storage.get_volume(volume.id).status == "available", "the volume is there",
               timeout_s=120)  # fmt: skip
    objects = {"net": net, "subnet": subnet, "group": group, "port": port,
               "volume": volume, "server": server}  # fmt: skip
    yield {name: str(each.id) for name, each in objects.items()}
    compute.delete_server(server.id)
    wait_until(lambda: compute.find_server(server.id) is None, "the server is gone",
               timeout_s=300)  # fmt: skip
    network.delete_port(port.id)
    network.delete_network(net.id)
    network.delete_security_group(group.id)
    storage.delete_volume(volume.id)


def template(cloud_testbed: CloudTestbed) -> Json:
    net = {"get_resource": "net"}
    server = {
        "name": MARK,
        "image": cloud_testbed.facts["ids"]["image"],
        "flavor": "m1.nano",
        "networks": [{"port": {"get_resource": "port"}}],
    }
    properties: dict[str, Json] = {
        "net": {"name": MARK},
        "subnet": {"name": MARK, "network": net, "cidr": "10.94.0.0/24"},
        "group": {"name": MARK, "description": "by hand"},
        "port": {"name": MARK, "network": net, "security_groups": [{"get_resource": "group"}]},
        "volume": {"name": MARK, "size": 1},
        "server": server,
    }
    resources = {
        name: {"type": TYPES[name], "properties": each} for name, each in properties.items()
    }
    return {**EMPTY, "resources": resources}


def read_objects(cloud: Connection, ids: dict[str, str]) -> Json:
    """Return what shows that an object was neither made anew nor changed."""
    server = cloud.compute.get_server(ids["server"])
    port = cloud.network.get_port(ids["port"])
    return {
        "net": cloud.network.get_network(ids["net"]).to_dict(),
        "group": cloud.network.get_security_group(ids["group"]).to_dict(),
        "port": {key: port[key] for key in ("id", "revision_number", "fixed_ips", "created_at")},
        "volume": {
            key: cloud.block_storage.get_volume(ids["volume"])[key]
            for key in ("id", "created_at", "updated_at", "name")
        },
        "server": {
            key: server[key] for key in ("id", "created_at", "launched_at", "updated_at", "name")
        },
    }


def execute(service: DeployedService, auth: Session, stack: str, body: Json) -> Json:
    """Make a plan and execute it; return the plan."""
    path = f"/stacks/{stack}/{stack_id(service, auth, stack)}/plans"
    plan = service.request(auth, "POST", path, body)
    assert plan.status_code == 201, plan.text
    found = plan.json()["plan"]
    done = service.request(auth, "POST", f"/plans/{found['id']}/execute")
    assert done.status_code == 202, done.text
    return found


def stack_id(service: DeployedService, auth: Session, name: str) -> str:
    return str(service.request(auth, "GET", f"/stacks/{name}").json()["stack"]["id"])


def physical_ids(service: DeployedService, auth: Session, stack: str) -> dict[str, str]:
    path = f"/stacks/{stack}/{stack_id(service, auth, stack)}/resources"
    found = service.request(auth, "GET", path).json()["resources"]
    return {each["resource_name"]: each["physical_resource_id"] for each in found}


def update(service: DeployedService, auth: Session, stack: str, new_template: Json) -> None:
    path = f"/stacks/{stack}/{stack_id(service, auth, stack)}"
    answer = service.request(auth, "PUT", path, {"template": new_template})
    assert answer.status_code == 202, answer.text
    status = service.wait_until_done(auth, stack)
    assert status[0] == "UPDATE_COMPLETE", status


def test_what_was_made_by_hand_becomes_a_stack_and_moves(
    service: DeployedService,
    auth: Session,
    cloud: Connection,
    cloud_testbed: CloudTestbed,
    made: dict[str, str],
) -> None:
    for name in ("shop", "archive"):
        service.create_stack(auth, name, EMPTY)
        assert service.wait_until_done(auth, name)[0] == "CREATE_COMPLETE"
    query = "&".join(f"type={each}" for each in sorted(TYPES.values()))
    listed = service.request(auth, "GET", f"/inventory?{query}").json()["inventory"]
    assert set(made.values()) <= {each["physical_resource_id"] for each in listed}
    before, whole = read_objects(cloud, made), template(cloud_testbed)

    body = {"action": "import", "template": whole, "import": made}
    plan = execute(service, auth, "shop", body)
    assert {each["change"] for each in plan["resources"]} == {"import"}
    assert [each["properties"] for each in plan["resources"] if each["properties"]] == []
    assert physical_ids(service, auth, "shop") == made
    update(service, auth, "shop", whole)
    assert read_objects(cloud, made) == before

    left = deepcopy(whole)
    target = {**EMPTY, "resources": {"data": left["resources"].pop("volume")}}
    body = {"action": "move", "template": left, "move": {"volume": "data"},
            "target": {"stack": "archive", "template": target}}  # fmt: skip
    plan = execute(service, auth, "shop", body)
    assert [each["path"] for each in plan["resources"] if each["change"] == "move"] == ["data"]
    assert physical_ids(service, auth, "archive") == {"data": made["volume"]}
    kept = {name: each for name, each in made.items() if name != "volume"}
    assert physical_ids(service, auth, "shop") == kept
    update(service, auth, "shop", left)
    update(service, auth, "archive", target)
    assert read_objects(cloud, made) == before

    renamed = deepcopy(left)
    renamed["resources"]["web"] = renamed["resources"].pop("server")
    body = {"action": "rename", "template": renamed, "rename": {"server": "web"}}
    execute(service, auth, "shop", body)
    assert physical_ids(service, auth, "shop")["web"] == made["server"]
    update(service, auth, "shop", renamed)
    assert read_objects(cloud, made) == before
    for name in ("shop", "archive"):
        service.delete_stack(auth, name)
    assert cloud.compute.find_server(made["server"]) is None
    assert cloud.network.find_network(made["net"]) is None
