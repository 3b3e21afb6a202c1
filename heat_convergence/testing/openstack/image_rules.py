"""Glance: images that fetch themselves, their documents patched, their members."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.emulation import (
    PROJECT,
    Asked,
    Emulation,
    Refusal,
    Told,
)
from heat_convergence.testing.openstack.shelf import Item

Json = Any
FETCHING_S = 2.0


def install(emulation: Emulation) -> None:
    for name in ("cirros", "cirros-2"):
        emulation.add("glance.image", name=name, status="active")
    emulation.made("glance.image", _image)
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
        emulation.rule("image", method, path, rule)


def _image(emulation: Emulation, item: Item) -> None:
    if item.body.get("location"):
        emulation.shelf("glance.image").remove(item.body["id"])
        raise Refusal(403, "Attribute 'location' is reserved.")
    item.body.update(status="queued", owner=PROJECT)


def _body(emulation: Emulation, asked: Asked) -> dict[str, Json]:
    return emulation.existing("glance.image", asked.places["id"]).body


def _import(emulation: Emulation, asked: Asked) -> Told:
    item = emulation.existing("glance.image", asked.places["id"])
    if item.body["status"] != "queued":
        raise Refusal(409, f"Image {item.body['id']} is not queued")
    item.body["status"] = "importing"
    item.coming = [(emulation.now_s + FETCHING_S, {"status": "active"})]
    return Told(202)


def _patch(emulation: Emulation, asked: Asked) -> Told:
    body = _body(emulation, asked)
    for change in asked.body:
        name = change["path"].removeprefix("/")
        if (change["op"] != "add") is not (name in body):
            raise Refusal(409, f"{change['op']} of {name}")
        if change["op"] == "remove":
            del body[name]
        else:
            body[name] = change["value"]
    return Told(200, body)


def _delete(emulation: Emulation, asked: Asked) -> Told:
    if _body(emulation, asked).get("protected"):
        raise Refusal(403, f"Image {asked.places['id']} is protected and cannot be deleted.")
    emulation.shelf("glance.image").remove(asked.places["id"])
    return Told(204)


def _act(emulation: Emulation, asked: Asked) -> Told:
    status = {"deactivate": "deactivated", "reactivate": "active"}[asked.places["verb"]]
    _body(emulation, asked)["status"] = status
    return Told(204)


def _members(emulation: Emulation, asked: Asked) -> Told:
    there = _body(emulation, asked).get("members", ())
    return Told(200, {"members": [{"member_id": member} for member in there]})


def _add_member(emulation: Emulation, asked: Asked) -> Told:
    body = _body(emulation, asked)
    if body.get("visibility") != "shared":
        raise Refusal(403, "Only shared images have members.")
    body["members"] = [*body.get("members", ()), asked.body["member"]]
    return Told(200, {"member_id": asked.body["member"]})


def _drop_member(emulation: Emulation, asked: Asked) -> Told:
    body = _body(emulation, asked)
    if asked.places["member"] not in body.get("members", ()):
        raise Refusal(404, "no such member")
    body["members"] = [one for one in body["members"] if one != asked.places["member"]]
    return Told(204)
