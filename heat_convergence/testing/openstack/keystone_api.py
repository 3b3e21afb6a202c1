"""Keystone: names that are unique, grants, memberships, domains that must be off."""

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
    emulation.add("keystone.domain", id="default", name="Default")
    for role in ("member", "reader", "admin"):
        emulation.add("keystone.role", name=role)
    emulation.on_create("keystone.project", _project)
    for method, rule in (("PUT", _grant), ("HEAD", _has), ("DELETE", _revoke)):
        for where in ("project", "domain"):
            for who in ("user", "group"):
                path = f"/{where}s/{{place}}/{who}s/{{holder}}/roles/{{role}}"
                emulation.add_handler("identity", method, path, rule)
        emulation.add_handler("identity", method, "/groups/{place}/users/{holder}", rule)
    emulation.add_handler("identity", "DELETE", "/domains/{id}", _delete_domain)


def _project(emulation: Emulation, item: EmulatedResource) -> None:
    named = emulation.collection("keystone.project").list_page({"name": [item.body["name"]]})[0]
    if len(named) > 1:
        raise EmulatedError(409, "Conflict occurred attempting to store project", "Conflict")


def _grant(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("grants").add({"id": asked.path})
    return EmulatedResponse(204)


def _has(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    return EmulatedResponse(204 if emulation.collection("grants").get(asked.path) else 404)


def _revoke(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    emulation.collection("grants").remove(asked.path)
    return EmulatedResponse(204)


def _delete_domain(emulation: Emulation, asked: EmulatedRequest) -> EmulatedResponse:
    domain_id = asked.path_parameters["id"]
    if emulation.get_existing("keystone.domain", domain_id).body.get("enabled", True):
        raise EmulatedError(403, "Cannot delete a domain that is enabled")
    emulation.collection("keystone.domain").remove(domain_id)
    return EmulatedResponse(204)
