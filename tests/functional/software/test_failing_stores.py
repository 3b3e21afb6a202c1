"""Signals while the services that store them fail, hang or answer nonsense."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.resources.transports import stored_objects
from heat_convergence.testing.openstack.emulation import (
    EmulatedRequest,
    EmulatedResponse,
    InjectedFailure,
)
from tests.functional.project_client import ProjectClient, hot_template
from tests.functional.software.test_server_agent_metadata import ServerAgentTestbed

Json = Any
MESSAGES = r"^/queues/[^/]+/messages$"
CONTAINER = r"^/[^/]+$"
NONSENSE = [
    EmulatedResponse(200, text="<html>Service</html>"),
    EmulatedResponse(200, []),
    EmulatedResponse(200, 7),
    EmulatedResponse(200, {"messages": "many", "links": 3}),
    EmulatedResponse(200, {"messages": [1, None, "a"], "links": [{"rel": "next"}, 5]}),
    EmulatedResponse(200, [1, "a", {"name": None}]),
]


def start(heat: ProjectClient, transport: str) -> Json:
    """Start to wait for a signal; return what the handle tells senders."""
    handle = {
        "type": "OS::Heat::WaitConditionHandle",
        "properties": {"signal_transport": transport},
    }
    wait = {"handle": {"get_resource": "h"}, "count": 1, "timeout": 3600}
    resources = {"h": handle, "wait": {"type": "OS::Heat::WaitCondition", "properties": wait}}
    body = hot_template(resources, outputs={"signal": {"get_attr": ["h", "signal"]}})
    heat.create("s", body, hold=True)
    heat.service.run_due_work()
    return json.loads(heat.outputs("s")["signal"])


def send(testbed: ServerAgentTestbed, method: str, path: str, body: Json) -> None:
    service = "message" if "/messages" in path else "object_store"
    answer = testbed.sky.emulation.handle(EmulatedRequest(service, method, path, {}, body))
    assert answer.status == 201


def fail_reads(testbed: ServerAgentTestbed, path: str, response: EmulatedResponse) -> None:
    failure = InjectedFailure("GET", path, response, remaining=3)
    testbed.sky.emulation.injected_failures.append(failure)


@pytest.mark.parametrize(
    "response",
    [*(EmulatedResponse(status, text="no") for status in (429, 500, 502, 503, 504)), *NONSENSE],
)
@pytest.mark.parametrize("transport", ["ZAQAR_SIGNAL", "TEMP_URL_SIGNAL"])
def test_signal_is_read_once_the_service_answers(
    testbed: ServerAgentTestbed, heat: ProjectClient, transport: str, response: EmulatedResponse
) -> None:
    signal = start(heat, transport)
    path = MESSAGES if transport == "ZAQAR_SIGNAL" else CONTAINER
    fail_reads(testbed, path, response)
    if transport == "ZAQAR_SIGNAL":
        message = {"messages": [{"body": {"id": "a"}, "ttl": 3600}]}
        send(testbed, "POST", f"/queues/{signal['queue_id']}/messages", message)
    else:
        target = signal["alarm_url"].partition("?")[0].split("/", 6)[6]
        send(testbed, "PUT", f"/{target}", '{"id": "a"}')
    for _ in range(30):
        heat.service.clock.advance(30)
        heat.service.run_due_work()
    assert heat.status("s") == "CREATE_COMPLETE", heat.stack("s")["stack_status_reason"]


@pytest.mark.parametrize(("limit", "value"), [("MAX_OBJECT_BYTES", 10), ("MAX_VERSIONS", 0)])
def test_stored_signals_are_limited(
    testbed: ServerAgentTestbed,
    heat: ProjectClient,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(stored_objects, limit, value)
    signal = start(heat, "TEMP_URL_SIGNAL")
    target = signal["alarm_url"].partition("?")[0].split("/", 6)[6]
    send(testbed, "PUT", f"/{target}", '{"id": "a signal that is too long"}')
    heat.service.run_until_idle()
    assert heat.status("s") == "CREATE_FAILED"
    assert "stored" in heat.stack("s")["stack_status_reason"]


HOSTILE = [
    "[" * 100_000,
    '{"a":' * 50_000,
    "\x00",
    "NaN",
    "1e999999",
    '{"data": NaN}',
    '{"data": "\\ud800\\u0000"}',
    '{"id": "\\ud800", "reason": "\\udfff"}',
    '{"reason": {"a": [1]}, "id": {"b": 2}}',
    '{"data": 1e400}',
    '{"status": null}',
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("transport", ["ZAQAR_SIGNAL", "TEMP_URL_SIGNAL"])
def test_hostile_texts_end_the_wait(
    testbed: ServerAgentTestbed,
    heat: ProjectClient,
    transport: str,
    text: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    signal = start(heat, transport)
    if transport == "TEMP_URL_SIGNAL":
        target = signal["alarm_url"].partition("?")[0].split("/", 6)[6]
        send(testbed, "PUT", f"/{target}", text)
    else:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text
        message = {"messages": [{"body": body, "ttl": 43_200}]}
        send(testbed, "POST", f"/queues/{signal['queue_id']}/messages", message)
    heat.service.run_until_idle()
    assert heat.status("s") in ("CREATE_FAILED", "CREATE_COMPLETE")
    assert "unexpected error" not in caplog.text
    heat.delete("s")
    assert heat.stack("s") is None
