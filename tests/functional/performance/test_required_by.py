"""Agreement of the view of a resource, which reads the graph, with the list about ``required_by``.

The list takes it from the requirements of all resources; both are read after each message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from heat_convergence.api.services import ApiOptions
from heat_convergence.db.reads import dependents
from heat_convergence.stacks.goal import changed_part
from tests.functional.harness import LocalService
from tests.functional.project_client import ProjectClient, hot_template, resource_definition

Json = Any


@pytest.fixture(params=["whole", "part"])
def heat(
    tmp_path: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ProjectClient]:
    """Return a service whose updates look at the whole template, or at what changes."""
    options = ApiOptions(partial_update_min_resources=1 if request.param == "part" else 500)
    monkeypatch.setattr(changed_part, "_LARGEST_SHARE", 1.0)
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite", options)
    yield ProjectClient(service)
    service.close()


def template(first: str = "1", **changed: Json) -> Json:
    """``a`` is read by ``b`` and ``c``; ``d`` only starts after ``b``, and ``e`` after all."""
    reads_a = {"get_attr": ["a", "output"]}
    return hot_template(
        {
            "a": resource_definition(value=first, update_replace=True),
            "b": resource_definition(value=reads_a),
            "c": resource_definition(value=reads_a),
            "d": {**resource_definition(value="d"), "depends_on": "b"},
            "e": {**resource_definition(value="e"), "depends_on": ["a", "c", "d"]},
            **changed,
        }
    )


def compare(heat: ProjectClient) -> dict[str, list[str]]:
    """Return what requires each resource by the list, after comparing it with the views."""
    listed = {each["resource_name"]: sorted(each["required_by"]) for each in heat.resources("s")}
    shown = {name: heat.resource("s", name)["required_by"] for name in listed}
    filtered = {
        each["resource_name"]: each["required_by"]
        for name in listed
        for each in heat.resources("s", f"?name={name}")
    }
    assert shown == filtered == listed
    return listed


def handle_each(heat: ProjectClient) -> None:
    """Handle the messages one by one, then those that come later."""
    service = heat.service
    while service.bus.pending:
        compare(heat)
        service.deliver(service.bus.pending.popleft())
    service.run_until_idle()
    if heat.stack("s") is not None:
        compare(heat)


CREATED = {"a": ["b", "c", "e"], "b": ["d"], "c": ["e"], "d": ["e"], "e": []}


def test_created_stack(heat: ProjectClient) -> None:
    heat.create("s", template(), hold=True)
    handle_each(heat)
    assert heat.status("s") == "CREATE_COMPLETE"
    assert compare(heat) == CREATED


def test_failed_create(heat: ProjectClient) -> None:
    heat.create("s", template(c=resource_definition(fail=True)), hold=True)
    handle_each(heat)
    assert heat.status("s") == "CREATE_FAILED"


@pytest.mark.parametrize(
    ("changed", "status", "expected"),
    [
        ({}, "UPDATE_COMPLETE", CREATED),
        ({"first": "2"}, "UPDATE_COMPLETE", CREATED),  # replaces a
        (
            {"d": resource_definition(value="d")},
            "UPDATE_COMPLETE",
            {**CREATED, "b": []},
        ),
        (
            {"first": "2", "c": resource_definition(value="c"), "f": {
                **resource_definition(value={"get_attr": ["b", "output"]}), "depends_on": "e"}},
            "UPDATE_COMPLETE",
            {**CREATED, "a": ["b", "e"], "b": ["d", "f"], "e": ["f"], "f": []},
        ),
        ({"c": resource_definition(fail=True)}, "UPDATE_FAILED", {**CREATED, "a": ["b", "e"]}),
    ],
    ids=["same", "replaced", "without a requirement", "another graph", "failed"],
)  # fmt: skip
def test_updated_stack(heat: ProjectClient, changed: Json, status: str, expected: Json) -> None:
    heat.create("s", template())
    heat.update("s", template(**changed), hold=True)
    handle_each(heat)
    assert heat.status("s") == status
    assert compare(heat) == expected


@pytest.mark.parametrize("actions", [["check"], ["suspend", "resume"]])
def test_stack_after_actions(heat: ProjectClient, actions: list[str]) -> None:
    heat.create("s", template())
    for action in actions:
        heat.perform_action("s", action, leave_pending=True)
        handle_each(heat)
        assert heat.status("s") == f"{action.upper()}_COMPLETE"
        assert compare(heat) == CREATED


def test_stack_that_is_deleted(heat: ProjectClient) -> None:
    heat.create("s", template())
    path = heat.path("s")
    heat.delete("s", leave_pending=True)
    handle_each(heat)
    deleted = heat.send("GET", path, leave_pending=True).json["stack"]
    assert deleted["stack_status"] == "DELETE_COMPLETE"


def test_stack_with_a_graph_is_not_searched(
    heat: ProjectClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[Any] = []
    monkeypatch.setattr(dependents, "_search", lambda *arguments: searched.append(arguments) or ())
    heat.create("s", template())
    heat.update("s", template("2"))
    assert compare(heat) == CREATED
    assert searched == []
