"""Nova: servers that come up, are resized, suspended, joined and deleted in time."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import neutron_api
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)

Json = Any
SPAWN_TIME_S = 3.0
SCHEDULING_TIME_S = 1.5  # for a host, with which a server spawns
RESIZE_TIME_S = 4.0
DELETE_TIME_S = 2.0
DELETED_LISTED_S = 0.5  # in which what is deleted is listed
CONFIRM_TIME_S = 1.5
IMAGE_SAVE_TIME_S = 2.0


def install(emulation: Emulation) -> None:
    for name in ("m1.nano", "m1.tiny"):
        emulation.add("nova.flavor", name=name, ram=64)
    emulation.latency_s["nova.server delete"] = DELETE_TIME_S
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
        emulation.add_handler("compute", method, path, rule)


def _zones(emulation: Emulation, _asked: EmulatedRequest) -> EmulatedResponse:
    zones = [
        {"zoneName": name, "zoneState": {"available": True}}
        for name in emulation.availability_zones
    ]
    return EmulatedResponse(200, {"availabilityZoneInfo": zones})


def _create(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    given = dict(asked.body["server"])
    flavor = emulation.get_existing("nova.flavor", given["flavorRef"]).body
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
        "taken_up_s": emulation.now_s + SCHEDULING_TIME_S,
    }
    for nic in given.get("networks") or () if given.get("networks") != "auto" else ():
        _join(emulation, server_id, nic.get("port"), nic.get("uuid"), nic.get("fixed_ip"))
    for device in given.get("block_device_mapping_v2") or ():
        if device["source_type"] == "volume":
            _take(emulation, device["uuid"], server_id)
    item = emulation.collection("nova.server").add(body)
    up = {"status": "ACTIVE", "OS-EXT-STS:task_state": None}
    item.scheduled_changes = [(emulation.now_s + SPAWN_TIME_S, up)]
    return EmulatedResponse(202, {"server": {"id": server_id, "adminPass": "x"}})


def _list(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    """What no host has taken up yet is in no list of changes."""
    bodies, more = emulation.collection("nova.server").list_page(asked.query)
    if "changes-since" in asked.query:
        bodies = [body for body in bodies if body.get("taken_up_s", 0.0) <= emulation.now_s]
    links = [{"rel": "next", "href": asked.path}] if more else []
    return EmulatedResponse(200, {"servers": bodies, "servers_links": links})


def _join(
    emulation: Emulation,
    server_id: str,
    port: str | None,
    network: str | None,
    fixed_ip: str | None = None,
) -> dict[str, Json]:
    """A port of the service's own is marked so and goes with the server."""
    ports = emulation.collection("neutron.port")
    if port is None:
        given = [{"subnet_id": None, "ip_address": fixed_ip}] if fixed_ip else []
        ips = given or neutron_api.allocate_addresses(emulation, str(network))
        made = ports.add({"network_id": network, "fixed_ips": ips, "nova": True, "name": ""})
        port = made.body["id"]
    body = emulation.get_existing("neutron.port", port).body
    if body.get("device_id"):
        raise EmulatedError(409, f"Port {port} is still in use.")
    body.update(device_id=server_id, device_owner="compute:nova", status="ACTIVE")
    return body


def _leave(emulation: Emulation, port: dict[str, Json]) -> None:
    if port.get("nova"):
        emulation.collection("neutron.port").remove(port["id"])
    else:
        port.update(device_id="", device_owner="", status="DOWN")


def _ports(emulation: Emulation, server_id: str) -> list[dict[str, Json]]:
    return emulation.collection("neutron.port").list_page({"device_id": [server_id]})[0]


