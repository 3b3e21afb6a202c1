"""Swift: containers, all of whose facts are headers."""

from __future__ import annotations

from heat_convergence.testing.openstack.emulation import Asked, Emulation, Refusal, Told


def install(emulation: Emulation) -> None:
    for method, rule in (("PUT", _put), ("HEAD", _head), ("GET", _list), ("DELETE", _delete)):
        emulation.rule("object_store", method, "/{name}", rule)
    emulation.rule("object_store", "POST", "/", _account)
    emulation.rule("object_store", "DELETE", "/{name}/{object}", _delete_object)


def _put(emulation: Emulation, asked: Asked) -> Told:
    shelf, name = emulation.shelf("swift.container"), asked.places["name"]
    if shelf.get(name) is None:
        shelf.add({"name": name, "objects": ["one"]})
    return Told(201)


def _account(emulation: Emulation, asked: Asked) -> Told:
    return Told(204)


def _head(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("swift.container", asked.places["name"]).body
    return Told(204, None, {"X-Container-Object-Count": str(len(body["objects"]))})


def _list(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("swift.container", asked.places["name"]).body
    return Told(200, [{"name": name} for name in body["objects"]])


def _delete(emulation: Emulation, asked: Asked) -> Told:
    name = asked.places["name"]
    if emulation.existing("swift.container", name).body["objects"]:
        raise Refusal(409, "There was a conflict when trying to complete your request.")
    emulation.shelf("swift.container").remove(name)
    return Told(204)


def _delete_object(emulation: Emulation, asked: Asked) -> Told:
    body = emulation.existing("swift.container", asked.places["name"]).body
    body["objects"].remove(asked.places["object"])
    return Told(204)
