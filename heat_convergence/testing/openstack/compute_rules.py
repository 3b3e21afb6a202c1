"""Nova: servers that come up, are resized, suspended, joined and deleted in time."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import network_rules
from heat_convergence.testing.openstack.emulation import (
    Asked,
    Emulation,
    Refusal,
    Told,
    new_id,
)
from heat_convergence.testing.openstack.shelf import Item

Json = Any
SPAWNING_S = 3.0
WAITING_S = 1.5  # for a host, with which a server spawns
RESIZING_S = 4.0
DELETING_S = 2.0
DELETED_S = 0.5  # in which what is deleted is listed
CONFIRMING_S = 1.5
SAVING_S = 2.0


def install(emulation: Emulation) -> None:
    for name in ("m1.nano", "m1.tiny"):
        emulation.add("nova.flavor", name=name, ram=64)
    emulation.latency_s["nova.server delete"] = DELETING_S
    rules = (
        ("POST", "/servers", _create),
        ("GET", "/servers/detail", _list),
        ("DELETE", "/servers/{id}", _delete),
        ("POST", "/servers/{id}/action", _act),
        ("PUT", "/servers/{id}/metadata", _set_metadata),
        ("POST", "/servers/{id}/remote-consoles", _open_console),
        ("GET", "/servers/{id}/os-interface", _interfaces),
        ("POST", "/servers/{id}/os-interface", _attach_port),
        ("DELETE", "/servers/{id}/os-interface/{port}", _detach_port),
        ("POST", "/servers/{id}/os-volume_attachments", _attach_volume),
        ("GET", "/servers/{id}/os-volume_attachments/{volume}", _attachment),
        ("DELETE", "/servers/{id}/os-volume_attachments/{volume}", _detach_volume),
        ("POST", "/os-keypairs", _create_key),
        ("GET", "/os-keypairs", _list_keys),
        ("POST", "/flavors/{id}/os-extra_specs", _done),
        ("DELETE", "/flavors/{id}/os-extra_specs/{key}", _done),
        ("GET", "/flavors/{id}/os-flavor-access", _access),
        ("POST", "/flavors/{id}/action", _change_access),
        ("POST", "/os-aggregates/{id}/action", _change_aggregate),
        ("GET", "/os-availability-zone", _zones),
        ("PUT", "/os-quota-sets/{id}", _set_quota),
        ("DELETE", "/os-quota-sets/{id}", _done),
    )
    for method, path, rule in rules:
        emulation.rule("compute", method, path, rule)


def _zones(emulation: Emulation, _asked: Asked) -> Told:
    zones = [{"zoneName": name, "zoneState": {"available": True}} for name in emulation.zones]
    return Told(200, {"availabilityZoneInfo": zones})


def _create(emulation: Emulation, asked: Asked) -> Told:
    given = dict(asked.body["server"])
    flavor = emulation.existing("nova.flavor", given["flavorRef"]).body
    image = given.get("imageRef")
    server_id = new_id()
    body = {
        "id": server_id,
        "name": given["name"],
        "description": given.get("description"),
        "status": "BUILD",
        "metadata": given.get("metadata", {}),
        "tags": given.get("tags", []),
        "flavor": {"id": flavor["id"]},
        "image": {"id": image} if image else "",
        "addresses": {},
        "OS-EXT-STS:task_state": "spawning",
        "taken_up_s": emulation.now_s + WAITING_S,
    }
    for nic in given.get("networks") or () if given.get("networks") != "auto" else ():
        _join(emulation, server_id, nic.get("port"), nic.get("uuid"), nic.get("fixed_ip"))
    for device in given.get("block_device_mapping_v2") or ():
        if device["source_type"] == "volume":
            _take(emulation, device["uuid"], server_id)
    item = emulation.shelf("nova.server").add(body)
    up = {"status": "ACTIVE", "OS-EXT-STS:task_state": None}
    item.coming = [(emulation.now_s + SPAWNING_S, up)]
    return Told(202, {"server": {"id": server_id, "adminPass": "x"}})


def _list(emulation: Emulation, asked: Asked) -> Told:
    """What no host has taken up yet is in no list of changes."""
    bodies, more = emulation.shelf("nova.server").listed(asked.query)
    if "changes-since" in asked.query:
        bodies = [body for body in bodies if body.get("taken_up_s", 0.0) <= emulation.now_s]
    links = [{"rel": "next", "href": asked.path}] if more else []
    return Told(200, {"servers": bodies, "servers_links": links})


def _join(
    emulation: Emulation, server_id: str, port: str | None, network: str | None,
    fixed_ip: str | None = None,
) -> dict[str, Json]:
    """A port of the service's own is marked so and goes with the server."""
    ports = emulation.shelf("neutron.port")
    if port is None:
        given = [{"subnet_id": None, "ip_address": fixed_ip}] if fixed_ip else []
        ips = given or network_rules.addresses_on(emulation, str(network))
        made = ports.add({"network_id": network, "fixed_ips": ips, "nova": True, "name": ""})
        port = made.body["id"]
    body = emulation.existing("neutron.port", port).body
    if body.get("device_id"):
        raise Refusal(409, f"Port {port} is still in use.")
    body.update(device_id=server_id, device_owner="compute:nova", status="ACTIVE")
    return body