def _delete(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    server_id = asked.path_parameters["id"]
    item = emulation.get_existing("nova.server", server_id)
    for port in _ports(emulation, server_id):
        _leave(emulation, port)
    for volume in emulation.collection("cinder.volume").bodies():
        if any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
            volume.update(attachments=[], status="available")
    item.body["OS-EXT-STS:task_state"] = "deleting"
    deleted = emulation.now_s + DELETE_TIME_S
    item.scheduled_changes = [(deleted, {"status": "DELETED"}), (deleted + DELETED_LISTED_S, None)]
    return EmulatedResponse(204)


def _act(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("nova.server", asked.path_parameters["id"])
    ((name, given),) = asked.body.items()
    if item.body["status"] not in _FROM.get(name, ("ACTIVE",)):
        raise EmulatedError(409, f"Cannot '{name}' instance while it is {item.body['status']}")
    if name == "createImage":
        return _create_image(emulation, item, given)
    _ACTIONS[name](emulation, item, given)
    return EmulatedResponse(202)


def _create_image(emulation: Emulation, item: EmulatedResource, given: Json) -> EmulatedResponse:
    image = emulation.add("glance.image", name=given["name"], server=item.body["id"])
    saved = emulation.get_existing("glance.image", image["id"])
    saved.body["status"] = "queued"
    saved.scheduled_changes = [(emulation.now_s + IMAGE_SAVE_TIME_S, {"status": "active"})]
    url = f"http://image.example/v2/images/{image['id']}"
    return EmulatedResponse(202, headers={"Location": url})


def _resize(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
    flavor = {"id": given["flavorRef"]}
    item.body.update(status="RESIZE")
    item.scheduled_changes = [
        (emulation.now_s + RESIZE_TIME_S, {"status": "VERIFY_RESIZE", "flavor": flavor})
    ]


def _confirm(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
    if item.scheduled_changes:
        raise EmulatedError(400, "Instance has not been resized.")
    item.scheduled_changes = [(emulation.now_s + CONFIRM_TIME_S, {"status": "ACTIVE"})]


def _rebuild(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
    item.body.update(status="REBUILD", image={"id": given["imageRef"]})
    item.scheduled_changes = [(emulation.now_s + SPAWN_TIME_S, {"status": "ACTIVE"})]


def _suspend(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "SUSPENDED"})]


def _resume(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "ACTIVE"})]


def _password(emulation: Emulation, item: EmulatedResource, given: Json) -> None:
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


def _set_metadata(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("nova.server", asked.path_parameters["id"]).body.update(asked.body)
    return EmulatedResponse(200, asked.body)


def _open_console(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("nova.server", asked.path_parameters["id"])
    given = asked.body["remote_console"]
    if given["type"] not in ("novnc", "serial", "spice-html5"):
        raise EmulatedError(400, f"Unavailable console type {given['type']}.")
    url = f"http://consoles.example/{given['type']}?token={new_id()}"
    return EmulatedResponse(200, {"remote_console": {**given, "url": url}})


def _interfaces(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    found = [
        {
            "port_id": port["id"],
            "net_id": port["network_id"],
            "fixed_ips": port["fixed_ips"],
        }
        for port in _ports(emulation, asked.path_parameters["id"])
    ]
    return EmulatedResponse(200, {"interfaceAttachments": found})


def _attach_port(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    given = asked.body["interfaceAttachment"]
    port = _join(emulation, asked.path_parameters["id"], given.get("port_id"), given.get("net_id"))
    return EmulatedResponse(200, {"interfaceAttachment": {"port_id": port["id"]}})


def _detach_port(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    _leave(emulation, emulation.get_existing("neutron.port", asked.path_parameters["port"]).body)
    return EmulatedResponse(202)


def _take(emulation: Emulation, volume_id: str, server_id: str) -> None:
    volume = emulation.get_existing("cinder.volume", volume_id).body
    if volume["status"] != "available":
        raise EmulatedError(
            400, f"Invalid volume: status must be available, is {volume['status']}"
        )
    volume.update(status="in-use", attachments=[{"server_id": server_id, "id": volume_id}])


def _attach_volume(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    server_id = asked.path_parameters["id"]
    emulation.get_existing("nova.server", server_id)
    _take(emulation, asked.body["volumeAttachment"]["volumeId"], server_id)
    return EmulatedResponse(200, asked.body)


def _attachment(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    volume = emulation.get_existing("cinder.volume", asked.path_parameters["volume"]).body
    server_id = asked.path_parameters["id"]
    if not any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
        raise EmulatedError(404, "no such attachment")
    return EmulatedResponse(
        200, {"volumeAttachment": {"volumeId": volume["id"], "serverId": server_id}}
    )


def _detach_volume(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("cinder.volume", asked.path_parameters["volume"])
    item.body.update(status="detaching")
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "available", "attachments": []})]
    return EmulatedResponse(202)


def _create_key(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    given = dict(asked.body["keypair"])
    collection = emulation.collection("nova.keypair")
    if collection.get(given["name"]) is not None:
        raise EmulatedError(409, f"Key pair '{given['name']}' already exists.")
    private = {} if given.get("public_key") else {"private_key": "secret"}
    body = {"public_key": "ssh-rsa made", **given}
    collection.add(body)
    return EmulatedResponse(201, {"keypair": {**body, **private}})


def _list_keys(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    """Each is wrapped by itself, and there is no filter by name."""
    query = {name: values for name, values in asked.query.items() if name != "name"}
    bodies, _ = emulation.collection("nova.keypair").list_page(query)
    return EmulatedResponse(200, {"keypairs": [{"keypair": body} for body in bodies]})


def _access(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.flavor", asked.path_parameters["id"]).body
    found = [{"tenant_id": tenant} for tenant in sorted(body.get("tenants", ()))]
    return EmulatedResponse(200, {"flavor_access": found})


def _change_access(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.flavor", asked.path_parameters["id"]).body
    ((name, given),) = asked.body.items()
    there, one = set(body.get("tenants", ())), {given["tenant"]}
    body["tenants"] = sorted(there | one if name == "addTenantAccess" else there - one)
    return EmulatedResponse(200, {})


def _change_aggregate(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.aggregate", asked.path_parameters["id"]).body
    ((name, given),) = asked.body.items()
    there = set(body.get("hosts", ()))
    if name == "set_metadata":
        body.setdefault("metadata", {}).update(given["metadata"])
    elif (given["host"] in there) is (name == "add_host"):
        raise EmulatedError(409, f"{name}: {given['host']}")
    else:
        body["hosts"] = sorted(there ^ {given["host"]})
    return EmulatedResponse(200, {"aggregate": body})


def _set_quota(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("nova.quota"), asked.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(asked.body["quota_set"])
    return EmulatedResponse(200, {"quota_set": item.body})


def _done(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(200, {})
