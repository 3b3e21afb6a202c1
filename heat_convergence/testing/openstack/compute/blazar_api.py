"""Blazar's API: hosts and leases, each under a name of its own."""

from __future__ import annotations

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import EmulatedError, Emulation


def install(emulation: Emulation) -> None:
    """Install Blazar's rules."""
    emulation.on_create("blazar.host", _create_host)
    emulation.on_create("blazar.lease", _create_lease)


def _create_host(emulation: Emulation, item: EmulatedResource) -> None:
    item.body["hypervisor_hostname"] = item.body.pop("name")
    item.body.update(vcpus=4, reservable=True)
    _require_unique(emulation, "blazar.host", "hypervisor_hostname", item)


def _create_lease(emulation: Emulation, item: EmulatedResource) -> None:
    for reservation in item.body["reservations"]:
        other = "vcpus" if reservation["resource_type"] == "physical:host" else "min"
        if other in reservation:
            raise EmulatedError(400, f"{other} does not belong to {reservation['resource_type']}")
    item.body.update(status="PENDING", degraded=False)
    _require_unique(emulation, "blazar.lease", "name", item)


def _require_unique(emulation: Emulation, entity: str, key: str, item: EmulatedResource) -> None:
    collection = emulation.collection(entity)
    if [each[key] for each in collection.bodies()].count(item.body[key]) > 1:
        collection.remove(item.body["id"])
        raise EmulatedError(409, f"{entity} {item.body[key]} already exists.")
