"""Events of stacks in the queues that environments name, and plug-ins around operations."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.cli.components.event_store import (
    EventForwardingStore,
    create_dispatch_sources,
)
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.errors import Forbidden
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.stacks.event_sinks import event_dispatcher
from heat_convergence.stacks.event_sinks.event_dispatcher import DispatchSources, EventDispatcher
from heat_convergence.stacks.event_sinks.lifecycle_plugins import (
    LifecyclePlugin,
    LifecyclePlugins,
    StackOperation,
)
from heat_convergence.testing.statement_counter import count_statements
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import ClockedEmulation, emulation_service
from tests.functional.project_client import ProjectClient, hot_template

Json = Any
SINK = {"type": "zaqar-queue", "target": "events"}
TEMPLATE = hot_template({"one": {"type": "OS::Heat::Value", "properties": {"value": "v"}}})


@dataclass
class RecordingPlugin(LifecyclePlugin):
    """A plug-in that records its calls, and refuses some of them."""

    calls: list[tuple[int, str, str]]
    ordinal: int = 100
    refused: str = ""
    failing: bool = False

    def before_operation(self, operation: StackOperation) -> None:
        self.calls.append((self.ordinal, operation.action, operation.status))
        if operation.action == self.refused:
            raise Forbidden("not today")

    def after_operation(self, operation: StackOperation) -> None:
        self.calls.append((self.ordinal, operation.action, operation.status))
        if self.failing:
            raise Forbidden("never mind")


@dataclass
class SinkTestbed:
    """A service whose events are dispatched when a test says so."""

    sky: ClockedEmulation
    service: LocalService
    calls: list[tuple[int, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.use_plugins()

    def use_plugins(self, *plugins: LifecyclePlugin) -> None:
        service = self.service
        lifecycle = LifecyclePlugins(plugins)
        sources = create_dispatch_sources(service.database, self.sky.cloud_for)
        self.dispatcher = EventDispatcher(sources, lifecycle, ErrorLog())
        store = EventForwardingStore(service.database, forward=self.dispatcher.enqueue)
        service.services = replace(service.services, store=store, lifecycle=lifecycle)
        service.use_settings()

    def posted(self, queue: str = "events") -> list[Json]:
        self.dispatcher.dispatch_queued()
        found = self.sky.emulation.collection("zaqar.message", {"queue_name": queue})
        return [each["body"] for each in found.bodies()]

    def states(self, queue: str = "events") -> list[tuple[str, str]]:
        payloads = [each["payload"] for each in self.posted(queue)]
        return [
            (each["resource_name"], f"{each['resource_action']}_{each['resource_status']}")
            for each in payloads
        ]


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[SinkTestbed]:
    sky = ClockedEmulation()
    service: LocalService = emulation_service(sky, tmp_path)
    yield SinkTestbed(sky, service)
    service.close()


@pytest.fixture
def heat(testbed: SinkTestbed) -> ProjectClient:
    return ProjectClient(testbed.service)


def test_events_are_posted_to_the_queue(testbed: SinkTestbed, heat: ProjectClient) -> None:
    stack_id = heat.create("s", TEMPLATE, environment={"event_sinks": [SINK]})
    assert testbed.states() == [
        ("s", "CREATE_IN_PROGRESS"),
        ("one", "CREATE_IN_PROGRESS"),
        ("one", "CREATE_COMPLETE"),
        ("s", "CREATE_COMPLETE"),
    ]
    known = {each["id"]: each for each in heat.events("s")}
    for document in testbed.posted():
        event, payload = known[document["id"]], document["payload"]
        assert (document["version"], document["type"]) == ("0.1", "os.heat.event")
        assert datetime.fromisoformat(document["timestamp"]).tzinfo is None
        assert payload["stack_id"] == stack_id
        assert payload["physical_resource_id"] == event["physical_resource_id"]
        assert payload["resource_status_reason"] == event["resource_status_reason"]
    (began, *_) = [each["payload"] for each in testbed.posted() if "one" in str(each["payload"])]
    assert began["resource_properties"] == {"value": "v"}
    heat.delete("s")
    assert testbed.states()[-2:] == [("one", "DELETE_COMPLETE"), ("s", "DELETE_COMPLETE")]


def test_nested_stacks_have_the_sinks_too(testbed: SinkTestbed, heat: ProjectClient) -> None:
    member = {"type": "OS::Heat::None"}
    group = {
        "type": "OS::Heat::ResourceGroup",
        "properties": {"count": 1, "resource_def": member},
    }
    heat.create("s", hot_template({"g": group}), environment={"event_sinks": [SINK]})
    assert ("0", "CREATE_COMPLETE") in testbed.states()


def test_stacks_without_sinks_post_nothing(testbed: SinkTestbed, heat: ProjectClient) -> None:
    heat.create("s", TEMPLATE)
    assert testbed.posted() == []
    heat.update("s", TEMPLATE, environment={"event_sinks": [SINK]})
    assert ("s", "UPDATE_COMPLETE") in testbed.states()


def test_secrets_are_not_posted(testbed: SinkTestbed, heat: ProjectClient) -> None:
    body = hot_template(
        {"one": {"type": "OS::Heat::Value", "properties": {"value": {"get_param": "secret"}}}},
        parameters={"secret": {"type": "string", "hidden": True}},
    )
    heat.create(
        "s", body, environment={"event_sinks": [SINK]}, parameters={"secret": "s3cr3t-value"}
    )
    assert testbed.posted()
    assert "s3cr3t-value" not in str(testbed.posted())


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_failing_sink_stops_neither_the_stack_nor_other_sinks(
    testbed: SinkTestbed, heat: ProjectClient, status: int
) -> None:
    path = "/queues/broken/messages"
    for _ in range(10):
        testbed.sky.emulation.inject_failure("POST", path, status)
    sinks = [{**SINK, "target": "broken"}, {**SINK, "ttl": 60}]
    heat.create("s", TEMPLATE, environment={"event_sinks": sinks})
    assert heat.status("s") == "CREATE_COMPLETE"
    if status < 500:  # the circuit breaker calls a failing service no more for a while
        assert ("s", "CREATE_COMPLETE") in testbed.states()
    testbed.posted()


@pytest.mark.parametrize(
    ("sinks", "message"),
    [
        ([{"target": "q"}], "type must be one of"),
        ([{"type": "pigeon", "target": "q"}], "type must be one of"),
        ([{"type": ["zaqar-queue"], "target": "q"}], "type must be one of"),
        ([{"type": "zaqar-queue"}], "target must be"),
        ([{**SINK, "target": "no/queue"}], "target must be"),
        ([{**SINK, "target": 7}], "target must be"),
        ([{**SINK, "ttl": "long"}], "ttl must be"),
        ([{**SINK, "ttl": 0}], "ttl must be"),
        ([{**SINK, "ttl": True}], "ttl must be"),
        ([{**SINK, "nonsense": 1}], "has no nonsense"),
        ([SINK, {**SINK, "nonsense": 1}], "event_sinks[1]"),
        ([SINK] * 11, "at most 10"),
    ],
)
def test_bad_sinks_are_refused(heat: ProjectClient, sinks: Json, message: str) -> None:
    body = {"stack_name": "s", "template": TEMPLATE, "environment": {"event_sinks": sinks}}
    answer = heat.send("POST", "/stacks", body)
    assert answer.status_int == 400
    assert message in answer.json["error"]["message"]


def no_parts(_goal_ids: Collection[str]) -> Mapping[str, str]:
    return {}


def event(number: int) -> Event:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(str(number), "s", "r", "t", None, "CREATE", Status.COMPLETE, "", now)


def test_events_without_room_are_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(event_dispatcher, "_MAX_EVENTS", 3)
    requested: list[Sequence[str]] = []

    def load_stacks(stack_ids: Sequence[str]) -> Mapping[str, Any]:
        requested.append(stack_ids)
        return {}

    sources = DispatchSources(load_stacks, no_parts, lambda _parts: {}, lambda _tree: None)
    dispatcher = EventDispatcher(sources, LifecyclePlugins(()), ErrorLog())
    dispatcher.enqueue([event(number) for number in range(5)])
    assert "dropped=2" in caplog.text
    dispatcher.dispatch_queued()
    assert requested == [["s"]]


def test_events_of_stacks_without_sinks_are_read_once_for_each_goal(
    testbed: SinkTestbed, heat: ProjectClient
) -> None:
    chain = {"two": {**TEMPLATE["resources"]["one"], "depends_on": "one"}}
    heat.create("s", {**TEMPLATE, "resources": {**TEMPLATE["resources"], **chain}}, hold=True)
    testbed.dispatcher.dispatch_queued()
    with count_statements(testbed.service.database.engine) as count:
        testbed.service.run_until_idle()
        before = count.total
        testbed.dispatcher.dispatch_queued()
        assert count.total == before
    assert heat.status("s") == "CREATE_COMPLETE"
    heat.update("s", TEMPLATE, environment={"event_sinks": [SINK]})
    assert ("s", "UPDATE_COMPLETE") in testbed.states()


def test_environment_is_not_read_again_for_a_goal_that_this_process_stored(
    testbed: SinkTestbed, heat: ProjectClient
) -> None:
    for name in ("first", "second"):
        heat.create(name, TEMPLATE, hold=True)
        with count_statements(testbed.service.database.engine) as count:
            testbed.dispatcher.dispatch_queued()
        assert count.total == (1 if name == "first" else 0), count.by_statement


def test_goals_that_others_stored_are_read_together(
    testbed: SinkTestbed, heat: ProjectClient
) -> None:
    for number in range(5):
        heat.create(f"s{number}", TEMPLATE, hold=True)
    testbed.use_plugins()  # another process, which knows no goals
    testbed.service.run_until_idle()
    with count_statements(testbed.service.database.engine) as count:
        testbed.dispatcher.dispatch_queued()
    assert count.total == 2, count.by_statement  # the goals, and their environment


def test_thread_dispatches_and_survives_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_dispatcher, "_IDLE_S", 0.05)
    served, again = threading.Event(), threading.Event()

    def load_stacks(_stack_ids: Sequence[str]) -> Mapping[str, Any]:
        if not served.is_set():
            served.set()
            raise RuntimeError("a defect")
        again.set()
        return {}

    sources = DispatchSources(load_stacks, no_parts, lambda _parts: {}, lambda _tree: None)
    dispatcher = EventDispatcher(sources, LifecyclePlugins(()), ErrorLog())
    dispatcher([event(1)])
    assert served.wait(10)
    dispatcher([event(2)])
    assert again.wait(10)


def test_plugins_are_called_around_operations(testbed: SinkTestbed, heat: ProjectClient) -> None:
    testbed.use_plugins(
        RecordingPlugin(testbed.calls, ordinal=200, failing=True),
        RecordingPlugin(testbed.calls, ordinal=50),
    )
    heat.create("s", TEMPLATE)
    testbed.dispatcher.dispatch_queued()
    assert testbed.calls == [
        (50, "CREATE", ""),
        (200, "CREATE", ""),
        (200, "CREATE", "COMPLETE"),
        (50, "CREATE", "COMPLETE"),
    ]
    testbed.calls.clear()
    heat.update("s", TEMPLATE)
    heat.perform_action("s", "suspend")
    heat.perform_action("s", "resume")
    heat.perform_action("s", "check")
    heat.delete("s")
    testbed.dispatcher.dispatch_queued()
    before = [action for ordinal, action, status in testbed.calls if (ordinal, status) == (50, "")]
    assert before == ["UPDATE", "SUSPEND", "RESUME", "CHECK", "DELETE"]
    after = [action for ordinal, action, status in testbed.calls if ordinal == 200 and status]
    assert after == before


@pytest.mark.parametrize("action", ["CREATE", "UPDATE", "SUSPEND", "DELETE"])
def test_plugin_refuses_an_operation(
    testbed: SinkTestbed, heat: ProjectClient, action: str
) -> None:
    if action != "CREATE":
        heat.create("s", TEMPLATE)
    testbed.use_plugins(RecordingPlugin(testbed.calls, refused=action))
    path = None if action == "CREATE" else heat.path("s")
    requests: Mapping[str, tuple[str, str | None, Json]] = {
        "CREATE": ("POST", "/stacks", {"stack_name": "s", "template": TEMPLATE}),
        "UPDATE": ("PUT", path, {"template": TEMPLATE}),
        "SUSPEND": ("POST", f"{path}/actions", {"suspend": None}),
        "DELETE": ("DELETE", path, None),
    }
    method, target, body = requests[action]
    answer = heat.send(method, str(target), body)
    assert answer.status_int == 403
    assert "not today" in answer.text
    stack = heat.stack("s")
    assert stack is None if action == "CREATE" else stack["stack_status"] == "CREATE_COMPLETE"
