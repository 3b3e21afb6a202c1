"""Neutron's extensions: agents, network gateways, and the uniqueness of floating IPs."""

from __future__ import annotations

from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)
from heat_convergence.testing.openstack.networking.neutron_api import first_fixed_address

# Entity → path segment of its list below an agent, and of its own list of agents.
_AGENT_PATHS = {"network": ("dhcp-networks", "dhcp-agents"), "router": ("l3-routers", "l3-agents")}


def install(emulation: Emulation) -> None:
    """Install the handlers of Neutron's extensions."""
    for entity, (collection, agents) in _AGENT_PATHS.items():
        for method, path, handler in (
            ("GET", f"/{entity}s/{{id}}/{agents}", _list_agents),
            ("POST", f"/agents/{{agent}}/{collection}", _schedule),
            ("DELETE", f"/agents/{{agent}}/{collection}/{{id}}", _unschedule),
        ):
            emulation.add_handler("network", method, path, handler)
    emulation.add_handler("network", "PUT", "/floatingips/{id}", _update_floating_ip)
    gateway = "/network-gateways/{id}"
    emulation.add_handler("network", "PUT", f"{gateway}/connect_network", _connect)
    emulation.add_handler("network", "PUT", f"{gateway}/disconnect_network", _disconnect)


def _update_floating_ip(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Update a floating IP; a fixed IP has one at most."""
    body = emulation.get_existing("neutron.floatingip", request.path_parameters["id"]).body
    changed = {**body, **request.body["floatingip"]}
    if "fixed_ip_address" not in request.body["floatingip"]:
        changed["fixed_ip_address"] = first_fixed_address(emulation, changed["port_id"])
    keys = ("floating_network_id", "port_id", "fixed_ip_address")
    port_address = [changed.get(key) for key in keys]
    for other in emulation.collection("neutron.floatingip").bodies():
        same = changed["port_id"] and [other.get(key) for key in keys] == port_address
        if same and other["id"] != body["id"]:
            raise EmulatedError(409, f"{body['id']}: that fixed IP already has a floating IP")
    body.update(changed)
    return EmulatedResponse(200, {"floatingip": body})


def _list_agents(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    schedules = emulation.collection("agent schedules").bodies()
    agents = [
        {"id": schedule["agent"]}
        for schedule in schedules
        if schedule["resource"] == request.path_parameters["id"]
    ]
    return EmulatedResponse(200, {"agents": agents})


def _schedule(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    (resource_id,), agent = request.body.values(), request.path_parameters["agent"]
    collection, schedule_id = emulation.collection("agent schedules"), f"{agent} {resource_id}"
    if collection.get(schedule_id) is not None:
        raise EmulatedError(409, f"{resource_id} is hosted by {agent} already")
    collection.add({"id": schedule_id, "agent": agent, "resource": resource_id})
    return EmulatedResponse(201)


def _unschedule(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection = emulation.collection("agent schedules")
    schedule_id = f"{request.path_parameters['agent']} {request.path_parameters['id']}"
    if collection.get(schedule_id) is None:
        raise EmulatedError(404, f"no schedule {schedule_id}")
    collection.remove(schedule_id)
    return EmulatedResponse(204)


def _connect(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.network_gateway", request.path_parameters["id"]).body
    if request.body in body.setdefault("connected", []):
        raise EmulatedError(409, "connected already")
    body["connected"].append(request.body)
    return EmulatedResponse(200, request.body)


def _disconnect(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.network_gateway", request.path_parameters["id"]).body
    if request.body not in body.get("connected", ()):
        raise EmulatedError(404, "not connected")
    body["connected"].remove(request.body)
    return EmulatedResponse(200, request.body)
