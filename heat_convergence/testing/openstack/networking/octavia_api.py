"""Octavia's API: a load balancer refuses a change while another one is in progress."""

from __future__ import annotations

from functools import partial
from typing import Any

from heat_convergence.resources.catalog.networking.octavia import OCTAVIA
from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any
PROVISIONING_S = 1.5


def install(emulation: Emulation) -> None:
    """Install Octavia's handlers."""
    for entity in OCTAVIA.rest_resources:
        emulation.on_create(entity, _provisioning)
    for entity, parent in (("octavia.pool", "listener_id"), ("octavia.healthmonitor", "pool_id")):
        emulation.on_create(entity, partial(_only_one, entity, parent))
    for entity in ("octavia.flavorprofile", "octavia.availabilityzoneprofile"):
        emulation.on_create(entity, _require_provider)
    emulation.add_handler("load_balancer", "POST", "/lbaas/listeners", _create_listener)
    emulation.add_handler("load_balancer", "PUT", "/lbaas/quotas/{id}", _set_quota)
    emulation.add_handler("load_balancer", "DELETE", "/lbaas/quotas/{id}", _delete_quota)


def _provisioning(emulation: Emulation, item: EmulatedResource) -> None:
    item.body["provisioning_status"] = "PENDING_CREATE"
    item.scheduled_changes = [
        (emulation.now_s + PROVISIONING_S, {"provisioning_status": "ACTIVE"})
    ]


def _only_one(entity: str, parent: str, emulation: Emulation, item: EmulatedResource) -> None:
    """Refuse a second default pool of a listener, and a second health monitor of a pool."""
    collection, parent_id = emulation.collection(entity), item.body.get(parent)
    if parent_id and [each.get(parent) for each in collection.bodies()].count(parent_id) > 1:
        collection.remove(item.body["id"])
        raise EmulatedError(409, f"{parent} {parent_id} already has one of {entity}")
    _provisioning(emulation, item)


def _require_provider(emulation: Emulation, item: EmulatedResource) -> None:
    if not item.body.get("provider_name"):
        raise EmulatedError(400, "Invalid input for field/attribute provider_name.")


def _create_listener(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    listener = dict(request.body["listener"])
    parent = emulation.get_existing("octavia.loadbalancer", listener["loadbalancer_id"]).body
    if parent["provisioning_status"] != "ACTIVE":
        raise EmulatedError(
            409, f"Load Balancer {parent['id']} is immutable and cannot be updated."
        )
    item = emulation.collection("octavia.listener").add(listener)
    _provisioning(emulation, item)
    return EmulatedResponse(201, {"listener": item.body})


def _set_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    collection, project_id = emulation.collection("octavia.quota"), request.path_parameters["id"]
    item = collection.get(project_id) or collection.add({"id": project_id})
    item.body.update(request.body["quota"])
    return EmulatedResponse(200, {"quota": item.body})


def _delete_quota(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("octavia.quota").remove(request.path_parameters["id"])
    return EmulatedResponse(204)