def _leave(emulation: Emulation, port: dict[str, Json]) -> None:
    if port.get("nova"):
        emulation.shelf("neutron.port").remove(port["id"])
    else:
        port.update(device_id="", device_owner="", status="DOWN")


def _ports(emulation: Emulation, server_id: str) -> list[dict[str, Json]]:
    return emulation.shelf("neutron.port").listed({"device_id": [server_id]})[0]


def _delete(emulation: Emulation, asked: Asked) -> Told:
    server_id = asked.places["id"]
    item = emulation.existing("nova.server", server_id)
    for port in _ports(emulation, server_id):
        _leave(emulation, port)
    for volume in emulation.shelf("cinder.volume").bodies():
        if any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
            volume.update(attachments=[], status="available")
    item.body["OS-EXT-STS:task_state"] = "deleting"
    deleted = emulation.now_s + DELETING_S
    item.coming = [(deleted, {"status": "DELETED"}), (deleted + DELETED_S, None)]
    return Told(204)


def _act(emulation: Emulation, asked: Asked) -> Told:
    item = emulation.existing("nova.server", asked.places["id"])
    ((name, given),) = asked.body.items()
    if item.body["status"] not in _FROM.get(name, ("ACTIVE",)):
        raise Refusal(409, f"Cannot '{name}' instance while it is {item.body['status']}")
    if name == "createImage":
        return _create_image(emulation, item, given)
    _ACTIONS[name](emulation, item, given)
    return Told(202)


def _create_image(emulation: Emulation, item: Item, given: Json) -> Told:
    image = emulation.add("glance.image", name=given["name"], server=item.body["id"])
    saved = emulation.existing("glance.image", image["id"])
    saved.body["status"] = "queued"
    saved.coming = [(emulation.now_s + SAVING_S, {"status": "active"})]
    url = f"http://image.example/v2/images/{image['id']}"
    return Told(202, headers={"Location": url})


def _resize(emulation: Emulation, item: Item, given: Json) -> None:
    flavor = {"id": given["flavorRef"]}
    item.body.update(status="RESIZE")
    item.coming = [(emulation.now_s + RESIZING_S, {"status": "VERIFY_RESIZE", "flavor": flavor})]


def _confirm(emulation: Emulation, item: Item, given: Json) -> None:
    if item.coming:
        raise Refusal(400, "Instance has not been resized.")
    item.coming = [(emulation.now_s + CONFIRMING_S, {"status": "ACTIVE"})]


def _rebuild(emulation: Emulation, item: Item, given: Json) -> None:
    item.body.update(status="REBUILD", image={"id": given["imageRef"]})
    item.coming = [(emulation.now_s + SPAWNING_S, {"status": "ACTIVE"})]


def _suspend(emulation: Emulation, item: Item, given: Json) -> None:
    item.coming = [(emulation.now_s + 1, {"status": "SUSPENDED"})]


def _resume(emulation: Emulation, item: Item, given: Json) -> None:
    item.coming = [(emulation.now_s + 1, {"status": "ACTIVE"})]


def _password(emulation: Emulation, item: Item, given: Json) -> None:
    """Nothing that can be seen."""


_ACTIONS = {
    "resize": _resize,
    "confirmResize": _confirm,
    "rebuild": _rebuild,
    "suspend": _suspend,
    "resume": _resume,
    "changePassword": _password,
}


_FROM = {"confirmResize": ("VERIFY_RESIZE",), "resume": ("SUSPENDED",)}


def _set_metadata(emulation: Emulation, asked: Asked) -> Told:
    emulation.existing("nova.server", asked.places["id"]).body.update(asked.body)
    return Told(200, asked.body)


