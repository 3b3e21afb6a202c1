"""Neutron: what hangs on networks, routers and gateways behind calls of its own."""

from __future__ import annotations

from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

# Kind of thing → where agents have it, and how its own list of agents is called.
_AGENTS = {"network": ("dhcp-networks", "dhcp-agents"), "router": ("l3-routers", "l3-agents")}


def install(emulation: Emulation) -> None:
    for kind, (collection, agents) in _AGENTS.items():
        for method, path, rule in (
            ("GET", f"/{kind}s/{{id}}/{agents}", _agents),
            ("POST", f"/agents/{{agent}}/{collection}", _put_on),
            ("DELETE", f"/agents/{{agent}}/{collection}/{{id}}", _take_off),
        ):
            emulation.add_handler("network", method, path, rule)
    emulation.add_handler("network", "PUT", "/floatingips/{id}", _change_address)
    gateway = "/network-gateways/{id}"
    emulation.add_handler("network", "PUT", f"{gateway}/connect_network", _connect)
    emulation.add_handler("network", "PUT", f"{gateway}/disconnect_network", _disconnect)


def _change_address(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    """An address inside has one outside, and no more."""
    body = emulation.get_existing("neutron.floatingip", asked.path_parameters["id"]).body
    changed = {**body, **asked.body["floatingip"]}
    keys = ("floating_network_id", "port_id", "fixed_ip_address")
    inside = [changed.get(key) for key in keys]
    for other in emulation.collection("neutron.floatingip").bodies():
        same = changed["port_id"] and [other.get(key) for key in keys] == inside
        if same and other["id"] != body["id"]:
            raise EmulatedError(409, f"{body['id']}: that fixed IP already has a floating IP")
    body.update(changed)
    return EmulatedResponse(200, {"floatingip": body})


def _agents(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    held = emulation.collection("held by agents").bodies()
    found = [{"id": one["agent"]} for one in held if one["thing"] == asked.path_parameters["id"]]
    return EmulatedResponse(200, {"agents": found})


def _put_on(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    (thing,), agent = asked.body.values(), asked.path_parameters["agent"]
    collection, own_id = emulation.collection("held by agents"), f"{agent} {thing}"
    if collection.get(own_id) is not None:
        raise EmulatedError(409, f"{thing} is hosted by {agent} already")
    collection.add({"id": own_id, "agent": agent, "thing": thing})
    return EmulatedResponse(201)


def _take_off(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    collection = emulation.collection("held by agents")
    own_id = f"{asked.path_parameters['agent']} {asked.path_parameters['id']}"
    if collection.get(own_id) is None:
        raise EmulatedError(404, f"nothing of {own_id}")
    collection.remove(own_id)
    return EmulatedResponse(204)


def _connect(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.network_gateway", asked.path_parameters["id"]).body
    if asked.body in body.setdefault("connected", []):
        raise EmulatedError(409, "connected already")
    body["connected"].append(asked.body)
    return EmulatedResponse(200, asked.body)


def _disconnect(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("neutron.network_gateway", asked.path_parameters["id"]).body
    if asked.body not in body.get("connected", ()):
        raise EmulatedError(404, "not connected")
    body["connected"].remove(asked.body)
    return EmulatedResponse(200, asked.body)
