"""Nova's API: servers that are created, resized, suspended and deleted over time."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack import project_limits
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
    new_id,
)
from heat_convergence.testing.openstack.networking import neutron_api

Json = Any
SPAWN_TIME_S = 3.0
SCHEDULING_TIME_S = 1.5  # until a host is chosen, within the time of spawning
RESIZE_TIME_S = 4.0
DELETE_TIME_S = 2.0
DELETED_LISTED_S = 0.5  # how long a deleted server is still listed
CONFIRM_TIME_S = 1.5
DETACH_TIME_S = 1.0
ADDRESS_TIME_S = 1.5  # until a server shows the addresses of a changed interface
IMAGE_SAVE_TIME_S = 2.0


def install(emulation: Emulation) -> None:
    """Install Nova's handlers and flavors."""
    for name in ("m1.nano", "m1.tiny"):
        emulation.add("nova.flavor", name=name, ram=64, vcpus=1)
    emulation.latency_s["nova.server delete"] = DELETE_TIME_S
    handlers = (
        ("POST", "/servers", _create),
        ("GET", "/servers/detail", _list),
        ("DELETE", "/servers/{id}", _delete),
        ("POST", "/servers/{id}/action", _run_action),
        ("PUT", "/servers/{id}/metadata", _set_metadata),
        ("POST", "/servers/{id}/remote-consoles", _open_console),
        ("GET", "/servers/{id}/os-interface", _list_interfaces),
        ("POST", "/servers/{id}/os-interface", _attach_port),
        ("DELETE", "/servers/{id}/os-interface/{port}", _detach_port),
        ("POST", "/servers/{id}/os-volume_attachments", _attach_volume),
        ("GET", "/servers/{id}/os-volume_attachments/{volume}", _get_attachment),
        ("DELETE", "/servers/{id}/os-volume_attachments/{volume}", _detach_volume),
        ("POST", "/os-keypairs", _create_key),
        ("GET", "/os-keypairs", _list_keys),
        ("POST", "/flavors/{id}/os-extra_specs", _accept),
        ("DELETE", "/flavors/{id}/os-extra_specs/{key}", _accept),
        ("GET", "/flavors/{id}/os-flavor-access", _list_access),
        ("POST", "/flavors/{id}/action", _change_access),
        ("POST", "/os-aggregates/{id}/action", _change_aggregate),
        ("GET", "/os-availability-zone", _list_zones),
        ("PUT", "/os-quota-sets/{id}", _set_quota),
        ("GET", "/limits", project_limits.show_compute_limits),
        ("DELETE", "/os-quota-sets/{id}", _accept),
    )
    emulation.add_handlers("compute", handlers)


def _list_zones(emulation: Emulation, _request: EmulatedRequest) -> EmulatedResponse:
    zones = [
        {"zoneName": name, "zoneState": {"available": True}}
        for name in emulation.availability_zones
    ]
    return EmulatedResponse(200, {"availabilityZoneInfo": zones})


