"""Breakpoints: where a stack stops, what shows it, and all the ways to go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.testing.statement_counter import count_statements
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
    assert shown["stack_status_reason"] == "Stack CREATE waits at breakpoints: a (pre-create)"
    (listed,) = heat.send("GET", "/stacks", leave_pending=True).json["stacks"]
    assert "a (pre-create)" in listed["stack_status_reason"]
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


def test_create_stops_before_and_after_a_resource(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create", "post-create"))
    clear(heat, "pre-create")
    assert heat.stack("s")["stack_status_reason"].endswith("a (post-create)")
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
    assert "a (pre-create)" in heat.nested_stack("s", "n1")["stack_status_reason"]
    for name in ("n1", "n2"):
        clear(heat, "pre-create", stack=heat.nested_stack("s", name)["id"])
    assert heat.status("s") == "CREATE_COMPLETE"


def _two_levels(heat: ProjectClient, *hooks: str) -> None:
    """s > m > n: with ``a`` at the bottom, and beside it what waits for nobody."""
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


def test_ancestors_show_a_breakpoint_of_a_nested_stack(heat: ProjectClient) -> None:
    _two_levels(heat, "pre-create")
    middle = heat.nested_stack("s", "m")
    bottom = heat.nested_stack(middle["id"], "n")
    found = heat.send("GET", "/stacks?show_nested=true", leave_pending=True).json["stacks"]
    reasons_shown = {each["id"]: each["stack_status_reason"] for each in found}
    paths = {heat.stack("s")["id"]: "m/n/a", middle["id"]: "n/a", bottom["id"]: "a"}
    for stack_id, path in paths.items():
        reason = f"Stack CREATE waits at breakpoints: {path} (pre-create)"
        assert heat.stack(stack_id)["stack_status_reason"] == reasons_shown[stack_id] == reason
    free = heat.nested_stack(middle["id"], "free")["id"]
    assert reasons_shown[free] == "Stack CREATE completed successfully"
    (listed,) = heat.send("GET", "/stacks", leave_pending=True).json["stacks"]
    assert listed["stack_status_reason"].endswith(": m/n/a (pre-create)")
    above = "CREATE waits at breakpoints: m/n/a (pre-create)"
    assert {
        each["resource_name"]: each["resource_status_reason"] for each in heat.resources("s")
    } == {"m": above, "alone": "state changed"}
    assert heat.resource("s", "m")["resource_status_reason"] == above
    deep = {each["resource_name"]: each for each in heat.resources("s", "?nested_depth=5")}
    assert deep["n"]["resource_status_reason"] == ("CREATE waits at breakpoints: n/a (pre-create)")
    paused = "CREATE paused until Hook pre-create is cleared"
    assert deep["a"]["resource_status_reason"] == paused
    assert (deep["a"]["resource_status"], deep["n"]["resource_status"]) == (
        "INIT_COMPLETE", "CREATE_IN_PROGRESS",
    )  # fmt: skip
    assert reasons(heat, "m") == ["state changed", above]


def test_ancestors_do_not_show_a_cleared_breakpoint(heat: ProjectClient) -> None:
    _two_levels(heat, "pre-create", "post-create")
    bottom = heat.nested_stack(heat.nested_stack("s", "m")["id"], "n")["id"]
    clear(heat, "pre-create", stack=bottom)
    assert heat.stack("s")["stack_status_reason"] == (
        "Stack CREATE waits at breakpoints: m/n/a (post-create)"
    )
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
        "CREATE_FAILED", "CREATE aborted",
    )  # fmt: skip
    heat.delete("s")
    assert heat.stack("s") is None


def test_breakpoint_reasons_cost_one_statement_at_any_depth(heat: ProjectClient) -> None:
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
    assert [more - less for more, less in zip(waiting, costs(), strict=True)] == [1] * 5


def test_rollback_stops_at_no_nested_breakpoint(heat: ProjectClient) -> None:
    def files(value: str) -> dict[str, str]:
        return {FILE: json.dumps(hot_template({"a": resource_definition(value=value)}))}

    environment = {"resource_registry": {"resources": {"n": {"a": {"hooks": "pre-update"}}}}}
    root = hot_template({"n": {"type": FILE}})
    heat.create("s", root, files=files("1"), environment=environment)
    assert heat.status("s") == "CREATE_COMPLETE"
    heat.update("s", root, files=files("2"), environment=environment)
    assert "a (pre-update)" in heat.nested_stack("s", "n")["stack_status_reason"]
    heat.perform_action("s", "cancel_update")
    assert heat.status("s") == "ROLLBACK_COMPLETE"
    heat.update("s", root, files=files("3"), environment=environment)
    assert "a (pre-update)" in heat.nested_stack("s", "n")["stack_status_reason"]


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


def test_stepping_through_a_create(heat: ProjectClient) -> None:
    heat.create("s", TWO, environment=at("pre-create"))
    clear(heat, "pre-create", step=True)
    assert heat.stack("s")["stack_status_reason"].endswith("b (pre-create)")
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
