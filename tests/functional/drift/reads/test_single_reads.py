"""Drift of types whose objects no list shows with what is compared: they are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from heat_convergence.resources.driver.single_reads import MAX_SINGLE_READS
from tests.functional.drift.drift_cases import drift, entry, watch
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    physical_id,
    port,
    server,
    template,
)

Json = Any
CONTAINER = "OS::Swift::Container"


def _spec(type_name: str, **properties: Json) -> Json:
    return {"type": type_name, "properties": properties}


def everything() -> Json:
    """Return a template with a resource of each type that is read one by one."""
    encryption = {
        "volume_type": {"get_resource": "fast"},
        "provider": "luks",
        "control_location": "front-end",
        "cipher": "aes-xts-plain64",
        "key_size": 256,
    }
    return template(
        container=_spec(
            CONTAINER,
            **{
                "X-Container-Read": ".r:*, .rlistings",
                "X-Container-Meta": {"Owner": "ops"},
                "X-Account-Meta": {"Temp-Url-Key": "k"},
            },
        ),
        key=_spec("OS::Nova::KeyPair", name="k", public_key="ssh-rsa AAAA ops"),
        compute=_spec("OS::Nova::Quota", project="demo", cores=5, instances=2),
        network=_spec("OS::Neutron::Quota", project="demo", port=50),
        storage=_spec("OS::Cinder::Quota", project="demo", gigabytes=100),
        balancing=_spec("OS::Octavia::Quota", project="demo", pool=3),
        roles=_spec(
            "OS::Keystone::UserRoleAssignment",
            user="demo",
            roles=[{"role": "member", "project": "demo"}],
        ),
        fast=_spec("OS::Cinder::VolumeType", name="fast"),
        encryption=_spec("OS::Cinder::EncryptedVolumeType", **encryption),
        limits=_spec("OS::Cinder::QoSSpecs", specs={"total_iops_sec": "100"}),
        limited=_spec(
            "OS::Cinder::QoSAssociation",
            qos_specs={"get_resource": "limits"},
            volume_types=[{"get_resource": "fast"}],
        ),
        address=_spec("OS::Neutron::FloatingIP", floating_network="public"),
        port=port(),
        server=server(),
        joined=_spec(
            "OS::Nova::FloatingIPAssociation",
            floating_ip={"get_resource": "address"},
            server_id={"get_resource": "server"},
        ),
    )


NEEDED = {
    "encryption": ("fast",),
    "limited": ("fast", "limits"),
    "joined": ("address", "port", "server", "net", "subnet"),
}


def part(name: str) -> Json:
    """Return the template with one resource and those that it needs."""
    found = everything()
    names = {name, *NEEDED.get(name, ())}
    found["resources"] = {key: found["resources"][key] for key in sorted(names)}
    return found


def created(service: Any, cloud: ClockedEmulation, new_template: Json) -> str:
    """Create a stack, let the watch read it, and return its path."""
    for entity in ("project", "user"):
        cloud.emulation.add(f"keystone.{entity}", name="demo")
    path = create_stack(service, new_template)
    watch(service)
    return path


def only(cloud: ClockedEmulation, entity: str) -> Json:
    (body,) = cloud.bodies(entity)
    return body


def _remove(cloud: ClockedEmulation, entity: str, key: str = "id") -> None:
    cloud.emulation.collection(entity).remove(only(cloud, entity)[key])


ForeignChange = Callable[[ClockedEmulation], Any]
CHANGES: dict[str, tuple[str, ForeignChange, str, list[str]]] = {
    "container made private": (
        "container",
        lambda cloud: only(cloud, "swift.container")["headers"].pop("x-container-read"),
        "MODIFIED",
        ["X-Container-Read"],
    ),
    "container's metadata changed": (
        "container",
        lambda cloud: only(cloud, "swift.container")["headers"].update(
            {"x-container-meta-owner": "other", "x-container-meta-more": "1"}
        ),
        "MODIFIED",
        ["X-Container-Meta"],
    ),
    "container deleted": (
        "container",
        lambda cloud: _remove(cloud, "swift.container", "name"),
        "DELETED",
        [],
    ),
    "key replaced": (
        "key",
        lambda cloud: only(cloud, "nova.keypair").update(public_key="ssh-rsa BBBB ops"),
        "MODIFIED",
        ["public_key"],
    ),
    "key deleted": ("key", lambda cloud: _remove(cloud, "nova.keypair", "name"), "DELETED", []),
    "compute quota": (
        "compute",
        lambda cloud: only(cloud, "nova.quota").update(cores=9),
        "MODIFIED",
        ["cores"],
    ),
    "network quota": (
        "network",
        lambda cloud: only(cloud, "neutron.quota").update(port=9),
        "MODIFIED",
        ["port"],
    ),
    "storage quota": (
        "storage",
        lambda cloud: only(cloud, "cinder.quota").update(gigabytes=9),
        "MODIFIED",
        ["gigabytes"],
    ),
    "quota of load balancers": (
        "balancing",
        lambda cloud: only(cloud, "octavia.quota").update(pool=9),
        "MODIFIED",
        ["pool"],
    ),
    "role revoked": ("roles", lambda cloud: _remove(cloud, "grants"), "DELETED", []),
    "encryption changed": (
        "encryption",
        lambda cloud: only(cloud, "cinder.vtype")["encryption"].update(key_size=128),
        "MODIFIED",
        ["key_size"],
    ),
    "encryption removed": (
        "encryption",
        lambda cloud: only(cloud, "cinder.vtype").update(encryption=None),
        "DELETED",
        [],
    ),
    "specification detached": (
        "limited",
        lambda cloud: only(cloud, "cinder.qos_specs").update(volume_type_ids=[]),
        "DELETED",
        [],
    ),
    "address taken from the server": (
        "joined",
        lambda cloud: only(cloud, "neutron.floatingip").update(port_id=None),
        "DELETED",
        [],
    ),
}


def test_unchanged_resources_are_in_sync(service, emulated_cloud):
    path = created(service, emulated_cloud, everything())
    found = drift(service, path)
    assert found["resources"] == []
    assert found["resource_counts"]["IN_SYNC"] == len(everything()["resources"])


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_foreign_change_is_observed(service, emulated_cloud, name):
    resource, change, status, properties = CHANGES[name]
    path = created(service, emulated_cloud, part(resource))
    change(emulated_cloud)
    watch(service)
    shown_name, shown_status, shown = entry(service, path)
    assert (shown_name, shown_status) == (resource, status)
    assert [each["property"] for each in shown] == properties


@pytest.mark.parametrize(
    "name",
    [
        "storage quota",
        "compute quota",
        "network quota",
        "quota of load balancers",
        "role revoked",
        "encryption changed",
        "encryption removed",
        "container deleted",
        "specification detached",
    ],
)
def test_repair_restores_it(service, emulated_cloud, name):
    resource, change, _status, _properties = CHANGES[name]
    path = created(service, emulated_cloud, part(resource))
    change(emulated_cloud)
    watch(service)
    answer = service.send("POST", f"{path}/actions", {"repair": None})
    assert answer.status_int == 200, answer.text
    watch(service)
    found = drift(service, path)
    assert found["resources"] == []
    assert found["drift_status"] == "IN_SYNC"


def test_own_update_is_no_drift(service, emulated_cloud):
    path = created(service, emulated_cloud, part("compute"))
    changed = part("compute")
    changed["resources"]["compute"]["properties"]["cores"] = 7
    assert service.send("PUT", path, {"template": changed}).status_int == 202
    watch(service)
    assert drift(service, path)["resources"] == []
    assert only(emulated_cloud, "nova.quota")["cores"] == 7


def containers(number: int) -> Json:
    return template(**{f"c{each:02}": _spec(CONTAINER) for each in range(number)})


def reads(cloud: ClockedEmulation) -> int:
    counts = cloud.emulation.request_counts
    return sum(number for name, number in counts.items() if name.startswith("HEAD object_store"))


def test_many_objects_are_read_in_turns(service, emulated_cloud):
    """No round reads more than a bounded number, and none is left out for long."""
    path = create_stack(service, containers(3 * MAX_SINGLE_READS))
    watch(service, 600)
    assert drift(service, path)["resource_counts"]["IN_SYNC"] >= 3 * MAX_SINGLE_READS
    emulated_cloud.emulation.request_counts.clear()
    lost = physical_id(service, path, "c17")
    emulated_cloud.emulation.collection("swift.container").remove(lost)
    for _ in range(80):
        emulated_cloud.emulation.request_counts.clear()
        service.clock.advance(15)
        service.watch.tick()
        assert reads(emulated_cloud) <= MAX_SINGLE_READS
        if drift(service, path)["resources"]:
            break
    assert entry(service, path)[:2] == ("c17", "DELETED")


def test_refused_reads_leave_the_others(service, emulated_cloud):
    path = create_stack(service, containers(2))
    watch(service)
    refused = physical_id(service, path, "c00")
    emulated_cloud.emulation.inject_failure("HEAD", f"/{refused}$", 403, times=1000)
    lost = physical_id(service, path, "c01")
    emulated_cloud.emulation.collection("swift.container").remove(lost)
    watch(service)
    assert entry(service, path)[:2] == ("c01", "DELETED")
