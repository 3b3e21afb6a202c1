"""Timelines of stacks with a stabilization window: the window is a phase of the critical path."""

from __future__ import annotations

from typing import Any

import pytest

from tests.functional.openstack_types.emulated_service import port, server, template

Json = Any
WINDOW_S = 60
NETWORK = {"port": port(), "server": server()}
WINDOW = {"resource_registry": {"resources": {"server": {"stabilization": WINDOW_S}}}}


def run_for(service: Any, seconds: int) -> None:
    for _ in range(seconds):
        service.clock.advance(1.0)
        service.run_due_work()


@pytest.fixture
def path(service: Any) -> str:
    """Return the path of a stack whose window is open."""
    body = {"stack_name": "s", "template": template(**NETWORK), "environment": WINDOW}
    answer = service.send("POST", "/stacks", body, leave_pending=True)
    assert answer.status_int == 201, answer.text
    run_for(service, 20)
    return f"/stacks/s/{answer.json['stack']['id']}"


def timeline(service: Any, path: str, query: str = "") -> Json:
    found = service.send("GET", f"{path}/timeline{query}", leave_pending=True)
    assert found.status_int == 200, found.text
    return found.json["timeline"] if "chrome" not in query else found.json


def window_of(shown: Json) -> Json:
    """Return the last phase of the critical path."""
    return shown["critical_path"][-1]["segments"][-1]


def assert_sums_to_wall_time(shown: Json) -> None:
    assert shown["critical_path_s"] == pytest.approx(shown["wall_time_s"], rel=0.05)


def test_window_is_a_phase_while_it_is_open_and_afterwards(service: Any, path: str) -> None:
    shown = timeline(service, path)
    assert shown["status"] == "IN_PROGRESS"
    assert window_of(shown)["phase"] == "stabilization"
    assert_sums_to_wall_time(shown)
    run_for(service, 2 * WINDOW_S)
    shown = timeline(service, path)
    assert shown["status"] == "COMPLETE"
    assert window_of(shown)["seconds"] >= WINDOW_S
    assert shown["phases"]["stabilization"]["share"] > 0.5
    assert [each["path"] for each in shown["critical_path"]][-2:] == ["port", "server"]
    assert_sums_to_wall_time(shown)


def test_window_of_an_earlier_traversal_is_known(service: Any, path: str) -> None:
    run_for(service, 2 * WINDOW_S)
    service.send("POST", f"{path}/actions", {"check": None})
    shown = timeline(service, path, "?version=1")
    assert (shown["action"], window_of(shown)["phase"]) == ("CREATE", "stabilization")
    assert_sums_to_wall_time(shown)
    assert timeline(service, path)["phases"]["stabilization"]["seconds"] == 0


def test_traces_have_the_window_on_a_thread_of_its_own(service: Any, path: str) -> None:
    run_for(service, 2 * WINDOW_S)
    events = timeline(service, path, "?format=chrome")["traceEvents"]
    (window,) = [each for each in events if each["name"] == "stabilization"]
    names = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert names[window["tid"]] == "stabilization window"
    assert window["dur"] >= WINDOW_S * 1_000_000


def test_window_that_fails_is_a_phase(service: Any, path: str, emulated_cloud: Any) -> None:
    (body,) = emulated_cloud.bodies("nova.server")
    body["status"] = "ERROR"
    run_for(service, WINDOW_S)
    shown = timeline(service, path)
    assert shown["status"] == "FAILED"
    assert window_of(shown)["phase"] == "stabilization"
