"""Containers of Swift, which are emptied before they are deleted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heat_convergence.common.failures import Conflict
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.testing.openstack.storage.swift_api import PAGE_SIZE
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

CONTAINER = "OS::Swift::Container"
PROPERTIES = {"name": "box", "PurgeOnDelete": True}


def test_container_of_several_pages_is_emptied_and_deleted() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(CONTAINER, PROPERTIES)
    (body,) = cloud.emulation.collection("swift.container").bodies()
    body["objects"] = [f"object {number:04}" for number in range(2 * PAGE_SIZE + 1)]
    deleted = TYPES[CONTAINER].delete(replace(context, action=Action.DELETE))
    assert deleted.observed is ObservedState.ABSENT
    assert not cloud.emulation.collection("swift.container").bodies()


def test_container_with_an_expired_object_is_not_taken_for_deleted() -> None:
    cloud = EmulatedCloud()
    context = cloud.created(CONTAINER, PROPERTIES)
    (body,) = cloud.emulation.collection("swift.container").bodies()
    body.update(objects=["expired", "kept"], expired=["expired"])
    with pytest.raises(Conflict):
        TYPES[CONTAINER].delete(replace(context, action=Action.DELETE))
    assert body["objects"] == ["expired"]
    body["objects"].remove("expired")  # as the service's expirer does some time later
    deleted = TYPES[CONTAINER].delete(replace(context, action=Action.DELETE))
    assert deleted.observed is ObservedState.ABSENT
