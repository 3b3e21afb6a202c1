"""Swift's API: containers, whose fields are headers."""

from __future__ import annotations

import hashlib
import json

from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

_STORED_HEADERS = ("x-container-read", "x-container-write", "x-container-meta-")
PAGE_SIZE = 100  # a hundredth of the default


def install(emulation: Emulation) -> None:
    """Install Swift's handlers."""
    for method, handler in (("PUT", _put), ("HEAD", _head), ("GET", _list), ("DELETE", _delete)):
        emulation.add_handler("object_store", method, "/{name}", handler)
    emulation.add_handler("object_store", "POST", "/", _account)
    emulation.add_handler("object_store", "HEAD", "/", _show_account)
    objects = (("PUT", _put_object), ("GET", _get_object), ("HEAD", _get_object))
    for method, handler in (*objects, ("DELETE", _delete_object)):
        emulation.add_handler("object_store", method, "/{name}/{object}", handler)


def _put(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, name = emulation.collection("swift.container"), request.path_parameters["name"]
    if collection.get(name) is None:
        collection.add({"name": name, "objects": ["one"], "headers": {}})
    headers = emulation.get_existing("swift.container", name).body.setdefault("headers", {})
    headers.update(
        {
            key.lower(): value
            for key, value in request.headers.items()
            if key.lower().startswith(_STORED_HEADERS)
        }
    )
    return EmulatedResponse(201)


def _account(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(204)


def _show_account(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(204, None, {"X-Account-Meta-Temp-Url-Key": "account-key"})


def _put_object(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Store an object; what it was before becomes a version of it."""
    container, name = request.path_parameters["name"], request.path_parameters["object"]
    body = emulation.get_existing("swift.container", container).body
    texts = body.setdefault("texts", {})
    if name in texts:
        version = f"{len(name):03x}{name}-{len(texts)}"
        texts[version] = texts[name]
        body["objects"].append(version)
    else:
        body["objects"].append(name)
    is_text = isinstance(request.body, str)
    texts[name] = request.body if is_text else json.dumps(request.body or {})
    return EmulatedResponse(201)


def _get_object(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    container, name = request.path_parameters["name"], request.path_parameters["object"]
    texts = emulation.get_existing("swift.container", container).body.get("texts", {})
    if name not in texts:
        raise EmulatedError(404, "There is no such object.")
    return EmulatedResponse(200, text=texts[name])


def _head(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    count = {"X-Container-Object-Count": str(len(body["objects"]))}
    return EmulatedResponse(204, None, {**count, **body.get("headers", {})})


def _list(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    texts = body.get("texts", {})
    listed = [
        {
            "name": name,
            "hash": hashlib.sha256(name.encode()).hexdigest(),
            "bytes": len(texts.get(name, "")),
        }
        for name in sorted(body["objects"])
        if name > request.query.get("marker", [""])[0]
    ]
    return EmulatedResponse(200, listed[:PAGE_SIZE])


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    name = request.path_parameters["name"]
    if emulation.get_existing("swift.container", name).body["objects"]:
        raise EmulatedError(409, "There was a conflict when trying to complete your request.")
    emulation.collection("swift.container").remove(name)
    return EmulatedResponse(204)


def _delete_object(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("swift.container", request.path_parameters["name"]).body
    name = request.path_parameters["object"]
    if name not in body["objects"] or name in body.get("expired", ()):
        raise EmulatedError(404, "There is no such object.")
    body["objects"].remove(name)
    body.get("texts", {}).pop(name, None)
    return EmulatedResponse(204)
