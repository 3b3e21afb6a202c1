"""Servers that others have stopped: updates end, and start nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.openstack_types.emulated_service import (
    create_stack,
    physical_id,
    port,
    server,
    stack_state,
    template,
)

Json = Any
UPDATE = {"template": template(port=port(), server=server(metadata={"a": "b"}))}


def stop(cloud: Any, server_id: str, status: str) -> Json:
    body: Json = cloud.emulation.collection("nova.server").get(server_id).body
    body["status"] = status
    return body


@pytest.mark.parametrize("status", ["SHUTOFF", "PAUSED", "SUSPENDED", "RESCUE", "SHELVED"])
def test_update_of_a_stopped_server_ends(service, emulated_cloud, status):
    path = create_stack(service, template(port=port(), server=server()))
    key = physical_id(service, path, "server")
    body = stop(emulated_cloud, key, status)
    service.send("PUT", path, UPDATE)
    assert stack_state(service, path) == "UPDATE_COMPLETE"
    assert (body["status"], body["metadata"]["a"]) == (status, "b")
    assert physical_id(service, path, "server") == key


def test_update_waits_while_nova_works_on_the_server(service, emulated_cloud):
    path = create_stack(service, template(port=port(), server=server()))
    body = stop(emulated_cloud, physical_id(service, path, "server"), "SHUTOFF")
    body["OS-EXT-STS:task_state"] = "powering-on"
    service.send("PUT", path, UPDATE, leave_pending=True)
    while body["metadata"].get("a") != "b":
        assert service.handle_next()
    shown = service.send("GET", path, leave_pending=True).json["stack"]
    assert shown["stack_status"] == "UPDATE_IN_PROGRESS"
    body["OS-EXT-STS:task_state"] = None
    service.run_until_idle()
    assert stack_state(service, path) == "UPDATE_COMPLETE"
