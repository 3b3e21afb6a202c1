"""Requests that wait for events: they cost no thread, and end when there is an event."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.functional.harness import LocalService
from tests.functional.http_servers import Connection, ServedApplication

TEMPLATE = {
    "heat_template_version": "2018-08-31",
    "resources": {"a": {"type": "OS::Heat::Value", "properties": {"value": 1}}},
}


@pytest.fixture
def stack(service: LocalService) -> str:
    created = service.send("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE})
    return f"/stacks/s/{created.json['stack']['id']}"


def newest_event(service: LocalService, stack: str) -> str:
    return str(service.send("GET", f"{stack}/events?limit=1").json["events"][0]["id"])


def request_bytes(stack: str, query: str) -> bytes:
    return f"GET /v1/p{stack}/events?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def events_of(answer: tuple[int, dict[str, str], bytes]) -> list[Any]:
    status, _, body = answer
    assert status == 200, body
    found: list[Any] = json.loads(body)["events"]
    return found


def wait_for_events(
    served: ServedApplication, service: LocalService, stack: str, seconds: int
) -> Connection:
    marker = newest_event(service, stack)
    connection = served.connect()
    query = f"sort_dir=asc&nested_depth=2&marker={marker}&wait={seconds}"
    connection.send(request_bytes(stack, query))
    return connection


def test_waiting_requests_hold_no_thread_and_end_with_an_event(
    served: ServedApplication, service: LocalService, stack: str
) -> None:
    waiting = [wait_for_events(served, service, stack, 60) for _ in range(200)]
    for _ in range(3):
        assert events_of(served.ask(request_bytes(stack, "limit=1")))
    service.send("PUT", stack, {"template": TEMPLATE})
    for connection in waiting:
        found = events_of(connection.receive())
        assert found[0]["resource_status"] == "UPDATE_IN_PROGRESS"
    waiting[0].send(request_bytes(stack, "limit=1"))  # the connection can be used again
    assert events_of(waiting[0].receive())


def test_wait_ends_after_its_seconds(
    served: ServedApplication, service: LocalService, stack: str
) -> None:
    started_s = time.monotonic()
    assert events_of(wait_for_events(served, service, stack, 1).receive()) == []
    assert 0.9 < time.monotonic() - started_s < 20


def test_request_with_events_to_show_does_not_wait(served: ServedApplication, stack: str) -> None:
    started_s = time.monotonic()
    assert events_of(served.ask(request_bytes(stack, "wait=60")))
    assert time.monotonic() - started_s < 20


def test_server_that_stops_answers_what_waits(
    served: ServedApplication, service: LocalService, stack: str
) -> None:
    waiting = wait_for_events(served, service, stack, 60)
    events_of(served.ask(request_bytes(stack, "limit=1")))
    stopping = served.start(served.stop_serving)
    assert events_of(waiting.receive()) == []
    stopping.wait()


def test_servers_that_cannot_hold_requests_answer_at_once(
    service: LocalService, stack: str
) -> None:
    marker = newest_event(service, stack)
    answer = service.send("GET", f"{stack}/events?sort_dir=asc&marker={marker}&wait=60")
    assert answer.json == {"events": []}


@pytest.mark.parametrize("text", ["-1", "soon", "1.5"])
def test_wait_is_a_number_of_seconds(service: LocalService, stack: str, text: str) -> None:
    assert service.send("GET", f"{stack}/events?wait={text}").status_int == 400
