"""Barbican's API: references instead of ids, payloads apart from secrets, orders of keys."""

from __future__ import annotations

import base64
from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedHandler,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
GENERATION_S = 1.5
ENDPOINT = "http://cloud.invalid/key-manager/v1"
DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE = 10, 100
_PAYLOAD = "payload"
_SERVICE = "key_manager"


def install(emulation: Emulation) -> None:
    """Install Barbican's handlers."""
    for entity, creator in (
        ("secret", _create_secret),
        ("order", _create_order),
        ("container", _create_container),
    ):
        emulation.add_handler(_SERVICE, "POST", f"/{entity}s", creator)
        emulation.add_handler(_SERVICE, "GET", f"/{entity}s", _lister(entity))
        emulation.add_handler(_SERVICE, "GET", f"/{entity}s/{{id}}", _reader(entity))
    emulation.add_handler(_SERVICE, "GET", "/secrets/{id}/payload", _read_payload)


def _add(emulation: Emulation, entity: str, body: dict[str, Json]) -> EmulatedResource:
    item = emulation.collection(f"barbican.{entity}").add(body)
    item_id = item.body[f"{entity}_ref"]
    item.body[f"{entity}_ref"] = f"{ENDPOINT}/{entity}s/{item_id}"
    return item


def _reference(item: EmulatedResource, entity: str, status: int = 201) -> EmulatedResponse:
    return EmulatedResponse(status, {f"{entity}_ref": item.body[f"{entity}_ref"]})


def _create_secret(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = dict(request.body)
    if (body.get(_PAYLOAD) is None) is not (body.get("payload_content_type") is None):
        raise EmulatedError(400, "payload and payload_content_type go together.")
    if body.get("payload_content_encoding") == "base64":
        body[_PAYLOAD] = base64.b64decode(body[_PAYLOAD]).decode("latin-1")
    content_types = {"default": body.pop("payload_content_type", None)}
    item = _add(emulation, "secret", {**body, "status": "ACTIVE", "content_types": content_types})
    return _reference(item, "secret")


def _create_order(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    meta = request.body["meta"]
    if not meta.get("algorithm") or not meta.get("bit_length"):
        raise EmulatedError(400, "'bit_length' and 'algorithm' are required fields")
    item = _add(emulation, "order", {**request.body, "status": "PENDING"})
    changes: dict[str, Json] = {"status": "ACTIVE"}
    if request.body["type"] == "key":
        changes["secret_ref"] = _generate(emulation, "key")["secret_ref"]
    else:
        keys = [_generate(emulation, name) for name in ("private_key", "public_key")]
        container = _add(emulation, "container", {"type": "rsa", "secret_refs": keys})
        changes["container_ref"] = container.body["container_ref"]
    item.scheduled_changes = [(emulation.now_s + GENERATION_S, changes)]
    return _reference(item, "order", 202)


def _generate(emulation: Emulation, name: str) -> dict[str, Json]:
    secret = {"name": f"generated {name}", "status": "ACTIVE", _PAYLOAD: f"a new {name}"}
    item = _add(emulation, "secret", {**secret, "content_types": {"default": "text/plain"}})
    return {"name": name, "secret_ref": item.body["secret_ref"]}


def _create_container(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    references = [each["secret_ref"] for each in request.body["secret_refs"]]
    if len(set(references)) < len(references):
        raise EmulatedError(400, "Duplicate reference ids are not allowed")
    for reference in references:
        emulation.get_existing("barbican.secret", reference.rpartition("/")[2])
    body = {**request.body, "status": "ACTIVE", "consumers": []}
    return _reference(_add(emulation, "container", body), "container")


def _lister(entity: str) -> EmulatedHandler:
    """Return a handler that lists a page, of ten objects unless another limit is given."""

    def handle(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
        query = dict(request.query)
        limit = min(int(query.pop("limit", [DEFAULT_PAGE_SIZE])[0]), MAX_PAGE_SIZE)
        offset = int(query.pop("offset", ["0"])[0])
        bodies, _ = emulation.collection(f"barbican.{entity}").list_page(query)
        body: dict[str, Json] = {
            f"{entity}s": [_without_payload(each) for each in bodies[offset : offset + limit]],
            "total": len(bodies),
        }
        if offset + limit < len(bodies):
            body["next"] = f"{ENDPOINT}/{entity}s?limit={limit}&offset={offset + limit}"
        return EmulatedResponse(200, body)

    return handle


def _reader(entity: str) -> EmulatedHandler:
    def handle(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
        item = emulation.get_existing(f"barbican.{entity}", request.path_parameters["id"])
        return EmulatedResponse(200, _without_payload(item.body))

    return handle


def _without_payload(body: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in body.items() if name != _PAYLOAD}


def _read_payload(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    body = emulation.get_existing("barbican.secret", request.path_parameters["id"]).body
    if body.get(_PAYLOAD) is None:
        raise EmulatedError(404, "Not Found. Sorry but your secret has no payload.")
    return EmulatedResponse(200, text=str(body[_PAYLOAD]))
