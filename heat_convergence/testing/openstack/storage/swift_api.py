"""Swift's API: containers, whose fields are headers."""

from __future__ import annotations

from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)


def install(emulation: Emulation) -> None:
    """Install Swift's handlers."""
    for method, handler in (("PUT", _put), ("HEAD", _head), ("GET", _list), ("DELETE", _delete)):
        emulation.add_handler("object_store", method, "/{name}", handler)
    emulation.add_handler("object_store", "POST", "/", _account)
    emulation.add_handler("object_store", "DELETE", "/{name}/{object}", _delete_object)


def _put(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, name = emulation.collection("swift.container"), request.path_parameters["name"]
    if collection.get(name) is None:
        collection.add({"name": name, "objects": ["one"]})
    return EmulatedResponse(201)


def _account(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(204)


def _head(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    return EmulatedResponse(204, None, {"X-Container-Object-Count": str(len(body["objects"]))})


def _list(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    return EmulatedResponse(200, [{"name": name} for name in body["objects"]])


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    name = request.path_parameters["name"]
    if emulation.get_existing("swift.container", name).body["objects"]:
        raise EmulatedError(409, "There was a conflict when trying to complete your request.")
    emulation.collection("swift.container").remove(name)
    return EmulatedResponse(204)


def _delete_object(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    body["objects"].remove(request.path_parameters["object"])
    return EmulatedResponse(204)
