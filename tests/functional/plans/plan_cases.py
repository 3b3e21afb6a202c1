"""Requests about plans, and the parts of responses that tests compare."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.functional.harness import LocalService

Json = Any
_CHANGE_OF_ACTIONS = {
    frozenset({"CREATE"}): "add",
    frozenset({"UPDATE"}): "update",
    frozenset({"DELETE"}): "delete",
    frozenset({"CREATE", "DELETE"}): "replace",
}


def make_plan(service: LocalService, path: str, body: Json, status: int = 201) -> Json:
    """Return the plan, or the error, of a request below a stack or ``""`` for a new stack."""
    answer = service.send("POST", f"{path}/plans", body)
    assert answer.status_int == status, answer.text
    return answer.json["plan"] if status == 201 else answer.json["error"]


def execute(service: LocalService, plan: Json, status: int = 202) -> Json:
    """Execute a plan; the service is idle afterwards."""
    answer = service.send("POST", f"/plans/{plan['id']}/execute")
    assert answer.status_int == status, answer.text
    service.run_until_idle()
    return answer.json["plan"] if status == 202 else answer.json["error"]


def show_plan(service: LocalService, plan: Json, query: str = "") -> Json:
    answer = service.send("GET", f"/plans/{plan['id']}{query}")
    assert answer.status_int == 200, answer.text
    return answer.json["plan"]


def changes(plan: Json) -> dict[str, str]:
    """Return what changes, by path."""
    return {
        each["path"]: each["change"] for each in plan["resources"] if each["change"] != "unchanged"
    }


def entry(plan: Json, path: str) -> Json:
    (found,) = [each for each in plan["resources"] if each["path"] == path]
    return found


def properties(plan: Json, path: str) -> dict[str, Json]:
    return {each["property"]: each for each in entry(plan, path)["properties"]}


class EventLog:
    """The events of a tree of stacks since a moment, as the effects that plans name."""

    def __init__(self, service: LocalService, path: str) -> None:
        self._service, self._path = service, path
        self._known = {each["id"] for each in self._events()} if path else set()

    def effects(self, path: str = "") -> dict[tuple[str, str], str]:
        """Return the effect on each resource, by the names of its stack and its own."""
        self._path = path or self._path
        actions: dict[tuple[str, str], set[str]] = {}
        for event in self._events():
            stack_name, name = event["stack_name"], event["resource_name"]
            if event["id"] in self._known or name == stack_name:
                continue
            action, _, status = event["resource_status"].partition("_")
            if status == "COMPLETE":
                actions.setdefault((stack_name, name), set()).add(action)
        return {key: _CHANGE_OF_ACTIONS[frozenset(found)] for key, found in actions.items()}

    def _events(self) -> list[Json]:
        answer = self._service.send("GET", f"{self._path}/events?nested_depth=5")
        assert answer.status_int == 200, answer.text
        return [{**each, "stack_name": _stack_name_of(each)} for each in answer.json["events"]]


def _stack_name_of(event: Json) -> str:
    (href,) = [link["href"] for link in event["links"] if link["rel"] == "stack"]
    return str(href.split("/stacks/", 1)[1].split("/", 1)[0])


def planned_effects(plan: Json) -> dict[tuple[str, str], str]:
    """Return the effect on each resource that changes, as ``EventLog`` does."""
    return {
        (each["stack_name"], each["resource_name"]): each["change"]
        for each in plan["resources"]
        if each["change"] != "unchanged"
    }


def count_changes(plan: Json) -> Counter[str]:
    return Counter(each["change"] for each in plan["resources"])
