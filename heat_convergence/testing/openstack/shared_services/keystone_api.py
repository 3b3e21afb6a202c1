"""Keystone's API: unique names, role grants, group memberships, enabled domains."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.collection import EmulatedResource
from heat_convergence.testing.openstack.emulation import (
    EmulatedError,
    EmulatedRequest,
    EmulatedResponse,
    Emulation,
)

Json = Any


def install(emulation: Emulation) -> None:
    """Install Keystone's handlers, the default domain and the roles."""
    emulation.add("keystone.domain", id="default", name="Default")
    for role in ("member", "reader", "admin"):
        emulation.add("keystone.role", name=role)
    emulation.on_create("keystone.project", _project)
    for method, handler in (("PUT", _grant), ("HEAD", _check_grant), ("DELETE", _revoke)):
        for scope in ("project", "domain"):
            for assignee in ("user", "group"):
                path = f"/{scope}s/{{scope_id}}/{assignee}s/{{assignee_id}}/roles/{{role_id}}"
                emulation.add_handler("identity", method, path, handler)
        emulation.add_handler("identity", method, "/groups/{group_id}/users/{user_id}", handler)
    emulation.add_handler("identity", "DELETE", "/domains/{id}", _delete_domain)


def _project(emulation: Emulation, item: EmulatedResource) -> None:
    named = emulation.collection("keystone.project").list_page({"name": [item.body["name"]]})[0]
    if len(named) > 1:
        raise EmulatedError(409, "Conflict occurred attempting to store project", "Conflict")


def _grant(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("grants").add({"id": request.path})
    return EmulatedResponse(204)


def _check_grant(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(204 if emulation.collection("grants").get(request.path) else 404)


def _revoke(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("grants").remove(request.path)
    return EmulatedResponse(204)


def _delete_domain(emulation: Emulation, request: EmulatedRequest) -> EmulatedResponse:
    domain_id = request.path_parameters["id"]
    if emulation.get_existing("keystone.domain", domain_id).body.get("enabled", True):
        raise EmulatedError(403, "Cannot delete a domain that is enabled")
    emulation.collection("keystone.domain").remove(domain_id)
    return EmulatedResponse(204)
