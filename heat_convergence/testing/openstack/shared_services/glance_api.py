"""Glance's API: imports, JSON patches and members of images."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    PROJECT_ID,
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
IMPORT_TIME_S = 2.0


def install(emulation: Emulation) -> None:
    """Install Glance's handlers and images."""
    for name in ("cirros", "cirros-2"):
        emulation.add("glance.image", name=name, status="active")
    emulation.on_create("glance.image", _image)
    handlers = (
        ("PATCH", "/images/{id}", _patch),
        ("DELETE", "/images/{id}", _delete),
        ("POST", "/images/{id}/import", _start_import),
        ("POST", "/images/{id}/actions/{verb}", _run_action),
        ("GET", "/images/{id}/members", _list_members),
        ("POST", "/images/{id}/members", _add_member),
        ("DELETE", "/images/{id}/members/{member}", _delete_member),
    )
    emulation.add_handlers("image", handlers)


def _image(emulation: Emulation, item: EmulatedResource) -> None:
    if item.body.get("location"):
        emulation.collection("glance.image").remove(item.body["id"])
        raise EmulatedError(403, "Attribute 'location' is reserved.")
    item.body.update(status="queued", owner=PROJECT_ID)


def _image_body(emulation: Emulation, request: EmulatedRequest) -> dict[str, Json]:
    return emulation.get_existing("glance.image", request.path_parameters["id"]).body


def _start_import(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("glance.image", request.path_parameters["id"])
    if item.body["status"] != "queued":
        raise EmulatedError(409, f"Image {item.body['id']} is not queued")
    item.body["status"] = "importing"
    item.scheduled_changes = [(emulation.now_s + IMPORT_TIME_S, {"status": "active"})]
    return EmulatedResponse(202)


def _patch(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _image_body(emulation, request)
    for change in request.body:
        name = change["path"].removeprefix("/")
        if (change["op"] != "add") is not (name in body):
            raise EmulatedError(409, f"{change['op']} of {name}")
        if change["op"] == "remove":
            del body[name]
        else:
            body[name] = change["value"]
    return EmulatedResponse(200, body)


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    if _image_body(emulation, request).get("protected"):
        raise EmulatedError(
            403, f"Image {request.path_parameters['id']} is protected and cannot be deleted."
        )
    emulation.collection("glance.image").remove(request.path_parameters["id"])
    return EmulatedResponse(204)


def _run_action(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    status = {"deactivate": "deactivated", "reactivate": "active"}[request.path_parameters["verb"]]
    _image_body(emulation, request)["status"] = status
    return EmulatedResponse(204)


def _list_members(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    current = _image_body(emulation, request).get("members", ())
    return EmulatedResponse(200, {"members": [{"member_id": member} for member in current]})


def _add_member(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _image_body(emulation, request)
    if body.get("visibility") != "shared":
        raise EmulatedError(403, "Only shared images have members.")
    body["members"] = [*body.get("members", ()), request.body["member"]]
    return EmulatedResponse(200, {"member_id": request.body["member"]})


def _delete_member(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = _image_body(emulation, request)
    if request.path_parameters["member"] not in body.get("members", ()):
        raise EmulatedError(404, "no such member")
    body["members"] = [one for one in body["members"] if one != request.path_parameters["member"]]
    return EmulatedResponse(204)
