"""Octavia: one change at a time below a load balancer, each in the service's own time."""

from __future__ import annotations

from typing import Any

from heat_convergence.resources.catalog import octavia
from heat_convergence.testing.openstack.emulation import (
    Asked,
    Emulation,
    Refusal,
    Told,
)
from heat_convergence.testing.openstack.shelf import Item

Json = Any
CHANGING_S = 1.5


def install(emulation: Emulation) -> None:
    for thing in octavia.THINGS:
        emulation.made(thing.noun, _provisioning)
    emulation.rule("load_balancer", "POST", "/lbaas/listeners", _guarded)
    emulation.rule("load_balancer", "PUT", "/lbaas/quotas/{id}", _set_quota)
    emulation.rule("load_balancer", "DELETE", "/lbaas/quotas/{id}", _no_quota)


def _provisioning(emulation: Emulation, item: Item) -> None:
    item.body["provisioning_status"] = "PENDING_CREATE"
    item.coming = [(emulation.now_s + CHANGING_S, {"provisioning_status": "ACTIVE"})]


def _guarded(emulation: Emulation, asked: Asked) -> Told:
    given = dict(asked.body["listener"])
    parent = emulation.existing("octavia.loadbalancer", given["loadbalancer_id"]).body
    if parent["provisioning_status"] != "ACTIVE":
        raise Refusal(409, f"Load Balancer {parent['id']} is immutable and cannot be updated.")
    item = emulation.shelf("octavia.listener").add(given)
    _provisioning(emulation, item)
    return Told(201, {"listener": item.body})


def _set_quota(emulation: Emulation, asked: Asked) -> Told:
    shelf, project_id = emulation.shelf("octavia.quota"), asked.places["id"]
    item = shelf.get(project_id) or shelf.add({"id": project_id})
    item.body.update(asked.body["quota"])
    return Told(200, {"quota": item.body})


def _no_quota(emulation: Emulation, asked: Asked) -> Told:
    emulation.shelf("octavia.quota").remove(asked.places["id"])
    return Told(204)
