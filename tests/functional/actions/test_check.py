"""Check of stacks in which something is missing, with nested stacks and dependents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.common.failures import ResourceFailure
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.scripted_type import ScriptedType, resource

Json = Any
FILE = "file:///t/child.yaml"
CHILD = {
    "missing": resource(),
    "dependent": resource("missing"),
    "other": resource(),
    "after_other": resource("other"),
}
PARENT = {"n": {"type": FILE}, "after": resource("n"), "beside": resource()}


@pytest.fixture
def scripted() -> ScriptedType:
    return ScriptedType()


@pytest.fixture
def heat(tmp_path: Any, scripted: ScriptedType) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(scripted,))
    yield ProjectClient(service)
    service.close()


def fail_check(scripted: ScriptedType, name: str) -> None:
    scripted.fail("check", name, lambda: ResourceFailure("it is not there"))


def statuses(heat: ProjectClient, key: str) -> dict[str, str]:
    return {each["resource_name"]: each["resource_status"] for each in heat.resources(key)}


def test_failed_check_leaves_dependents_and_checks_all_others(
    heat: ProjectClient, scripted: ScriptedType
) -> None:
    heat.service.use_settings(jobs_in_flight=1)
    heat.create("s", hot_template(CHILD))
    fail_check(scripted, "missing")
    heat.perform_action("s", "check")
    stack = heat.stack("s")
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "CHECK_FAILED",
        "Resource CHECK failed: ResourceFailure: resources.missing: it is not there",
    )
    assert statuses(heat, "s") == {
        "missing": "CHECK_FAILED",
        "dependent": "CREATE_COMPLETE",
        "other": "CHECK_COMPLETE",
        "after_other": "CHECK_COMPLETE",
    }


def test_failed_check_of_a_nested_stack_fails_its_owner(
    heat: ProjectClient, scripted: ScriptedType
) -> None:
    files = {FILE: json.dumps(hot_template(CHILD))}
    heat.create("s", hot_template(PARENT), files=files)
    nested = heat.nested_stack("s", "n")["id"]
    fail_check(scripted, "missing")
    heat.perform_action("s", "check")
    assert (heat.status("s"), heat.status(nested)) == ("CHECK_FAILED",) * 2
    assert statuses(heat, "s") == {
        "n": "CHECK_FAILED", "after": "CREATE_COMPLETE", "beside": "CHECK_COMPLETE",
    }  # fmt: skip
    assert statuses(heat, nested)["after_other"] == "CHECK_COMPLETE"
    scripted.answers.clear()
    scripted.times.clear()
    heat.update("s", hot_template(PARENT), files=files)
    assert (heat.status("s"), heat.status(nested)) == ("UPDATE_COMPLETE",) * 2


def test_check_of_a_nested_stack_alone_leaves_its_owner(
    heat: ProjectClient, scripted: ScriptedType
) -> None:
    heat.create("s", hot_template(PARENT), files={FILE: json.dumps(hot_template(CHILD))})
    nested = heat.nested_stack("s", "n")["id"]
    fail_check(scripted, "missing")
    heat.perform_action(nested, "check")
    assert heat.status(nested) == "CHECK_FAILED"
    assert heat.status("s") == "CREATE_COMPLETE"
    assert set(statuses(heat, "s").values()) == {"CREATE_COMPLETE"}


def test_several_failures_are_all_recorded(heat: ProjectClient, scripted: ScriptedType) -> None:
    heat.create("s", hot_template(CHILD))
    fail_check(scripted, "missing")
    fail_check(scripted, "after_other")
    heat.perform_action("s", "check")
    assert heat.status("s") == "CHECK_FAILED"
    assert statuses(heat, "s") == {
        "missing": "CHECK_FAILED",
        "dependent": "CREATE_COMPLETE",
        "other": "CHECK_COMPLETE",
        "after_other": "CHECK_FAILED",
    }


def test_check_of_what_was_never_created_fails(heat: ProjectClient) -> None:
    """Neither a failed creation nor one that was never started is complete after a check."""
    failing = {"type": "OS::Heat::TestResource", "properties": {"fail": True}}
    value = {"type": "OS::Heat::Value", "properties": {"value": "x"}}
    heat.create("s", hot_template({"a": failing, "b": value}))
    for _ in range(2):
        heat.perform_action("s", "check")
        assert heat.stack("s")["stack_status_reason"].startswith(
            "Resource CHECK failed: Exception: resources.a: Resource not created"
        )
        assert statuses(heat, "s")["a"] == "CHECK_FAILED"
    heat.update("s", hot_template({"a": {**failing, "properties": {}}, "b": value}))
    heat.perform_action("s", "check")
    assert heat.status("s") == "CHECK_COMPLETE"


def test_check_of_what_was_never_started_fails(
    heat: ProjectClient, scripted: ScriptedType
) -> None:
    scripted.fail("create", "missing", lambda: ResourceFailure("no room"))
    heat.create("s", hot_template({"missing": resource(), "dependent": resource("missing")}))
    assert statuses(heat, "s") == {"missing": "CREATE_FAILED", "dependent": "INIT_COMPLETE"}
    heat.perform_action("s", "check")
    assert statuses(heat, "s") == {"missing": "CHECK_FAILED", "dependent": "INIT_COMPLETE"}
    assert heat.stack("s")["stack_status_reason"] == (
        "Resource CHECK failed: Exception: resources.missing: Resource not created"
    )
