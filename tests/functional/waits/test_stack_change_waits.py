"""Requests that wait for changes of a project's stacks, and lists of what has changed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.api import change_wait
from heat_convergence.api.controllers.stack.stack_changes import StackChanges
from heat_convergence.api.services import ApiOptions
from heat_convergence.db.tables import stack as stack_table
from tests.functional.harness import LocalService
from tests.functional.http_servers import Connection, ServedApplication

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"a": {"type": "OS::Heat::Value", "properties": {"value": 1}}},
}
FAILING = {
    "heat_template_version": "2018-08-31",
    "resources": {"a": {"type": "OS::Heat::TestResource", "properties": {"fail": True}}},
}
LONG_AGO_S = 3600.0
DIGEST = "ab" * 8


def create(service: LocalService, name: str, template: Any = TEMPLATE, **options: Any) -> str:
    body = {"stack_name": name, "template": template}
    created = service.send("POST", "/stacks", body, **options).json["stack"]
    return f"/stacks/{name}/{created['id']}"


def changes(service: LocalService, marker: str, **options: Any) -> tuple[dict[str, str], str]:
    """Return the changed stacks with their states, and the next marker."""
    path = f"/stacks?changed_since={marker}"
    answer = service.send("GET", path, leave_pending=True, **options).json
    found = {each["stack_name"]: each["stack_status"] for each in answer["stacks"]}
    return found, answer["changes_marker"]


def wait_for_changes(
    served: ServedApplication, marker: str, seconds: int, project: str = "p"
) -> Connection:
    path = f"/v1/{project}/stacks?changed_since={marker}&wait={seconds}"
    connection = served.connect()
    connection.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    return connection


def names_of(answer: tuple[int, dict[str, str], bytes]) -> list[str]:
    status, _, body = answer
    assert status == 200, body
    return [each["stack_name"] for each in json.loads(body)["stacks"]]


def test_each_change_of_a_root_stack_shows_once(service: LocalService) -> None:
    _, marker = changes(service, "0")
    path = create(service, "s", leave_pending=True)
    found, marker = changes(service, marker)
    assert found == {"s": "CREATE_IN_PROGRESS"}
    assert changes(service, marker) == ({}, marker)
    service.run_until_idle()
    found, marker = changes(service, marker)
    assert found == {"s": "CREATE_COMPLETE"}
    for method, body, status in (
        ("PUT", {"template": TEMPLATE}, "UPDATE_COMPLETE"),
        ("PUT", {"template": TEMPLATE}, "UPDATE_COMPLETE"),
        ("PUT", {"template": FAILING}, "UPDATE_FAILED"),
        ("DELETE", None, "DELETE_COMPLETE"),
    ):
        service.send(method, path, body)
        found, marker = changes(service, marker)
        assert found == {"s": status}
        assert changes(service, marker) == ({}, marker)


def test_changes_show_on_every_database(any_database_url: str) -> None:
    service = LocalService(any_database_url)
    _, marker = changes(service, "0")
    path = create(service, "s", leave_pending=True)
    for status in ("CREATE_IN_PROGRESS", "CREATE_COMPLETE"):
        found, marker = changes(service, marker)
        assert found == {"s": status}
        assert changes(service, marker) == ({}, marker)
        service.run_until_idle()
    service.send("DELETE", path)
    found, marker = changes(service, marker)
    assert found == {"s": "DELETE_COMPLETE"}
    service.close()


def test_end_of_an_action_that_began_long_ago_is_a_change(service: LocalService) -> None:
    create(service, "old")
    service.clock.advance(LONG_AGO_S)
    create(service, "slow", leave_pending=True)
    service.clock.advance(300)
    found, marker = changes(service, "0")
    assert found == {"slow": "CREATE_IN_PROGRESS"}
    service.run_due_work()
    # No longer in progress and begun before the marker: the client reads it by its id.
    assert service.send("GET", "/stacks/slow").status_int == 302
    answer = service.send("GET", f"/stacks?changed_since={marker}").json
    assert (answer["has_changed"], answer["stacks"]) == (True, [])
    answer = service.send("GET", f"/stacks?changed_since={answer['changes_marker']}").json
    assert answer["has_changed"] is False


def test_abandoned_stack_is_a_change(tmp_path: Path) -> None:
    options = ApiOptions(enable_stack_abandon=True)
    service = LocalService(f"sqlite:///{tmp_path}/abandon.sqlite", options)
    path = create(service, "s")
    service.clock.advance(LONG_AGO_S)
    _, marker = changes(service, "0")
    assert service.send("DELETE", f"{path}/abandon").status_int == 200
    found, _ = changes(service, marker)
    assert found == {"s": "DELETE_COMPLETE"}
    service.close()


def test_other_projects_and_nested_stacks_are_no_change(service: LocalService) -> None:
    _, marker = changes(service, "0")
    create(service, "theirs", project="q")
    assert changes(service, marker) == ({}, marker)
    found, _ = changes(service, marker, project="q")
    assert found == {"theirs": "CREATE_COMPLETE"}


def test_waiting_requests_hold_no_thread_and_end_with_a_change(
    served: ServedApplication, service: LocalService
) -> None:
    path = create(service, "s")
    _, marker = changes(service, "0")
    waiting = [wait_for_changes(served, marker, 60) for _ in range(200)]
    of_other_project = wait_for_changes(served, marker, 1, project="q")
    for _ in range(3):
        assert names_of(served.ask(b"GET /v1/p/stacks HTTP/1.1\r\nHost: x\r\n\r\n")) == ["s"]
    service.send("PUT", path, {"template": TEMPLATE})
    for connection in waiting:
        assert names_of(connection.receive()) == ["s"]
    assert names_of(of_other_project.receive()) == []


def test_wait_ends_after_its_seconds(served: ServedApplication, service: LocalService) -> None:
    create(service, "s")
    _, marker = changes(service, "0")
    started_s = time.monotonic()
    assert names_of(wait_for_changes(served, marker, 1).receive()) == []
    assert 0.9 < time.monotonic() - started_s < 20


def test_old_marker_is_answered_at_once(served: ServedApplication, service: LocalService) -> None:
    create(service, "s")
    _, marker = changes(service, "0")
    service.clock.advance(LONG_AGO_S)
    started_s = time.monotonic()
    assert names_of(wait_for_changes(served, marker, 60).receive()) == []
    assert time.monotonic() - started_s < 20


@pytest.mark.parametrize(
    "query",
    ["changed_since=1", f"changed_since=x-{DIGEST}", "changed_since=0&wait=soon",
     f"changed_since=99999999999-{DIGEST}", f"changed_since=%D9%A3-{DIGEST}"],
)  # fmt: skip
def test_tampered_markers_are_refused(service: LocalService, query: str) -> None:
    assert service.send("GET", f"/stacks?{query}").status_int == 400


def test_marker_of_the_future_shows_all_again(service: LocalService) -> None:
    create(service, "s", leave_pending=True)
    found, _ = changes(service, f"9999999999-{DIGEST}")
    assert found == {"s": "CREATE_IN_PROGRESS"}


def test_waits_cost_as_many_statements_with_200_clients_as_with_one(
    service: LocalService,
) -> None:
    statements: list[str] = []
    sa.event.listen(
        service.database.engine,
        "before_cursor_execute",
        lambda _c, _k, statement, *_: statements.append(statement),
    )
    watch = change_wait.ChangeWatch(StackChanges(service.services)._find_newest)
    for number in range(200):
        wait = change_wait.ChangeWait()
        with pytest.raises(change_wait.RequestHeld):
            wait.hold(watch, {f"1767225600 p{number % 20}": ""}, 60)
        watch._waits.add(wait)
    watch.run_round()
    reads = [each for each in statements if stack_table.name in each]
    assert len(reads) == 2
