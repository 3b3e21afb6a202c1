"""Keystone: names that are unique, grants, memberships, domains that must be off."""

from __future__ import annotations

from typing import Any

from heat_convergence.testing.openstack.emulation import Asked, Emulation, Refusal, Told
from heat_convergence.testing.openstack.shelf import Item

Json = Any


def install(emulation: Emulation) -> None:
    emulation.add("keystone.domain", id="default", name="Default")
    for role in ("member", "reader", "admin"):
        emulation.add("keystone.role", name=role)
    emulation.made("keystone.project", _project)
    for method, rule in (("PUT", _grant), ("HEAD", _has), ("DELETE", _revoke)):
        for where in ("project", "domain"):
            for who in ("user", "group"):
                path = f"/{where}s/{{place}}/{who}s/{{holder}}/roles/{{role}}"
                emulation.rule("identity", method, path, rule)
        emulation.rule("identity", method, "/groups/{place}/users/{holder}", rule)
    emulation.rule("identity", "DELETE", "/domains/{id}", _delete_domain)


def _project(emulation: Emulation, item: Item) -> None:
    named = emulation.shelf("keystone.project").listed({"name": [item.body["name"]]})[0]
    if len(named) > 1:
        raise Refusal(409, "Conflict occurred attempting to store project", "Conflict")


def _grant(emulation: Emulation, asked: Asked) -> Told:
    emulation.shelf("grants").add({"id": asked.path})
    return Told(204)


def _has(emulation: Emulation, asked: Asked) -> Told:
    return Told(204 if emulation.shelf("grants").get(asked.path) else 404)


def _revoke(emulation: Emulation, asked: Asked) -> Told:
    emulation.shelf("grants").remove(asked.path)
    return Told(204)


def _delete_domain(emulation: Emulation, asked: Asked) -> Told:
    domain_id = asked.places["id"]
    if emulation.existing("keystone.domain", domain_id).body.get("enabled", True):
        raise Refusal(403, "Cannot delete a domain that is enabled")
    emulation.shelf("keystone.domain").remove(domain_id)
    return Told(204)
