"""Texts of errors and status reasons that tests and tools of Heat's users match."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ResourceGone, ServiceRejection
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition
from tests.functional.scripted_type import ScriptedType, resource

Json = Any
FILE = "file:///t/provider.yaml"
GROUP = "OS::Heat::ResourceGroup"


@pytest.fixture
def scripted() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def heat(tmp_path: Any, scripted: ScriptedType) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(scripted,))
    yield ProjectClient(service)
    service.close()


def refusal(heat: ProjectClient, template: Json, inner: Json) -> str:
    body = {"stack_name": "bad", "template": template, "files": {FILE: json.dumps(inner)}}
    response = heat.send("POST", "/stacks", body)
    assert response.status_int == 400, response.text
    return str(response.json["error"]["message"])


def test_invalid_value_in_a_group_s_member_has_the_path_through_all_templates(
    heat: ProjectClient,
) -> None:
    inner = hot_template(
        {"x": {"type": "OS::Heat::RandomString", "properties": {"length": {"get_param": "n"}}}},
        parameters={"n": {"type": "string"}},
    )
    member = {"type": FILE, "properties": {"n": "BAD"}}
    group = {"type": GROUP, "properties": {"count": 1, "resource_def": member}}
    assert refusal(heat, hot_template({"group": group}), inner).startswith(
        f"ValueError: : resources.group<nested_stack>.resources.0<{FILE}>.resources.x: :"
        " Value 'BAD' is not an integer"
    )


def test_failure_in_a_nested_stack_keeps_its_class_and_names_the_path(heat: ProjectClient) -> None:
    inner = hot_template({"b": resource_definition(fail=True)})
    heat.create("s", hot_template({"a": {"type": FILE}}), files={FILE: json.dumps(inner)})
    assert heat.stack("s")["stack_status_reason"] == (
        "Resource CREATE failed: ValueError: resources.a.resources.b: Test Resource failed b"
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ServiceRejection("Bad port request: no", "BadRequest"),
            "BadRequest: resources.a.resources.b: Bad port request: no",
        ),
        (ResourceGone("No server s"), "NotFound: resources.a.resources.b: No server s"),
    ],
)
def test_error_of_a_service_in_a_nested_stack_keeps_its_class(
    heat: ProjectClient, scripted: ScriptedType, error: Error, reason: str
) -> None:
    def refuse() -> Json:
        raise error

    scripted.fail("create", "b", refuse)
    inner = json.dumps(hot_template({"b": resource()}))
    heat.create("s", hot_template({"a": {"type": FILE}}), files={FILE: inner})
    assert heat.stack("s")["stack_status_reason"] == f"Resource CREATE failed: {reason}"


def test_failed_check_names_resources_that_cannot_be_checked(
    heat: ProjectClient, scripted: ScriptedType
) -> None:
    heat.create(
        "s", hot_template({"checked": resource(), "other": {"type": "OS::Heat::RandomString"}})
    )
    scripted.fail("check", "checked", lambda: ResourceGone("No server s"))
    heat.perform_action("s", "check")
    stack = heat.stack("s")
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "CHECK_FAILED",
        "Resource CHECK failed: NotFound: resources.checked: No server s."
        " 'CHECK' not fully supported (see resources)",
    )


def test_changed_external_id_fails_the_update(heat: ProjectClient) -> None:
    def external(physical_id: str) -> Json:
        return hot_template({"r": {**resource(), "external_id": physical_id}})

    heat.create("s", external("one"))
    heat.update("s", external("two"))
    assert heat.status("s") == "UPDATE_FAILED"
    assert "external_id" in heat.stack("s")["stack_status_reason"]
