"""Cancel without rollback: what runs finishes, what has not begun does not start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.scripted_type import ScriptedType, resource

Json = Any
FILE = "file:///t/child.yaml"


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", types=(ScriptedType(),))
    yield ProjectClient(service)
    service.close()


def waiting(**resources: Json) -> Json:
    """A template whose resource ``first`` takes half a minute, and one that needs it."""
    return hot_template({"first": resource(slow=True), "second": resource("first"), **resources})


def cancel(heat: ProjectClient, name: str = "s") -> None:
    answer = heat.perform_action(name, "cancel_without_rollback", leave_pending=True)
    assert answer.status_int == 200, answer.text


def statuses(heat: ProjectClient, key: str = "s") -> dict[str, str]:
    return {each["resource_name"]: each["resource_status"] for each in heat.resources(key)}


def test_running_resource_finishes_and_its_dependent_does_not_start(heat: ProjectClient) -> None:
    heat.create("s", waiting(), hold=True)
    heat.service.handle_pending()
    cancel(heat)
    heat.service.run_until_idle()
    stack = heat.stack("s")
    assert (stack["stack_status"], stack["stack_status_reason"]) == (
        "CREATE_FAILED", "Stack CREATE cancelled",
    )  # fmt: skip
    assert statuses(heat) == {"first": "CREATE_COMPLETE", "second": "INIT_COMPLETE"}


def test_cancelled_update_leaves_dependents_as_they_were(heat: ProjectClient) -> None:
    small = {"first": resource(), "second": resource("first"), "third": resource("second")}
    heat.create("s", hot_template(small))
    large = {
        name: {**each, "properties": {"size": 2, "slow": True}} for name, each in small.items()
    }
    heat.update("s", hot_template(large), hold=True)
    heat.service.handle_pending()
    cancel(heat)
    heat.service.run_until_idle()
    assert heat.status("s") == "UPDATE_FAILED"
    assert statuses(heat)["third"] == "CREATE_COMPLETE"
    heat.update("s", hot_template(small))
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_cancelled_create_is_not_rolled_back(heat: ProjectClient) -> None:
    heat.create("s", waiting(), hold=True, disable_rollback=False)
    heat.service.handle_pending()
    cancel(heat)
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    assert statuses(heat)["first"] == "CREATE_COMPLETE"


def test_resource_that_fails_after_the_cancel_is_not_rolled_back(heat: ProjectClient) -> None:
    bad = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": 20, "fail": True}}
    heat.create("s", waiting(bad=bad), hold=True, disable_rollback=False)
    heat.service.handle_pending()
    cancel(heat)
    heat.service.run_until_idle()
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE cancelled"
    assert statuses(heat) == {
        "first": "CREATE_COMPLETE", "second": "INIT_COMPLETE", "bad": "CREATE_FAILED",
    }  # fmt: skip


def test_nested_stack_lets_its_running_resources_finish(heat: ProjectClient) -> None:
    body = {"files": {FILE: json.dumps(waiting())}}
    parent = hot_template({"n": {"type": FILE}, "after": resource("n")})
    heat.create("s", parent, hold=True, **body)
    heat.service.handle_pending()
    nested = heat.nested_stack("s", "n")["id"]
    cancel(heat)
    heat.service.run_until_idle()
    assert (heat.status("s"), heat.status(nested)) == ("CREATE_FAILED",) * 2
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE cancelled"
    assert heat.stack(nested)["stack_status_reason"] == "Stack CREATE cancelled"
    assert statuses(heat, nested) == {"first": "CREATE_COMPLETE", "second": "INIT_COMPLETE"}
    assert statuses(heat) == {"n": "CREATE_FAILED", "after": "INIT_COMPLETE"}
    heat.update("s", parent, **body)
    assert (heat.status("s"), heat.status(nested)) == ("UPDATE_COMPLETE",) * 2


def test_unstarted_nested_stack_does_not_start(heat: ProjectClient) -> None:
    heat.create(
        "s", hot_template({"n": {"type": FILE}}), hold=True, files={FILE: json.dumps(waiting())}
    )
    cancel(heat)
    heat.service.run_until_idle()
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE cancelled"
    assert statuses(heat) == {"n": "INIT_COMPLETE"}


def test_user_cancels_a_nested_stack_alone(heat: ProjectClient) -> None:
    parent = hot_template({"n": {"type": FILE}, "after": resource("n")})
    heat.create("s", parent, hold=True, files={FILE: json.dumps(waiting())})
    heat.service.handle_pending()
    nested = heat.nested_stack("s", "n")["id"]
    cancel(heat, nested)
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    assert statuses(heat, nested) == {"first": "CREATE_COMPLETE", "second": "INIT_COMPLETE"}


def test_second_cancel_ends_the_stack_at_once(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"n": {"type": FILE}}), hold=True,
                files={FILE: json.dumps(waiting())})  # fmt: skip
    heat.service.handle_pending()
    nested = heat.nested_stack("s", "n")["id"]
    cancel(heat)
    assert heat.status("s") == "CREATE_IN_PROGRESS"
    cancel(heat)
    assert (heat.status("s"), heat.status(nested)) == ("CREATE_FAILED",) * 2
    assert statuses(heat, nested)["first"] == "CREATE_FAILED"


def test_cancelled_stack_waits_for_a_limited_time(heat: ProjectClient) -> None:
    endless = {"type": "OS::Heat::TestResource", "properties": {"wait_secs": -1}}
    heat.create("s", hot_template({"r": endless}), hold=True)
    heat.service.handle_pending()
    cancel(heat)
    heat.service.clock.advance(heat.service.services.settings.error_wait_s + 1)
    heat.service.observer.tick()
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE cancelled"
    assert heat.resource("s", "r")["resource_status_reason"] == "CREATE aborted"