def _open_console(emulation: Emulation, asked: Asked) -> Told:
    emulation.existing("nova.server", asked.places["id"])
    given = asked.body["remote_console"]
    if given["type"] not in ("novnc", "serial", "spice-html5"):
        raise Refusal(400, f"Unavailable console type {given['type']}.")
    url = f"http://consoles.example/{given['type']}?token={new_id()}"
    return Told(200, {"remote_console": {**given, "url": url}})


def _interfaces(emulation: Emulation, asked: Asked) -> Told:
    found = [
        {
            "port_id": port["id"],
            "net_id": port["network_id"],
            "fixed_ips": port["fixed_ips"],
        }
        for port in _ports(emulation, asked.places["id"])
    ]
    return Told(200, {"interfaceAttachments": found})


def _attach_port(emulation: Emulation, asked: Asked) -> Told:
    given = asked.body["interfaceAttachment"]
    port = _join(emulation, asked.places["id"], given.get("port_id"), given.get("net_id"))
    return Told(200, {"interfaceAttachment": {"port_id": port["id"]}})


def _detach_port(emulation: Emulation, asked: Asked) -> Told:
    _leave(emulation, emulation.existing("neutron.port", asked.places["port"]).body)
    return Told(202)


def _take(emulation: Emulation, volume_id: str, server_id: str) -> None:
    volume = emulation.existing("cinder.volume", volume_id).body
    if volume["status"] != "available":
        raise Refusal(400, f"Invalid volume: status must be available, is {volume['status']}")
    volume.update(
        status="in-use", attachments=[{"server_id": server_id, "id": volume_id}]
    )


def _attach_volume(emulation: Emulation, asked: Asked) -> Told:
    server_id = asked.places["id"]
    emulation.existing("nova.server", server_id)
    _take(emulation, asked.body["volumeAttachment"]["volumeId"], server_id)
    return Told(200, asked.body)


def _attachment(emulation: Emulation, asked: Asked) -> Told:
    volume = emulation.existing("cinder.volume", asked.places["volume"]).body
    server_id = asked.places["id"]
    if not any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
        raise Refusal(404, "no such attachment")
    return Told(200, {"volumeAttachment": {"volumeId": volume["id"], "serverId": server_id}})


def _detach_volume(emulation: Emulation, asked: Asked) -> Told:
    item = emulation.existing("cinder.volume", asked.places["volume"])
    item.body.update(status="detaching")
    item.coming = [(emulation.now_s + 1, {"status": "available", "attachments": []})]
    return Told(202)


def _create_key(emulation: Emulation, asked: Asked) -> Told:
    given = dict(asked.body["keypair"])
    shelf = emulation.shelf("nova.keypair")
    if shelf.get(given["name"]) is not None:
        raise Refusal(409, f"Key pair '{given['name']}' already exists.")
    private = {} if given.get("public_key") else {"private_key": "secret"}
    body = {"public_key": "ssh-rsa made", **given}
    shelf.add(body)
    return Told(201, {"keypair": {**body, **private}})


def _list_keys(emulation: Emulation, asked: Asked) -> Told:
    """Each is wrapped by itself, and there is no filter by name."""
    query = {name: values for name, values in asked.query.items() if name != "name"}
    bodies, _ = emulation.shelf("nova.keypair").listed(query)
    return Told(200, {"keypairs": [{"keypair": body} for body in bodies]})


def _access(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("nova.flavor", asked.places["id"]).body
    found = [{"tenant_id": tenant} for tenant in sorted(body.get("tenants", ()))]
    return Told(200, {"flavor_access": found})


def _change_access(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("nova.flavor", asked.places["id"]).body
    ((name, given),) = asked.body.items()
    there, one = set(body.get("tenants", ())), {given["tenant"]}
    body["tenants"] = sorted(there | one if name == "addTenantAccess" else there - one)
    return Told(200, {})


def _change_aggregate(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("nova.aggregate", asked.places["id"]).body
    ((name, given),) = asked.body.items()
    there = set(body.get("hosts", ()))
    if name == "set_metadata":
        body.setdefault("metadata", {}).update(given["metadata"])
    elif (given["host"] in there) is (name == "add_host"):
        raise Refusal(409, f"{name}: {given['host']}")
    else:
        body["hosts"] = sorted(there ^ {given["host"]})
    return Told(200, {"aggregate": body})


def _set_quota(emulation: Emulation, asked: Asked) -> Told:
    shelf, project_id = emulation.shelf("nova.quota"), asked.places["id"]
    item = shelf.get(project_id) or shelf.add({"id": project_id})
    item.body.update(asked.body["quota_set"])
    return Told(200, {"quota_set": item.body})


def _done(emulation: Emulation, asked: Asked) -> Told:
    return Told(200, {})