def _create(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    server = dict(request.body["server"])
    flavor = emulation.get_existing("nova.flavor", server["flavorRef"]).body
    image = server.get("imageRef")
    server_id = new_id()
    body = {
        "id": server_id,
        "name": server["name"],
        "description": server.get("description"),
        "status": "BUILD",
        "metadata": server.get("metadata", {}),
        "tags": server.get("tags", []),
        "flavor": {"id": flavor["id"]},
        "image": {"id": image} if image else "",
        "addresses": {},
        "OS-EXT-STS:task_state": "spawning",
        "scheduled_at_s": emulation.now_s + SCHEDULING_TIME_S,
    }
    for nic in server.get("networks") or () if server.get("networks") != "auto" else ():
        _attach_server(emulation, server_id, nic.get("port"), nic.get("uuid"), nic.get("fixed_ip"))
    for device in server.get("block_device_mapping_v2") or ():
        if device["source_type"] == "volume":
            _reserve_volume(emulation, device["uuid"], server_id)
    item = emulation.collection("nova.server").add(body)
    up = {"status": "ACTIVE", "OS-EXT-STS:task_state": None}
    spawn_time_s = emulation.latency_s.get("nova.server", SPAWN_TIME_S)
    item.scheduled_changes = [(emulation.now_s + spawn_time_s, up)]
    _show_addresses(emulation, server_id, spawn_time_s)
    return EmulatedResponse(202, {"server": {"id": server_id, "adminPass": "x"}})


def _list(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Return a page of servers; a server without a host is in no list of changes."""
    bodies, more = emulation.collection("nova.server").list_page(request.query)
    if "changes-since" in request.query:
        bodies = [body for body in bodies if body.get("scheduled_at_s", 0.0) <= emulation.now_s]
    links = [{"rel": "next", "href": request.path}] if more else []
    return EmulatedResponse(200, {"servers": bodies, "servers_links": links})


def _attach_server(
    emulation: Emulation,
    server_id: str,
    port: str | None,
    network: str | None,
    fixed_ip: str | None = None,
) -> dict[str, Json]:
    """Attach the server to a port; a port that Nova creates is deleted with the server."""
    ports = emulation.collection("neutron.port")
    if port is None:
        fixed = [{"subnet_id": None, "ip_address": fixed_ip}] if fixed_ip else []
        ips = fixed or neutron_api.allocate_addresses(emulation, str(network))
        created = ports.add({"network_id": network, "fixed_ips": ips, "nova": True, "name": ""})
        created.body["mac_address"] = "fa:16:3e:00:00:02"
        port = created.body["id"]
    body = emulation.get_existing("neutron.port", port).body
    if body.get("device_id"):
        raise EmulatedError(409, f"Port {port} is still in use.")
    body.update(device_id=server_id, device_owner="compute:nova", status="ACTIVE")
    return body


_RELEASED = {"device_id": "", "device_owner": "", "status": "DOWN"}


def _release_port(emulation: Emulation, port: dict[str, Json]) -> None:
    if port.get("nova"):
        emulation.collection("neutron.port").remove(port["id"])
    else:
        port.update(_RELEASED)


def _show_addresses(emulation: Emulation, server_id: str, delay_s: float) -> None:
    """Let the server show the addresses of the ports that it keeps, some time later."""
    addresses: dict[str, list[Json]] = {}
    for port in _ports_of_server(emulation, server_id):
        if emulation.get_existing("neutron.port", port["id"]).scheduled_changes:
            continue  # it is being detached
        network = emulation.get_existing("neutron.network", port["network_id"]).body
        shown = [
            {"addr": ip["ip_address"], "version": 4, "OS-EXT-IPS:type": "fixed"}
            for ip in port["fixed_ips"]
        ]
        addresses.setdefault(network["name"], []).extend(shown)
    server = emulation.get_existing("nova.server", server_id)
    server.scheduled_changes.append((emulation.now_s + delay_s, {"addresses": addresses}))


def _ports_of_server(emulation: Emulation, server_id: str) -> list[dict[str, Json]]:
    return emulation.collection("neutron.port").list_page({"device_id": [server_id]})[0]


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    server_id = request.path_parameters["id"]
    item = emulation.get_existing("nova.server", server_id)
    for port in _ports_of_server(emulation, server_id):
        _release_port(emulation, port)
    for volume in emulation.collection("cinder.volume").bodies():
        if any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
            volume.update(attachments=[], status="available")
    item.body["OS-EXT-STS:task_state"] = "deleting"
    deleted = emulation.now_s + DELETE_TIME_S
    item.scheduled_changes = [(deleted, {"status": "DELETED"}), (deleted + DELETED_LISTED_S, None)]
    return EmulatedResponse(204)


def _run_action(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("nova.server", request.path_parameters["id"])
    ((name, arguments),) = request.body.items()
    if item.body["status"] not in _REQUIRED_STATUSES.get(name, ("ACTIVE",)):
        raise EmulatedError(409, f"Cannot '{name}' instance while it is {item.body['status']}")
    if name == "createImage":
        return _create_image(emulation, item, arguments)
    _ACTIONS[name](emulation, item, arguments)
    return EmulatedResponse(202)


def _create_image(
    emulation: Emulation, item: EmulatedResource, arguments: Json
) -> EmulatedResponse:
    image = emulation.add("glance.image", name=arguments["name"], server=item.body["id"])
    item = emulation.get_existing("glance.image", image["id"])
    item.body["status"] = "queued"
    item.scheduled_changes = [(emulation.now_s + IMAGE_SAVE_TIME_S, {"status": "active"})]
    url = f"http://image.example/v2/images/{image['id']}"
    return EmulatedResponse(202, headers={"Location": url})


def _resize(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    flavor = {"id": arguments["flavorRef"]}
    item.body.update(status="RESIZE")
    item.scheduled_changes = [
        (emulation.now_s + RESIZE_TIME_S, {"status": "VERIFY_RESIZE", "flavor": flavor})
    ]


def _confirm_resize(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    if item.scheduled_changes:
        raise EmulatedError(400, "Instance has not been resized.")
    item.scheduled_changes = [(emulation.now_s + CONFIRM_TIME_S, {"status": "ACTIVE"})]


def _rebuild(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    item.body.update(status="REBUILD", image={"id": arguments["imageRef"]})
    item.scheduled_changes = [(emulation.now_s + SPAWN_TIME_S, {"status": "ACTIVE"})]


def _suspend(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "SUSPENDED"})]


def _resume(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "ACTIVE"})]


def _change_password(emulation: Emulation, item: EmulatedResource, arguments: Json) -> None:
    """Do nothing: a password cannot be observed."""


_ACTIONS = {
    "resize": _resize,
    "confirmResize": _confirm_resize,
    "rebuild": _rebuild,
    "suspend": _suspend,
    "resume": _resume,
    "changePassword": _change_password,
}


_REQUIRED_STATUSES = {"confirmResize": ("VERIFY_RESIZE",), "resume": ("SUSPENDED",)}


def _set_metadata(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("nova.server", request.path_parameters["id"]).body.update(request.body)
    return EmulatedResponse(200, request.body)


def _open_console(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("nova.server", request.path_parameters["id"])
    console = request.body["remote_console"]
    if console["type"] not in ("novnc", "serial", "spice-html5"):
        raise EmulatedError(400, f"Unavailable console type {console['type']}.")
    url = f"http://consoles.example/{console['type']}?token={new_id()}"
    return EmulatedResponse(200, {"remote_console": {**console, "url": url}})


def _list_interfaces(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    attachments = [
        {
            "port_id": port["id"],
            "net_id": port["network_id"],
            "fixed_ips": port["fixed_ips"],
        }
        for port in _ports_of_server(emulation, request.path_parameters["id"])
    ]
    return EmulatedResponse(200, {"interfaceAttachments": attachments})


def _attach_port(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    attachment = request.body["interfaceAttachment"]
    port = _attach_server(
        emulation,
        request.path_parameters["id"],
        attachment.get("port_id"),
        attachment.get("net_id"),
        next((ip["ip_address"] for ip in attachment.get("fixed_ips") or ()), None),
    )
    _show_addresses(emulation, request.path_parameters["id"], ADDRESS_TIME_S)
    return EmulatedResponse(200, {"interfaceAttachment": {"port_id": port["id"]}})


def _detach_port(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    port = emulation.get_existing("neutron.port", request.path_parameters["port"])
    if not port.scheduled_changes:
        changes = None if port.body.get("nova") else _RELEASED
        port.scheduled_changes.append((emulation.now_s + DETACH_TIME_S, changes))
    _show_addresses(emulation, request.path_parameters["id"], ADDRESS_TIME_S)
    return EmulatedResponse(202)


def _reserve_volume(emulation: Emulation, volume_id: str, server_id: str) -> None:
    volume = emulation.get_existing("cinder.volume", volume_id).body
    if volume["status"] != "available":
        raise EmulatedError(
            400, f"Invalid volume: status must be available, is {volume['status']}"
        )
    volume.update(status="in-use", attachments=[{"server_id": server_id, "id": volume_id}])


def _attach_volume(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    server_id = request.path_parameters["id"]
    emulation.get_existing("nova.server", server_id)
    _reserve_volume(emulation, request.body["volumeAttachment"]["volumeId"], server_id)
    return EmulatedResponse(200, request.body)


def _get_attachment(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    volume = emulation.get_existing("cinder.volume", request.path_parameters["volume"]).body
    server_id = request.path_parameters["id"]
    if not any(one["server_id"] == server_id for one in volume.get("attachments") or ()):
        raise EmulatedError(404, "no such attachment")
    return EmulatedResponse(
        200, {"volumeAttachment": {"volumeId": volume["id"], "serverId": server_id}}
    )


def _detach_volume(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("cinder.volume", request.path_parameters["volume"])
    item.body.update(status="detaching")
    item.scheduled_changes = [(emulation.now_s + 1, {"status": "available", "attachments": []})]
    return EmulatedResponse(202)


def _create_key(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    keypair = dict(request.body["keypair"])
    collection = emulation.collection("nova.keypair")
    if collection.get(keypair["name"]) is not None:
        raise EmulatedError(409, f"Key pair '{keypair['name']}' already exists.")
    private_key = {} if keypair.get("public_key") else {"private_key": "secret"}
    body = {"public_key": "ssh-rsa made", **keypair}
    collection.add(body)
    return EmulatedResponse(201, {"keypair": {**body, **private_key}})


def _list_keys(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Return all key pairs, each in an object of its own; there is no filter by name."""
    query = {name: values for name, values in request.query.items() if name != "name"}
    bodies, _ = emulation.collection("nova.keypair").list_page(query)
    return EmulatedResponse(200, {"keypairs": [{"keypair": body} for body in bodies]})


def _list_access(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.flavor", request.path_parameters["id"]).body
    access = [{"tenant_id": tenant} for tenant in sorted(body.get("tenants", ()))]
    return EmulatedResponse(200, {"flavor_access": access})


def _change_access(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.flavor", request.path_parameters["id"]).body
    ((name, arguments),) = request.body.items()
    tenants, changed = set(body.get("tenants", ())), {arguments["tenant"]}
    body["tenants"] = sorted(tenants | changed if name == "addTenantAccess" else tenants - changed)
    return EmulatedResponse(200, {})


def _change_aggregate(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("nova.aggregate", request.path_parameters["id"]).body
    ((name, arguments),) = request.body.items()
    hosts = set(body.get("hosts", ()))
    if name == "set_metadata":
        body.setdefault("metadata", {}).update(arguments["metadata"])
    elif (arguments["host"] in hosts) is (name == "add_host"):
        raise EmulatedError(409, f"{name}: {arguments['host']}")
    else:
        body["hosts"] = sorted(hosts ^ {arguments["host"]})
    return EmulatedResponse(200, {"aggregate": body})


def _set_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("nova.quota"), request.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(request.body["quota_set"])
    return EmulatedResponse(200, {"quota_set": item.body})


def _accept(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(200, {})
