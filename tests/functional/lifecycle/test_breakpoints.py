"""Breakpoints of resources: where a stack stops, and all the ways to go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any
FILE = "file:///t/child.yaml"


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def at(*hooks: str, resource: str = "a", **more: Json) -> Json:
    """An environment with hooks at a resource."""
    return {"resource_registry": {"resources": {resource: {"hooks": list(hooks), **more}}}}


TWO = hot_template({
    "a": resource_definition(value="a"),
    "b": resource_definition(value={"get_attr": ["a", "output"]}),
    "apart": resource_definition(value="apart"),
})  # fmt: skip


def clear(heat: ProjectClient, hook: str, name: str = "a", stack: str = "s", **more: Json) -> Any:
    body = {"unset_hook": hook, **more}
    return heat.send("POST", f"{heat.path(stack)}/resources/{name}/signal", body)


def states(heat: ProjectClient, key: str = "s") -> dict[str, str]:
    return {each["resource_name"]: each["resource_status"] for each in heat.resources(key)}


def reasons(heat: ProjectClient, name: str = "a", key: str = "s") -> list[str]:
    return [
        each["resource_status_reason"]
        for each in heat.events(key, "?sort_dir=asc")
        if each["resource_name"] == name
    ]


def test_create_stops_at_a_breakpoint_and_continues(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    assert states(heat) == {
        "a": "INIT_COMPLETE",
        "b": "INIT_COMPLETE",
        "apart": "CREATE_COMPLETE",
    }
    shown = heat.stack("s")
    assert shown["stack_status"] == "CREATE_IN_PROGRESS"
    assert shown["stack_status_reason"] == "Stack CREATE started"
    (listed,) = heat.send("GET", "/stacks", leave_pending=True).json["stacks"]
    assert listed["stack_status_reason"] == "Stack CREATE started"
    assert reasons(heat) == ["CREATE paused until Hook pre-create is cleared"]
    assert clear(heat, "pre-create").status_int == 200
    assert heat.status("s") == "CREATE_COMPLETE"
    assert "Hook pre-create is cleared" in reasons(heat)


def test_create_stops_after_a_resource(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("post-create"))
    assert states(heat) == {
        "a": "CREATE_COMPLETE",
        "b": "INIT_COMPLETE",
        "apart": "CREATE_COMPLETE",
    }
    assert reasons(heat)[-1] == "CREATE paused until Hook post-create is cleared"
    clear(heat, "post-create")
    assert heat.status("s") == "CREATE_COMPLETE"


def waiting_reason(heat: ProjectClient, name: str) -> str:
    return str(heat.resource("s", name)["resource_status_reason"])


def test_create_stops_before_and_after_a_resource(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create", "post-create"))
    clear(heat, "pre-create")
    assert waiting_reason(heat, "a") == "CREATE paused until Hook post-create is cleared"
    clear(heat, "post-create")
    assert heat.status("s") == "CREATE_COMPLETE"


def test_breakpoint_with_wildcards(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create", resource="a*"))
    assert set(states(heat).values()) == {"INIT_COMPLETE"}
    clear(heat, "pre-create", "apart")
    clear(heat, "pre-create", "a")
    assert heat.status("s") == "CREATE_COMPLETE"


def test_update_without_change_stops(heat: ProjectClient) -> None:
    heat.create("s", TWO)
    for hook in ("pre-update", "post-update"):
        heat.update("s", TWO, environment=at(hook))
        assert heat.status("s") == "UPDATE_IN_PROGRESS"
        assert reasons(heat)[-1] == f"UPDATE paused until Hook {hook} is cleared"
        assert clear(heat, hook).status_int == 200
        assert heat.status("s") == "UPDATE_COMPLETE"


def test_update_stops_before_a_replacement(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"a": resource_definition(value="1", update_replace=True)}))
    before = heat.resource("s", "a")["physical_resource_id"]
    heat.update(
        "s",
        hot_template({"a": resource_definition(value="2", update_replace=True)}),
        environment=at("pre-update"),
    )
    assert heat.resource("s", "a")["physical_resource_id"] == before
    clear(heat, "pre-update")
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert heat.resource("s", "a")["physical_resource_id"] != before


def test_create_hooks_do_not_stop_an_update(heat: ProjectClient) -> None:
    heat.create("s", hot_template({"x": resource_definition()}))
    heat.update("s", TWO, environment=at("pre-create", "post-create"))
    assert heat.status("s") == "UPDATE_COMPLETE"


@pytest.mark.parametrize("hook", ["pre-delete", "post-delete"])
def test_delete_stops_at_a_breakpoint(heat: ProjectClient, hook: str) -> None:
    heat.create("s", TWO, environment=at(hook))
    heat.delete("s")
    assert heat.status("s") == "DELETE_IN_PROGRESS"
    assert reasons(heat)[-1] == f"DELETE paused until Hook {hook} is cleared"
    clear(heat, hook)
    assert heat.stack("s") is None


def test_update_leaves_a_breakpoint(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    heat.update("s", TWO)
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_update_with_the_same_hook_stops_again(heat: ProjectClient) -> None:
    heat.create("s", TWO)
    heat.update("s", TWO, environment=at("pre-update"))
    heat.update("s", TWO, environment=at("pre-update"))
    assert heat.status("s") == "UPDATE_IN_PROGRESS"
    clear(heat, "pre-update")
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_cancel_leaves_a_breakpoint(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    assert heat.perform_action("s", "cancel_without_rollback").status_int == 200
    assert heat.status("s") == "CREATE_FAILED"
    assert reasons(heat)[-1] == "Failure occurred while waiting."
    assert clear(heat, "pre-create").status_int == 400
    heat.update("s", TWO)
    assert heat.status("s") == "UPDATE_COMPLETE"


def test_cancelled_update_leaves_a_breakpoint(heat: ProjectClient) -> None:
    heat.create("s", TWO)
    heat.update("s", TWO, environment=at("pre-update"))
    heat.perform_action("s", "cancel_update")
    assert heat.status("s") == "ROLLBACK_COMPLETE"


def test_delete_leaves_a_breakpoint(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    heat.delete("s")
    assert heat.stack("s") is None


def test_failure_of_another_resource_fails_the_stack(heat: ProjectClient) -> None:
    template = hot_template({"a": resource_definition(), "bad": resource_definition(fail=True)})
    heat.create("s", template, environment=at("pre-create"))
    assert heat.status("s") == "CREATE_FAILED"
    assert reasons(heat)[-1] == "Failure occurred while waiting."


def test_sweep_finds_nothing_at_a_breakpoint(heat: ProjectClient) -> None:
    """A sweep finds nothing to do; a crash would find the same rows."""
    heat.create("s", TWO, environment=at("pre-create"))
    before = len(heat.events("s"))
    for _sweep in range(3):
        heat.service.clock.advance(60)
        heat.service.observer.tick()
        assert not heat.service.bus.pending
    assert heat.service.services.store.sweeps.find_stalled_stacks(heat.service.clock(), 10) == []
    assert len(heat.events("s")) == before
    clear(heat, "pre-create")
    assert heat.status("s") == "CREATE_COMPLETE"


def test_stepping_through_a_create(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    clear(heat, "pre-create", step=True)
    assert waiting_reason(heat, "b") == "CREATE paused until Hook pre-create is cleared"
    clear(heat, "pre-create", "b")
    assert heat.status("s") == "CREATE_COMPLETE"


def stepped(heat: ProjectClient) -> None:
    """A stack that was made step by step to its end."""
    heat.create("s", TWO, environment=at("pre-create"))
    for name in "ab":
        clear(heat, "pre-create", name, step=True)
    assert heat.status("s") == "CREATE_COMPLETE"


def test_stepping_ends_with_its_action(heat: ProjectClient) -> None:
    stepped(heat)
    before = heat.events("s")
    heat.update("s", TWO, environment=at("pre-create"))
    assert heat.status("s") == "UPDATE_COMPLETE"
    assert len(heat.events("s")) == len(before) + 2  # its beginning and its end
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize("names", ["a", "ab"])
def test_stepped_stack_is_deleted(heat: ProjectClient, names: str) -> None:
    heat.create("s", TWO, environment=at("pre-create", "post-create"))
    for name in names:
        clear(heat, "pre-create", name, step=True)
        clear(heat, "post-create", name, step=True)
    heat.delete("s")
    assert heat.stack("s") is None


@pytest.mark.parametrize("hook", ["pre-update", "post-create", "pre-made", ""])
def test_clearing_an_inactive_hook_is_refused(heat: ProjectClient, hook: str) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    answer = clear(heat, hook)
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "InvalidBreakPointHook")
    answer = clear(heat, "pre-create", "apart")
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "InvalidBreakPointHook")


def test_unknown_hook_is_refused(heat: ProjectClient) -> None:
    body = {"stack_name": "s", "template": TWO, "environment": at("pre-made")}
    answer = heat.send("POST", "/stacks", body)
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "InvalidBreakPointHook")
