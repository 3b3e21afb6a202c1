"""Glance: images that fetch themselves, their documents patched, their members."""

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
    for name in ("cirros", "cirros-2"):
        emulation.add("glance.image", name=name, status="active")
    emulation.on_create("glance.image", _image)
    rules = (
        ("PATCH", "/images/{id}", _patch),
        ("DELETE", "/images/{id}", _delete),
        ("POST", "/images/{id}/import", _import),
        ("POST", "/images/{id}/actions/{verb}", _act),
        ("GET", "/images/{id}/members", _members),
        ("POST", "/images/{id}/members", _add_member),
        ("DELETE", "/images/{id}/members/{member}", _drop_member),
    )
    for method, path, rule in rules:
        emulation.add_handler("image", method, path, rule)


def _image(emulation: Emulation, item: EmulatedResource) -> None:
    if item.body.get("location"):
        emulation.collection("glance.image").remove(item.body["id"])
        raise EmulatedError(403, "Attribute 'location' is reserved.")
    item.body.update(status="queued", owner=PROJECT_ID)


def _body(emulation: Emulation, asked: EmulatedRequest) -> dict[str, Json]:
    return emulation.get_existing("glance.image", asked.path_parameters["id"]).body


def _import(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("glance.image", asked.path_parameters["id"])
    if item.body["status"] != "queued":
        raise EmulatedError(409, f"Image {item.body['id']} is not queued")
    item.body["status"] = "importing"
    item.scheduled_changes = [(emulation.now_s + IMPORT_TIME_S, {"status": "active"})]
    return EmulatedResponse(202)


def _patch(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = _body(emulation, asked)
    for change in asked.body:
        name = change["path"].removeprefix("/")
        if (change["op"] != "add") is not (name in body):
            raise EmulatedError(409, f"{change['op']} of {name}")
        if change["op"] == "remove":
            del body[name]
        else:
            body[name] = change["value"]
    return EmulatedResponse(200, body)


def _delete(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    if _body(emulation, asked).get("protected"):
        raise EmulatedError(
            403, f"Image {asked.path_parameters['id']} is protected and cannot be deleted."
        )
    emulation.collection("glance.image").remove(asked.path_parameters["id"])
    return EmulatedResponse(204)


def _act(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    status = {"deactivate": "deactivated", "reactivate": "active"}[asked.path_parameters["verb"]]
    _body(emulation, asked)["status"] = status
    return EmulatedResponse(204)


def _members(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    there = _body(emulation, asked).get("members", ())
    return EmulatedResponse(200, {"members": [{"member_id": member} for member in there]})


def _add_member(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = _body(emulation, asked)
    if body.get("visibility") != "shared":
        raise EmulatedError(403, "Only shared images have members.")
    body["members"] = [*body.get("members", ()), asked.body["member"]]
    return EmulatedResponse(200, {"member_id": asked.body["member"]})


def _drop_member(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    body = _body(emulation, asked)
    if asked.path_parameters["member"] not in body.get("members", ()):
        raise EmulatedError(404, "no such member")
    body["members"] = [one for one in body["members"] if one != asked.path_parameters["member"]]
    return EmulatedResponse(204)
