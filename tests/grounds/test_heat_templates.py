"""Public templates, unmodified, on real services.

``HEAT_CONVERGENCE_TEST_TEMPLATES`` is a clone of openstack/heat-templates; without it, or
without a cloud, these tests are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grounds.harness import Ground

Json = Any
VARIABLE = "HEAT_CONVERGENCE_TEST_TEMPLATES"
KEY = {"key_name": "heat_key"}
IMAGE = {"image": "cirros", "flavor": "m1.nano"}
FEDORA = {"image_id": "cirros", "instance_type": "m1.small", **KEY}
F18 = "F18-x86_64-cfntools"  # the only image that some templates take
# File → its parameters; words in braces are the cloud's.
DEMO: dict[str, dict[str, str]] = {
    "hot/hello_world.yaml": {**KEY, **IMAGE, "admin_pass": "Secret12"},
    "hot/servers_in_new_neutron_net.yaml": {
        **KEY, **IMAGE, "public_net": "public", "private_net_name": "hc-templates",
        "private_net_cidr": "10.66.0.0/24", "private_net_gateway": "10.66.0.1",
        "private_net_pool_start": "10.66.0.10", "private_net_pool_end": "10.66.0.99",
    },
    "hot/servers_in_existing_neutron_net.yaml": {
        **KEY, **IMAGE, "public_net_id": "{public_network}",
        "private_net_id": "{private_network}", "private_subnet_id": "{private_subnet}",
    },
    "hot/servers_in_existing_neutron_network_no_floating_ips.yaml": {
        **KEY, **IMAGE, "net_id": "{private_network}", "subnet_id": "{private_subnet}",
    },
    "hot/vm_with_cinder.yaml": {**KEY, **IMAGE},
    "hot/server_console.yaml": IMAGE,
    "hot/chef-server.yaml": {
        "ssh_key_name": "heat_key", "chef_image_name": "cirros", "chef_flavor_name": "m1.nano",
    },
    "hot/neutron/instance_trunk_port.yaml": {
        "key": "heat_key", "image": "cirros", "flavor": "m1.nano",
    },
    "hot/resource_group/server_with_volumes.yaml": FEDORA,
    "hot/F18/NovaInstanceWithCinderVolume_Native.yaml": {**FEDORA, "image_id": F18},
    "hot/F18/WordPress_Native.yaml": {**FEDORA, "image_id": F18},
    "hot/F20/WordPress_Native.yaml": FEDORA,
    "hot/F20/WordPress_2_Instances.yaml": FEDORA,
    "cfn/F17/Neutron.template": {},
    "cfn/F17/Neutron.yaml": {},
    "cfn/F17/Neutron_floating.template": {
        "external_network": "{public_network}", "internal_network": "{private_network}",
        "internal_subnet": "{private_subnet}",
    },
}
ADMIN: dict[str, dict[str, str]] = {
    "hot/nova/host_aggregate.yaml": {
        "host_aggregate_name": "hc-templates", "availability_zone_name": "hc-templates",
        "hosts": "{host}", "metadata": '{"a": "b"}',
    },
    "hot/keystone/keystone.yaml": {},
    "hot/keystone/keystone_service_endpoint.yaml": {
        "name": "hc-templates", "description": "d", "type": "hc", "region": "{region}",
        "public_url": "http://127.0.0.1:1", "internal_url": "http://127.0.0.1:2",
        "admin_url": "http://127.0.0.1:3",
    },
}
CASES = [*((name, "demo") for name in DEMO), *((name, "admin") for name in ADMIN)]


@pytest.fixture(scope="session")
def templates() -> Path:
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} names no clone of openstack/heat-templates")
    return Path(folder)


@pytest.fixture
def running(real_ground: Ground, deploy: Any, empty_project: Json) -> Iterator[Ground]:
    deploy(real_ground)
    ours = real_ground.of("demo", empty_project["name"])
    images = ours.cloud().image
    image = images.create_image(
        name=F18, disk_format="raw", container_format="bare", data=bytes(1024)
    )
    yield ours
    images.delete_image(image)


@pytest.mark.timeout(3000)
def test_public_templates_run_unmodified(
    running: Ground, real_facts: Json, empty_project: dict[str, str], templates: Path
) -> None:
    words = {**real_facts["ids"], **empty_project, "region": running.identity.region,
             "host": _host(running)}
    failed = {}
    for name, user in CASES:
        given = {**DEMO, **ADMIN}[name]
        ground = running if user == "demo" else running.of("admin", "admin")
        told = _try(ground, templates / name, given, words)
        print(f"{name}: {told or 'CREATE_COMPLETE, deleted'}", flush=True)
        if told:
            failed[name] = told
    assert failed == {}


def _host(ground: Ground) -> str:
    services = ground.of("admin", "admin").told("compute", "service", "list")
    return next(one["Host"] for one in services if one["Binary"] == "nova-compute")


def _try(ground: Ground, path: Path, given: dict[str, str], words: dict[str, str]) -> str:
    """Made and deleted; what went wrong, if anything."""
    options = []
    for key, value in given.items():
        for word, meaning in words.items():
            value = value.replace("{" + word + "}", meaning)
        options.append(f"--parameter={key}={value}")
    made = ground.openstack(
        "stack", "create", "-t", str(path), *options, "--wait", "t", check=False
    )
    shown = ground.openstack("stack", "show", "t", "-f", "json", check=False)
    reached = '"CREATE_COMPLETE"' in shown
    deleted = ground.openstack("stack", "delete", "-y", "--wait", "t", check=False)
    if not reached:
        return f"{made[-600:]} {shown[-1500:]}"
    return "" if "failed" not in deleted.lower() else deleted
