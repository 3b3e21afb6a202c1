"""Signals through the API: what they do, whom they wake, when they are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from heat_convergence.common import strict_json
from heat_convergence.common.errors import Invalid
from heat_convergence.common.values import packed_map
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.builtin.local_type import LocalType
from heat_convergence.resources.protocol.schema import PropertySchema, PropertyType, TypeSchema
from heat_convergence.resources.protocol.verb_values import (
    ResourceContext,
    SignalResult,
    VerbResult,
)
from tests.functional.harness import LocalService

Json = Any


class SignalCountingType(LocalType):
    """Counts its signals."""

    name = "Test::SignalCounter"
    schema = TypeSchema()

    def create(self, view: ResourceContext) -> VerbResult:
        return VerbResult(ObservedState.READY, view.physical_name)

    def signal(self, view: ResourceContext, details: Json) -> SignalResult:
        if isinstance(details, Mapping) and details.get("note") == "false":
            raise Invalid("this note is refused")
        count = view.data.get("count", 0) + 1
        reason = f"count {count}" if isinstance(details, Mapping) and "tell" in details else None
        return SignalResult(reason=reason, data={"count": count})


class SignalWaitingType(LocalType):
    """Is ready when the resource that it refers to has received enough signals."""

    name = "Test::SignalWaiter"
    observes_dependencies = True
    schema = TypeSchema(
        properties={
            "counter": PropertySchema(type=PropertyType.STRING, required=True),
            "times": PropertySchema(type=PropertyType.INTEGER, default=1),
        }
    )

    def to_result(
        self, view: ResourceContext, properties: Mapping[str, Json], *, physical_id: str | None
    ) -> VerbResult:
        (counter,) = view.dependencies.values()
        up = counter.data.get("count", 0) >= properties["times"]
        return VerbResult(
            ObservedState.READY if up else ObservedState.BUSY, physical_id, poll_after_s=3000.0
        )


TEMPLATE = {
    "heat_template_version": "2016-10-14",
    "resources": {
        "counter": {"type": "Test::SignalCounter"},
        "waiter": {
            "type": "Test::SignalWaiter",
            "properties": {"counter": {"get_resource": "counter"}, "times": 2},
        },
        "deaf": {"type": "OS::Heat::Value", "properties": {"value": "v"}},
        "later": {"type": "OS::Heat::None", "depends_on": "waiter"},
    },
}


@pytest.fixture
def service(tmp_path: Any) -> Iterator[LocalService]:
    service = LocalService(
        f"sqlite:///{tmp_path}/hc.sqlite", types=(SignalCountingType(), SignalWaitingType())
    )
    yield service
    service.close()


@pytest.fixture
def stack(service: LocalService) -> str:
    """Path of a stack whose waiter waits for the counter."""
    answer = service.send(
        "POST", "/stacks", {"stack_name": "s", "template": TEMPLATE}, leave_pending=True
    )
    service.run_due_work()
    return f"/stacks/s/{answer.json['stack']['id']}"


def status(service: LocalService, path: str, name: str | None = None) -> str:
    if name is None:
        return service.send("GET", path, leave_pending=True).json["stack"]["stack_status"]
    answer = service.send("GET", f"{path}/resources/{name}", leave_pending=True)
    return answer.json["resource"]["resource_status"]


def signals(service: LocalService, path: str, name: str) -> list[tuple[str, str]]:
    """Status and reason of the SIGNAL events, the oldest first."""
    answer = service.send(
        "GET", f"{path}/resources/{name}/events?sort_dir=asc", leave_pending=True
    )
    return [
        (event["resource_status"], event["resource_status_reason"])
        for event in answer.json["events"]
        if event["resource_status"].startswith("SIGNAL_")
    ]


def send_signal(service: LocalService, path: str, body: Json = None, name: str = "counter") -> Any:
    answer = service.send("POST", f"{path}/resources/{name}/signal", body, leave_pending=True)
    service.run_due_work()
    return answer


def test_details_that_look_like_a_large_template_are_plain(
    service: LocalService, stack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[Json] = []

    def signal(_type: SignalCountingType, _view: ResourceContext, details: Json) -> SignalResult:
        received.append(details)
        return SignalResult(data={"details": details})

    monkeypatch.setattr(SignalCountingType, "signal", signal)
    monkeypatch.setattr(strict_json, "_LARGE", 0)
    monkeypatch.setattr(packed_map, "PACKED_FROM", 3)
    details = {"template": {"resources": {f"r{number}": {} for number in range(9)}}}
    assert send_signal(service, stack, details).status_int == 200
    assert received == [details]
    assert type(received[0]["template"]["resources"]) is dict


def test_waiting_dependent_is_observed_after_a_signal(service: LocalService, stack: str) -> None:
    assert status(service, stack, "waiter") == "CREATE_IN_PROGRESS"
    answer = send_signal(service, stack, {"tell": "me"})
    assert (answer.status_int, answer.json) == (200, None)
    assert status(service, stack, "waiter") == "CREATE_IN_PROGRESS"
    began = service.clock()
    send_signal(service, stack)
    assert status(service, stack, "waiter") == "CREATE_COMPLETE"
    assert status(service, stack) == "CREATE_COMPLETE"
    assert (service.clock() - began).total_seconds() < 60  # not the 3000 s to the next poll
    assert signals(service, stack, "counter") == [
        ("SIGNAL_COMPLETE", "Signal: count 1"),
        ("SIGNAL_COMPLETE", "No signal details provided"),
    ]


def test_signal_during_an_observation_is_not_missed(service: LocalService, stack: str) -> None:
    """The observation starts before the signal and is recorded after it."""
    registry, waiter = service.registry, service.registry.get("Test::SignalWaiter")
    observations = []

    def observe_many(views: Any) -> Any:
        observations.append({view.resource_id: waiter.observe(view) for view in views})
        if len(observations) == 1:
            service.send("POST", f"{stack}/resources/counter/signal", leave_pending=True)
        return observations[-1]

    registry._types = {**registry._types, "Test::SignalWaiter": _Wrapped(waiter, observe_many)}
    send_signal(service, stack)  # a second one arrives during the observation
    assert status(service, stack, "waiter") == "CREATE_COMPLETE"
    assert len(observations) == 2


class _Wrapped:
    def __init__(self, resource_type: Any, observe_many: Any) -> None:
        self._type, self.observe_many = resource_type, observe_many

    def __getattr__(self, name: str) -> Any:
        return getattr(self._type, name)


@pytest.mark.parametrize(
    ("details", "reason"),
    [
        (
            {"previous": "ok", "current": "alarm", "reason": "hot"},
            "alarm state changed from ok to alarm (hot)",
        ),
        ({"previous": "ok"}, "Unknown"),
        ({}, "Unknown"),
    ],
)
def test_reason_of_the_signal_event(
    service: LocalService, stack: str, details: Json, reason: str
) -> None:
    send_signal(service, stack, details)
    assert signals(service, stack, "counter") == [("SIGNAL_COMPLETE", reason)]


def test_body_that_is_no_map_counts_as_empty(service: LocalService, stack: str) -> None:
    send_signal(service, stack, ["a list"])
    assert signals(service, stack, "counter") == [
        ("SIGNAL_COMPLETE", "No signal details provided")
    ]


@pytest.mark.parametrize(
    ("name", "body", "error", "piece"),
    [
        ("deaf", {}, (400, "ResourceActionNotSupported"), "signal is not supported"),
        ("later", {}, (404, "ResourceNotAvailable"), "later"),
        ("nobody", {}, (404, "ResourceNotFound"), "nobody"),
        ("counter", {"unset_hook": "pre-create"}, (400, "InvalidBreakPointHook"), "pre-create"),
        ("counter", {"note": "false"}, (400, "Invalid"), "note is refused"),
    ],
)
def test_invalid_signals_are_refused(
    service: LocalService,
    stack: str,
    name: str,
    body: Json,
    error: tuple[int, str],
    piece: str,
) -> None:
    answer = send_signal(service, stack, body, name)
    assert (answer.status_int, answer.json["error"]["type"]) == error
    assert piece in answer.json["error"]["message"]
    assert signals(service, stack, "counter") == []


def test_signal_while_suspended_is_refused(service: LocalService, stack: str) -> None:
    send_signal(service, stack)
    send_signal(service, stack)
    service.send("POST", f"{stack}/actions", {"suspend": None})
    answer = send_signal(service, stack)
    assert (answer.status_int, answer.json["error"]["type"]) == (400, "NotSupported")
    assert "Signal resource during SUSPEND is not supported" in answer.json["error"]["message"]
    event = service.send("GET", f"{stack}/resources/counter/events?limit=1").json["events"][0]
    assert (event["resource_status"], event["resource_status_reason"]) == (
        "SUSPEND_COMPLETE",
        "Cannot signal resource during SUSPEND",
    )


def test_signals_survive_a_superseding_update(service: LocalService, stack: str) -> None:
    send_signal(service, stack)
    service.send("PATCH", stack, {"tags": "x"}, leave_pending=True)
    service.run_due_work()
    assert status(service, stack) == "UPDATE_IN_PROGRESS"
    send_signal(service, stack)
    assert status(service, stack) == "UPDATE_COMPLETE"
