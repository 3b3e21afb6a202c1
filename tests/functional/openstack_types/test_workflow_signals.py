"""``OS::Mistral::Workflow``: executions by signals, over the API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service

Json = Any
TEMPLATE = {
    "heat_template_version": "2021-04-16",
    "resources": {
        "flow": {
            "type": "OS::Mistral::Workflow",
            "properties": {
                "type": "direct",
                "input": {"text": "hello", "other": 1},
                "tasks": [{"name": "echo", "action": "std.echo"}],
            },
        }
    },
}


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


def test_signals_execute_the_workflow_and_its_deletion_removes_the_executions(
    emulated_cloud: ClockedEmulation, tmp_path: Path
) -> None:
    service = emulation_service(emulated_cloud, tmp_path)
    stack = service.send("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE})
    path = f"/stacks/s/{stack.json['stack']['id']}"
    signal = f"{path}/resources/flow/signal"
    assert service.send("POST", signal, {"input": {"text": "one"}}).status_int == 200
    assert service.send("POST", signal, {"input": {"text": "two"}}).status_int == 200
    first, second = emulated_cloud.bodies("mistral.execution")
    assert json.loads(first["input"]) == {"text": "one", "other": 1}
    refused = service.send("POST", signal, {"input": {"unknown": 1}})
    assert refused.status_int == 400
    assert "Unknown input unknown" in refused.text
    assert len(emulated_cloud.bodies("mistral.execution")) == 2
    shown = service.send("GET", f"{path}/resources/flow").json["resource"]
    assert shown["resource_status"] == "CREATE_COMPLETE"
    assert second["id"] in service.send("GET", f"{path}/resources/flow/events").text
    service.send("DELETE", path)
    assert emulated_cloud.bodies("mistral.execution") == []
    assert [each["name"] for each in emulated_cloud.bodies("mistral.workflow")] == ["hc-existing"]
