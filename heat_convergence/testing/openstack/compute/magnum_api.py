"""Magnum's API: clusters that take time, and responses with nothing but a UUID."""

from __future__ import annotations

from heat_convergence.testing.openstack.compute.json_patches import apply_patch
from heat_convergence.testing.openstack.emulation import (
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

DEPLOYMENT_S = 1.5
_SERVICE = "container_infrastructure_management"


def install(emulation: Emulation) -> None:
    """Install Magnum's handlers."""
    handlers = (
        ("POST", "/clusters", _create_cluster),
        ("PATCH", "/clusters/{id}", _update_cluster),
        ("DELETE", "/clusters/{id}", _delete_cluster),
        ("PATCH", "/clustertemplates/{id}", _update_template),
    )
    emulation.add_handlers(_SERVICE, handlers)


def _create_cluster(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.get_existing("magnum.cluster_template", request.body["cluster_template_id"])
    body = {"status": "CREATE_IN_PROGRESS", "master_addresses": [], **request.body}
    item = emulation.collection("magnum.cluster").add(body)
    ready = {"status": "CREATE_COMPLETE", "api_address": "https://192.0.2.10:6443"}
    item.scheduled_changes = [(emulation.now_s + DEPLOYMENT_S, ready)]
    return EmulatedResponse(202, {"uuid": item.body["uuid"]})


def _update_cluster(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    """Change the cluster a moment after the response, which still shows the last action."""
    item = emulation.get_existing("magnum.cluster", request.path_parameters["id"])
    changed = dict(item.body)
    apply_patch(changed, request.body)
    now_s = emulation.now_s
    item.scheduled_changes = [
        (now_s + DEPLOYMENT_S, {**changed, "status": "UPDATE_IN_PROGRESS"}),
        (now_s + 2 * DEPLOYMENT_S, {"status": "UPDATE_COMPLETE"}),
    ]
    return EmulatedResponse(202, {"uuid": item.body["uuid"]})


def _delete_cluster(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("magnum.cluster", request.path_parameters["id"])
    item.body["status"] = "DELETE_IN_PROGRESS"
    item.scheduled_changes = [(emulation.now_s + DEPLOYMENT_S, None)]
    return EmulatedResponse(204)


def _update_template(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    item = emulation.get_existing("magnum.cluster_template", request.path_parameters["id"])
    apply_patch(item.body, request.body)
    return EmulatedResponse(200, item.body)
