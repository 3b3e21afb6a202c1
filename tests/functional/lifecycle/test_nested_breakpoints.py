"""Breakpoints in nested stacks and at the resources that own them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.lifecycle.test_breakpoints import FILE, at, clear, reasons, states
from tests.functional.project_client import ProjectClient, hot_template, resource_definition


@pytest.fixture
def heat(tmp_path: Any) -> Iterator[ProjectClient]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield ProjectClient(service)
    service.close()


def test_breakpoint_in_a_nested_stack(heat: ProjectClient) -> None:
    child = hot_template({"a": resource_definition(value="a")})
    hooks = {"n*": {"a": {"hooks": "pre-create"}}}
    heat.create(
        "s",
        hot_template({"n1": {"type": FILE}, "n2": {"type": FILE}, "other": {"type": FILE}}),
        files={FILE: json.dumps(child)},
        environment={"resource_registry": {"resources": hooks}},
    )
    assert heat.nested_stack("s", "other")["stack_status"] == "CREATE_COMPLETE"
    assert "a (pre-create)" in heat.resource("s", "n1")["resource_status_reason"]
    for name in ("n1", "n2"):
        clear(heat, "pre-create", stack=heat.nested_stack("s", name)["id"])
    assert heat.status("s") == "CREATE_COMPLETE"


def _two_levels(heat: ProjectClient, *hooks: str) -> None:
    """Create stack "s" with nested stacks "m" and "n"; "a" in "n" may stop at hooks."""
    middle = "file:///t/middle.yaml"
    files = {
        FILE: json.dumps(
            hot_template(
                {"a": resource_definition(value="a"), "b": resource_definition(value="b")}
            )
        ),
        middle: json.dumps(hot_template({"n": {"type": FILE}, "free": {"type": FILE}})),
    }
    at_bottom = {"m": {"n": {"a": {"hooks": list(hooks)}}}}
    heat.create(
        "s", hot_template({"m": {"type": middle}, "alone": resource_definition()}), files=files,
        environment={"resource_registry": {"resources": at_bottom}},
    )  # fmt: skip


def test_resources_of_ancestors_show_a_breakpoint_of_a_nested_stack(heat: ProjectClient) -> None:
    _two_levels(heat, "pre-create")
    middle = heat.nested_stack("s", "m")
    bottom = heat.nested_stack(middle["id"], "n")
    found = heat.send("GET", "/stacks?show_nested=true", leave_pending=True).json["stacks"]
    reasons_shown = {each["id"]: each["stack_status_reason"] for each in found}
    for stack_id in (heat.stack("s")["id"], middle["id"], bottom["id"]):
        reason = "Stack CREATE started"
        assert heat.stack(stack_id)["stack_status_reason"] == reasons_shown[stack_id] == reason
    free = heat.nested_stack(middle["id"], "free")["id"]
    assert reasons_shown[free] == "Stack CREATE completed successfully"
    (listed,) = heat.send("GET", "/stacks", leave_pending=True).json["stacks"]
    assert listed["stack_status_reason"] == "Stack CREATE started"
    above = "CREATE waits at breakpoints: m/n/a (pre-create)"
    assert {
        each["resource_name"]: each["resource_status_reason"] for each in heat.resources("s")
    } == {"m": above, "alone": "state changed"}
    assert heat.resource("s", "m")["resource_status_reason"] == above
    found = heat.resources("s", "?nested_depth=5")
    deep = {(each.get("parent_resource"), each["resource_name"]): each for each in found}
    held, above_it = deep["n", "a"], deep["m", "n"]
    assert above_it["resource_status_reason"] == ("CREATE waits at breakpoints: n/a (pre-create)")
    paused = "CREATE paused until Hook pre-create is cleared"
    assert held["resource_status_reason"] == paused
    assert (held["resource_status"], above_it["resource_status"]) == (
        "INIT_COMPLETE", "CREATE_IN_PROGRESS",
    )  # fmt: skip
    assert reasons(heat, "m") == ["state changed", above]


def test_ancestors_do_not_show_a_cleared_breakpoint(heat: ProjectClient) -> None:
    _two_levels(heat, "pre-create", "post-create")
    bottom = heat.nested_stack(heat.nested_stack("s", "m")["id"], "n")["id"]
    clear(heat, "pre-create", stack=bottom)
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE started"
    waiting = "CREATE waits at breakpoints: m/n/a (post-create)"
    assert heat.resource("s", "m")["resource_status_reason"] == waiting
    clear(heat, "post-create", stack=bottom)
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE completed successfully"
    assert reasons(heat, "m") == [
        "state changed",
        "CREATE waits at breakpoints: m/n/a (pre-create)",
        "Hook pre-create is cleared at m/n/a",
        "CREATE waits at breakpoints: m/n/a (post-create)",
        "Hook post-create is cleared at m/n/a",
        "state changed",
    ]


def test_update_of_the_parent_leaves_a_nested_breakpoint(heat: ProjectClient) -> None:
    _two_levels(heat, "pre-create")
    heat.perform_action("s", "cancel_without_rollback")
    assert heat.stack("s")["stack_status_reason"] == "Stack CREATE cancelled"
    shown = heat.resource("s", "m")
    assert (shown["resource_status"], shown["resource_status_reason"]) == (
        "CREATE_FAILED", "ResourceInError: resources.m: Stack CREATE cancelled",
    )  # fmt: skip
    heat.delete("s")
    assert heat.stack("s") is None


def test_breakpoint_reasons_cost_one_statement_at_any_depth(heat: ProjectClient) -> None:
    """One resource takes three more, about what it waits for and how long that usually takes."""
    _two_levels(heat, "pre-create")
    path = heat.path("s")
    requested = ["/stacks", path, f"{path}/resources", f"{path}/resources/m",
             f"{path}/resources?nested_depth=5"]  # fmt: skip

    def costs() -> list[int]:
        counts = []
        for each in requested:
            with count_statements(heat.service.database.engine) as count:
                assert heat.send("GET", each, leave_pending=True).status_int == 200
            counts.append(count.total)
        return counts

    waiting = costs()
    clear(
        heat, "pre-create", stack=heat.nested_stack(heat.nested_stack("s", "m")["id"], "n")["id"]
    )
    assert heat.status("s") == "CREATE_COMPLETE"
    assert [more - less for more, less in zip(waiting, costs(), strict=True)] == [0, 0, 1, 4, 1]


def test_rollback_stops_at_no_nested_breakpoint(heat: ProjectClient) -> None:
    def files(value: str) -> dict[str, str]:
        return {FILE: json.dumps(hot_template({"a": resource_definition(value=value)}))}

    environment = {"resource_registry": {"resources": {"n": {"a": {"hooks": "pre-update"}}}}}
    root = hot_template({"n": {"type": FILE}})
    heat.create("s", root, files=files("1"), environment=environment)
    assert heat.status("s") == "CREATE_COMPLETE"
    heat.update("s", root, files=files("2"), environment=environment)
    assert "a (pre-update)" in heat.resource("s", "n")["resource_status_reason"]
    heat.perform_action("s", "cancel_update")
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    heat.update("s", root, files=files("3"), environment=environment)
    assert "a (pre-update)" in heat.resource("s", "n")["resource_status_reason"]


def test_resource_with_a_nested_stack_stops(heat: ProjectClient) -> None:
    child = hot_template({"a": resource_definition(value="a")})
    heat.create(
        "s", hot_template({"n": {"type": FILE}}), files={FILE: json.dumps(child)},
        environment=at("pre-create", "post-create", resource="n"),
    )  # fmt: skip
    assert states(heat) == {"n": "INIT_COMPLETE"}
    clear(heat, "pre-create", "n")
    assert heat.nested_stack("s", "n")["stack_status"] == "CREATE_COMPLETE"
    assert heat.status("s") == "CREATE_IN_PROGRESS"
    clear(heat, "post-create", "n")
    assert heat.status("s") == "CREATE_COMPLETE"
