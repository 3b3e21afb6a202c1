"""Designate's API: zones and record sets whose changes reach the name servers a little later."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedCollection, EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
PROPAGATION_S = 1.5


def install(emulation: Emulation) -> None:
    """Install Designate's handlers."""
    emulation.on_create("designate.zone", _create_zone)
    emulation.on_create("designate.recordset", _create_record_set)
    for path in ("/zones/{id}", "/zones/{zone_id}/recordsets/{id}"):
        for method, handler in (("PATCH", _update), ("PUT", _update), ("DELETE", _delete)):
            emulation.add_handler("dns", method, path, handler)


def _create_zone(emulation: Emulation, item: EmulatedResource) -> None:
    _require_content(item.body)
    item.body.update(serial=1_700_000_000, masters=item.body.get("masters", []))
    _propagate(emulation, item)


def _create_record_set(emulation: Emulation, item: EmulatedResource) -> None:
    _require_content(item.body)
    _propagate(emulation, item)


def _require_content(body: dict[str, Json]) -> None:
    if not str(body.get("name")).endswith("."):
        raise EmulatedError(400, "Provided object does not match schema: name is not a 'domain'")
    for name in ("email", "description", "records", "masters"):
        if body.get(name) in ("", []):
            raise EmulatedError(400, f"Provided object does not match schema: {name} is empty")


def _propagate(emulation: Emulation, item: EmulatedResource) -> None:
    item.body["status"] = "PENDING"
    item.scheduled_changes = [(emulation.now_s + PROPAGATION_S, {"status": "ACTIVE"})]


def _collection(emulation: Emulation, request: EmulatedRequest) -> EmulatedCollection:
    zone_id = request.path_parameters.get("zone_id")
    if zone_id is None:
        return emulation.collection("designate.zone")
    return emulation.collection("designate.recordset", {"zone_id": zone_id})


def _existing(emulation: Emulation, request: EmulatedRequest) -> EmulatedResource:
    item = _collection(emulation, request).get(request.path_parameters["id"])
    if item is None:
        raise EmulatedError(404, f"Could not find {request.path}")
    return item


def _update(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _existing(emulation, request)
    item.body.update(request.body)
    _require_content({"name": item.body["name"], **request.body})
    _propagate(emulation, item)
    return EmulatedResponse(202, item.body)


def _delete(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = _existing(emulation, request)
    item.body["status"] = "PENDING"
    item.scheduled_changes = [(emulation.now_s + PROPAGATION_S, None)]
    return EmulatedResponse(202, item.body)
