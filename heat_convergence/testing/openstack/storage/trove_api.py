"""Trove's API: instances that are busy after each change, with databases and users."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
HEALTHY = "HEALTHY"  # which guest agents of today report instead of ACTIVE
BUILD_S = 1.5
_PARTS = ("databases", "users")


def install(emulation: Emulation) -> None:
    """Install Trove's handlers and two flavors."""
    for number, name in (("1", "db.small"), ("2", "db.large")):
        emulation.add("trove.flavor", id=number, name=name)
    emulation.on_create("trove.instance", _create_instance)
    emulation.on_create("trove.cluster", _create_cluster)
    handlers = (
        ("DELETE", "/instances/{id}", _delete_instance),
        ("DELETE", "/clusters/{id}", _delete_cluster),
        ("GET", "/instances/{id}/{part}", _list_parts),
        ("POST", "/instances/{id}/{part}", _add_parts),
        ("DELETE", "/instances/{id}/{part}/{name}", _delete_part),
        ("POST", "/instances/{id}/action", _resize),
        ("PUT", "/instances/{id}/users/{name}", _change_user),
        ("PUT", "/instances/{id}/users/{name}/databases", _grant),
        ("DELETE", "/instances/{id}/users/{name}/databases/{database}", _revoke),
    )
    emulation.add_handlers("database", handlers)


def _busy(emulation: Emulation, item: EmulatedResource, status: str) -> None:
    item.body["status"] = status
    item.scheduled_changes = [(emulation.now_s + BUILD_S, {"status": HEALTHY})]


def _create_instance(emulation: Emulation, item: EmulatedResource) -> None:
    body = item.body
    if [] in body.values():
        raise EmulatedError(400, "Validation error: [] is too short")
    body["flavor"] = {"id": body.pop("flavorRef")}
    body["hostname"] = f"{body['id']}.db.invalid"
    body["links"] = [{"rel": "self", "href": f"http://cloud.invalid/instances/{body['id']}"}]
    for part in _PARTS:
        body.setdefault(part, [])
    _busy(emulation, item, "BUILD")


def _instance(emulation: Emulation, request: EmulatedRequest) -> EmulatedResource:
    return emulation.get_existing("trove.instance", request.path_parameters["id"])


def _resize(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _instance(emulation, request)
    if item.body["status"] != HEALTHY:
        raise EmulatedError(422, "Instance is not ready.")
    resize = request.body["resize"]
    if "volume" in resize:
        item.body["volume"] = dict(resize["volume"])
    else:
        item.body["flavor"] = {"id": resize["flavorRef"]}
    _busy(emulation, item, "RESIZE")
    return EmulatedResponse(202)


def _delete_instance(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _instance(emulation, request)
    item.body["status"] = "SHUTDOWN"
    item.scheduled_changes = [(emulation.now_s + BUILD_S, None)]
    return EmulatedResponse(202)


def _part_name(request: EmulatedRequest) -> str:
    part = request.path_parameters["part"]
    if part not in _PARTS:
        raise EmulatedError(404, f"no such path: {request.path}")
    return part


def _list_parts(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    part = _part_name(request)
    hidden = ("password", "character_set", "collate")
    shown = [
        {key: value for key, value in each.items() if key not in hidden}
        for each in _instance(emulation, request).body[part]
    ]
    return EmulatedResponse(200, {part: shown})


def _add_parts(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    part, body = _part_name(request), _instance(emulation, request).body
    names = {each["name"] for each in body[part]}
    if any(each["name"] in names for each in request.body[part]):
        raise EmulatedError(400, f"{part} exist already")
    body[part] = [*body[part], *request.body[part]]
    return EmulatedResponse(202)


def _delete_part(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    part, body = _part_name(request), _instance(emulation, request).body
    body[part] = [each for each in body[part] if each["name"] != request.path_parameters["name"]]
    return EmulatedResponse(202)


def _user(emulation: Emulation, request: EmulatedRequest) -> dict[str, Json]:
    users: list[dict[str, Json]] = _instance(emulation, request).body["users"]
    for user in users:
        if user["name"] == request.path_parameters["name"]:
            return user
    raise EmulatedError(404, "User could not be found.")


def _change_user(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    _user(emulation, request).update(request.body["user"])
    return EmulatedResponse(202)


def _grant(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    user = _user(emulation, request)
    user["databases"] = [*user["databases"], *request.body["databases"]]
    return EmulatedResponse(202)


def _revoke(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    user, name = _user(emulation, request), request.path_parameters["database"]
    user["databases"] = [each for each in user["databases"] if each["name"] != name]
    return EmulatedResponse(202)


def _create_cluster(emulation: Emulation, item: EmulatedResource) -> None:
    members = [
        {"id": f"{item.body['id']}-{number}", "status": "BUILD", "volume": each["volume"]}
        for number, each in enumerate(item.body["instances"])
    ]
    item.body.update(instances=members, ip=["192.0.2.20"], task={"name": "BUILDING"})
    ready = {
        "instances": [{**each, "status": HEALTHY} for each in members],
        "task": {"name": "NONE"},
    }
    item.scheduled_changes = [(emulation.now_s + BUILD_S, ready)]


def _delete_cluster(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("trove.cluster", request.path_parameters["id"])
    if item.body["task"]["name"] != "NONE":
        raise EmulatedError(422, "Cluster is not ready.")
    item.body["task"] = {"name": "DELETING"}
    item.scheduled_changes = [(emulation.now_s + BUILD_S, None)]
    return EmulatedResponse(202)
