"""Executions of workflows over the API: by signals, and by updates of external resources."""

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


def external_resource(always_update: Json, **workflows: str) -> Json:
    """Return a template whose object is made by executions of workflows."""
    actions = {name: {"workflow": workflow} for name, workflow in workflows.items()}
    properties = {
        "actions": actions,
        "input": {"text": "hello"},
        "always_update": always_update,
    }
    resources = {
        "it": {"type": "OS::Mistral::ExternalResource", "properties": properties},
        "other": {"type": "OS::Heat::Value", "properties": {"value": {"get_resource": "it"}}},
    }
    parameters = {"always": {"type": "boolean", "default": False}}
    return {**TEMPLATE, "parameters": parameters, "resources": resources}


class Executions:
    """A stack with an external resource, and the workflows that have been executed for it."""

    def __init__(self, cloud: ClockedEmulation, folder: Path) -> None:
        self.cloud = cloud
        self.service = emulation_service(cloud, folder)
        self.path = ""

    def create(self, template: Json, **more: Json) -> None:
        body = {"stack_name": "s", "template": template, **more}
        stack = self.service.send("POST", "/stacks", body)
        assert stack.status_int == 201, stack.text
        self.path = f"/stacks/s/{stack.json['stack']['id']}"

    def update(self, template: Json, method: str = "PUT", **more: Json) -> str:
        """Update the stack; return its status."""
        answer = self.service.send(method, self.path, {"template": template, **more})
        assert answer.status_int == 202, answer.text
        return str(self.service.send("GET", self.path).json["stack"]["stack_status"])

    def names(self) -> list[str]:
        """Return the workflows of the executions, the oldest first."""
        return [each["workflow_name"] for each in self.cloud.bodies("mistral.execution")]

    def physical_id(self) -> str:
        shown = self.service.send("GET", f"{self.path}/resources/it").json["resource"]
        return str(shown["physical_resource_id"])


@pytest.fixture
def executions(emulated_cloud: ClockedEmulation, tmp_path: Path) -> Executions:
    return Executions(emulated_cloud, tmp_path)


@pytest.fixture
def flows(executions: Executions) -> dict[str, str]:
    """Workflows of the actions CREATE, UPDATE and DELETE."""
    for name in ("create", "update", "delete"):
        executions.cloud.emulation.add("mistral.workflow", name=name, tags=[])
    return {name.upper(): name for name in ("create", "update", "delete")}


@pytest.mark.parametrize("always_update", [True, "true", {"get_param": "always"}])
def test_every_update_executes_the_workflow(
    executions: Executions, flows: dict[str, str], always_update: Json
) -> None:
    template = external_resource(always_update, **flows)
    always = {"parameters": {"always": "true"}}
    executions.create(template, **always)
    before = executions.physical_id()
    assert executions.update(template, **always) == "UPDATE_COMPLETE"
    assert executions.names() == ["create", "update"]
    assert executions.update(template, "PATCH", **always) == "UPDATE_COMPLETE"
    assert executions.names() == ["create", "update", "update"]
    assert executions.physical_id() == before
    # Only updates do so.
    for action in ("check", "suspend", "resume"):
        answer = executions.service.send("POST", f"{executions.path}/actions", {action: None})
        assert answer.status_int in (200, 201)
    assert len(executions.names()) == 3
    executions.service.send("DELETE", executions.path)
    assert executions.names() == ["create", "update", "update", "delete"]


@pytest.mark.parametrize(("always_update", "more"), [(True, ["update"]), (False, [])])
def test_update_reaches_the_resource_of_a_nested_stack_without_changes(
    executions: Executions, flows: dict[str, str], always_update: bool, more: list[str]
) -> None:
    """Two levels of nested stacks are in between."""
    files = {"member.yaml": json.dumps(external_resource(always_update, **flows))}
    group = {"type": "OS::Heat::ResourceGroup", "properties": {"resource_def": {"type": "Member"}}}
    template = {**TEMPLATE, "resources": {"group": group}}
    mapped = {"environment": {"resource_registry": {"Member": "member.yaml"}}}
    executions.create(template, files=files, **mapped)
    assert executions.update(template, files=files, **mapped) == "UPDATE_COMPLETE"
    assert executions.names() == ["create", *more]
    assert executions.update(template, files=files, **mapped) == "UPDATE_COMPLETE"
    assert executions.names() == ["create", *more, *more]


@pytest.mark.parametrize("always_update", [False, "false", {"get_param": "always"}])
def test_update_without_change_executes_nothing(
    executions: Executions, flows: dict[str, str], always_update: Json
) -> None:
    template = external_resource(always_update, **flows)
    executions.create(template)
    assert executions.update(template) == "UPDATE_COMPLETE"
    assert executions.names() == ["create"]


def test_failed_resource_is_updated_again(executions: Executions, flows: dict[str, str]) -> None:
    template = external_resource(True, **flows)
    executions.create(template)
    before = executions.physical_id()
    executions.cloud.emulation.inject_failure("POST", "/executions$", 400)
    assert executions.update(template) == "UPDATE_FAILED"
    assert executions.update(template) == "UPDATE_COMPLETE"
    assert executions.physical_id() == before
    assert executions.names() == ["create", "update"]


def test_preview_lists_what_every_update_executes(
    executions: Executions, flows: dict[str, str]
) -> None:
    template = external_resource(True, **flows)
    executions.create(template)
    preview = executions.service.send("PUT", f"{executions.path}/preview", {"template": template})
    changes = preview.json["resource_changes"]
    found = {name: [each["resource_name"] for each in listed] for name, listed in changes.items()}
    assert found == {
        "updated": ["it"],
        "unchanged": ["other"],
        "replaced": [],
        "added": [],
        "deleted": [],
    }
