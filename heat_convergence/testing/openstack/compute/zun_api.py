"""Zun's API: containers that are created, then run, with ports of networks."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any
START_S = 1.5
_PORTS = "ports"  # of a container, which Zun shows as addresses and as a list of networks


def install(emulation: Emulation) -> None:
    """Install Zun's handlers."""
    handlers = (
        ("POST", "/containers", _create),
        ("DELETE", "/containers/{id}", _delete),
        ("GET", "/containers/{id}/network_list", _list_networks),
        ("POST", "/containers/{id}/network_attach", _attach),
        ("POST", "/containers/{id}/network_detach", _detach),
    )
    emulation.add_handlers("application_container", handlers)


def _existing(emulation: Emulation, request: EmulatedRequest) -> EmulatedResource:
    return emulation.get_existing("zun.container", request.path_parameters["id"])


def _create(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = dict(request.body)
    if None in body.values() or isinstance(body.get("command"), str):
        raise EmulatedError(400, f"Invalid input for a container: {body}")
    if request.query.get("run") != ["true"]:
        raise EmulatedError(400, "run is expected")
    ports = [_port(each) for each in body.pop("nets", [])]
    item = emulation.collection("zun.container").add(
        {**body, "status": "Creating", _PORTS: ports, "addresses": _addresses(ports)}
    )
    item.scheduled_changes = [(emulation.now_s + START_S, {"status": "Running"})]
    return EmulatedResponse(202, item.body)


def _port(net: dict[str, str]) -> dict[str, Json]:
    address = net.get("v4-fixed-ip") or net.get("fixed_ip") or "192.0.2.30"
    return {
        "port_id": net.get("port") or new_id(),
        "net_id": net.get("network") or "net-of-the-port",
        "fixed_ips": [{"ip_address": address}],
    }


def _addresses(ports: list[dict[str, Json]]) -> dict[str, Json]:
    return {
        each["net_id"]: [{"addr": each["fixed_ips"][0]["ip_address"], "port": each["port_id"]}]
        for each in ports
    }


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _existing(emulation, request)
    if item.body["status"] == "Running" and request.query.get("stop") != ["True"]:
        raise EmulatedError(409, "Cannot delete a running container without stop")
    item.body["status"] = "Deleting"
    item.scheduled_changes = [(emulation.now_s + START_S, None)]
    return EmulatedResponse(204)


def _list_networks(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(200, {"networks": _existing(emulation, request).body[_PORTS]})


def _attach(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _existing(emulation, request).body
    query = {name: values[0] for name, values in request.query.items()}
    body[_PORTS] = [*body[_PORTS], _port(query)]
    body["addresses"] = _addresses(body[_PORTS])
    return EmulatedResponse(202)


def _detach(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body, (port_id,) = _existing(emulation, request).body, request.query["port"]
    body[_PORTS] = [each for each in body[_PORTS] if each["port_id"] != port_id]
    body["addresses"] = _addresses(body[_PORTS])
    return EmulatedResponse(202)
