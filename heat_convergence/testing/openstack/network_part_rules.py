"""Neutron: what hangs on networks, routers and gateways behind calls of its own."""

from __future__ import annotations

from heat_convergence.testing.openstack.emulation import Asked, Emulation, Refusal, Told

# Kind of thing → where agents have it, and how its own list of agents is called.
_AGENTS = {"network": ("dhcp-networks", "dhcp-agents"), "router": ("l3-routers", "l3-agents")}


def install(emulation: Emulation) -> None:
    for kind, (collection, agents) in _AGENTS.items():
        for method, path, rule in (
            ("GET", f"/{kind}s/{{id}}/{agents}", _agents),
            ("POST", f"/agents/{{agent}}/{collection}", _put_on),
            ("DELETE", f"/agents/{{agent}}/{collection}/{{id}}", _take_off),
        ):
            emulation.rule("network", method, path, rule)
    emulation.rule("network", "PUT", "/floatingips/{id}", _change_address)
    gateway = "/network-gateways/{id}"
    emulation.rule("network", "PUT", f"{gateway}/connect_network", _connect)
    emulation.rule("network", "PUT", f"{gateway}/disconnect_network", _disconnect)


def _change_address(emulation: Emulation, asked: Asked) -> Told:
    """An address inside has one outside, and no more."""
    body = emulation.existing("neutron.floatingip", asked.places["id"]).body
    changed = {**body, **asked.body["floatingip"]}
    keys = ("floating_network_id", "port_id", "fixed_ip_address")
    inside = [changed.get(key) for key in keys]
    for other in emulation.shelf("neutron.floatingip").bodies():
        same = changed["port_id"] and [other.get(key) for key in keys] == inside
        if same and other["id"] != body["id"]:
            raise Refusal(409, f"{body['id']}: that fixed IP already has a floating IP")
    body.update(changed)
    return Told(200, {"floatingip": body})


def _agents(emulation: Emulation, asked: Asked) -> Told:
    held = emulation.shelf("held by agents").bodies()
    found = [{"id": one["agent"]} for one in held if one["thing"] == asked.places["id"]]
    return Told(200, {"agents": found})


def _put_on(emulation: Emulation, asked: Asked) -> Told:
    (thing,), agent = asked.body.values(), asked.places["agent"]
    shelf, own_id = emulation.shelf("held by agents"), f"{agent} {thing}"
    if shelf.get(own_id) is not None:
        raise Refusal(409, f"{thing} is hosted by {agent} already")
    shelf.add({"id": own_id, "agent": agent, "thing": thing})
    return Told(201)


def _take_off(emulation: Emulation, asked: Asked) -> Told:
    shelf = emulation.shelf("held by agents")
    own_id = f"{asked.places['agent']} {asked.places['id']}"
    if shelf.get(own_id) is None:
        raise Refusal(404, f"nothing of {own_id}")
    shelf.remove(own_id)
    return Told(204)


def _connect(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("neutron.network_gateway", asked.places["id"]).body
    if asked.body in body.setdefault("connected", []):
        raise Refusal(409, "connected already")
    body["connected"].append(asked.body)
    return Told(200, asked.body)


def _disconnect(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("neutron.network_gateway", asked.places["id"]).body
    if asked.body not in body.get("connected", ()):
        raise Refusal(404, "not connected")
    body["connected"].remove(asked.body)
    return Told(200, asked.body)
