"""Updates and replacements of resources that the environment restricts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.lifecycle.test_breakpoints import reasons, states
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def restricted(*actions: str) -> Json:
    body = {"restricted_actions": list(actions)}
    return {"resource_registry": {"resources": {"a": body}}}


@pytest.mark.parametrize(("action", "replaces"), [("update", False), ("replace", True)])
def test_restricted_actions_are_refused(heat: ProjectClient, action: str, replaces: bool) -> None:
    def template(value: str) -> Json:
        return hot_template({"a": resource_definition(value=value, update_replace=replaces)})

    heat.create("s", template("1"), environment=restricted(action))
    before = heat.resource("s", "a")["physical_resource_id"]
    heat.update("s", template("2"), environment=restricted(action))
    assert heat.status("s") == "UPDATE_FAILED"
    assert reasons(heat)[-1] == f"{action} is restricted for resource."
    assert states(heat) == {"a": "CREATE_COMPLETE"}
    heat.update("s", template("2"))
    assert heat.status("s") == "UPDATE_COMPLETE"
    same = heat.resource("s", "a")["physical_resource_id"] == before
    assert same is not replaces


def test_restriction_of_another_action_is_ignored(heat: ProjectClient) -> None:
    heat.create(
        "s", hot_template({"a": resource_definition(value="1")}), environment=restricted("replace")
    )
    heat.update(
        "s", hot_template({"a": resource_definition(value="2")}), environment=restricted("replace")
    )
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_restricted_replacement_creates_no_new_incarnation(heat: ProjectClient) -> None:
    """A changed type neither deletes the old resource nor creates a new one."""
    stays, lifted = restricted("replace"), {"resource_registry": {"resources": {}}}
    heat.create(
        "s",
        hot_template({"a": resource_definition(value="1"), "b": resource_definition(value="1")}),
        environment=stays,
    )
    before = heat.resource("s", "a")
    other = hot_template(
        {"a": {"type": "OS::Heat::RandomString"}, "b": resource_definition(value="2")}
    )
    preview = heat.send(
        "PUT", f"{heat.path('s')}/preview?detail=plan", {"template": other, "environment": stays}
    ).json
    assert [each["resource_name"] for each in preview["resource_changes"]["replaced"]] == ["a"]
    assert "the environment restricts it" in str(preview)
    heat.update("s", other, environment=stays)
    assert heat.status("s") == "UPDATE_FAILED"
    assert "replace is restricted for resource." in heat.stack("s")["stack_status_reason"]
    after = heat.resource("s", "a")
    same = ("physical_resource_id", "resource_type", "resource_status")
    assert [after[key] for key in same] == [before[key] for key in same]
    heat.update("s", other, environment=lifted)
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "a")["resource_type"] == "OS::Heat::RandomString"


def test_failed_resource_with_restricted_replacement_stays(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"a": resource_definition(fail=True)}))
    before = heat.resource("s", "a")["physical_resource_id"]
    heat.update(
        "s",
        hot_template({"a": resource_definition(fail=False)}),
        environment=restricted("replace"),
    )
    assert heat.status("s") == "UPDATE_FAILED"
    assert reasons(heat)[-1] == "replace is restricted for resource."
    found = heat.resource("s", "a")
    assert (found["physical_resource_id"], found["resource_status"]) == (before, "CREATE_FAILED")
    heat.update(
        "s",
        hot_template({"a": resource_definition(fail=False)}),
        environment={"resource_registry": {"resources": {}}},
    )
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "a")["physical_resource_id"] != before


@pytest.mark.parametrize("left_by", ["delete", "suspend", "template"])
def test_update_leaves_a_refused_replacement(heat: ProjectClient, left_by: str) -> None:
    heat.create(
        "s", hot_template({"a": resource_definition(value="1")}), environment=restricted("replace")
    )
    stack_id = heat.stack("s")["id"]
    heat.update(
        "s", hot_template({"a": {"type": "OS::Heat::None"}}), environment=restricted("replace")
    )
    assert heat.status("s") == "UPDATE_FAILED"
    if left_by == "delete":
        heat.delete("s")
        assert heat.status(stack_id) == "DELETE_COMPLETE"
    elif left_by == "suspend":
        heat.perform_action("s", "suspend")
        assert heat.status("s") == "SUSPEND_COMPLETE"
    else:
        heat.update(
            "s",
            hot_template({"a": resource_definition(value="2")}),
            environment=restricted("replace"),
        )
        assert heat.status("s") == "UPDATE_COMPLETE"
        assert heat.resource("s", "a")["attributes"] == {"output": "2"}
