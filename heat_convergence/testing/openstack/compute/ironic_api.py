"""Ironic's API: ports of nodes, whose addresses are unique."""

from __future__ import annotations

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.compute.json_patches import apply_patch
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

# Values of a port that is created without them.
_DEFAULTS = {
    "pxe_enabled": True,
    "is_smartnic": False,
    "extra": {},
    "local_link_connection": {},
    "internal_info": {},
}


def install(emulation: Emulation) -> None:
    """Install Ironic's handlers and two nodes."""
    emulation.on_create("ironic.port", _create_port)
    emulation.add_handler("baremetal", "PATCH", "/ports/{id}", _update_port)
    for name in ("node-1", "node-2"):
        emulation.add("ironic.node", name=name)
    emulation.add("ironic.portgroup", name="bond-1")


def _create_port(emulation: Emulation, item: EmulatedResource) -> None:
    address = str(item.body["address"]).lower()
    bodies = emulation.collection("ironic.port").bodies()
    if any(each["address"] == address for each in bodies if each is not item.body):
        emulation.collection("ironic.port").remove(item.body["uuid"])
        raise EmulatedError(409, f"A port with MAC address {address} already exists.")
    item.body.update({**_DEFAULTS, **item.body, "address": address})


def _update_port(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("ironic.port", request.path_parameters["id"])
    apply_patch(item.body, request.body)
    defaults = {name: value for name, value in _DEFAULTS.items() if item.body[name] is None}
    item.body.update(defaults)
    return EmulatedResponse(200, item.body)
