"""Hints over the in-process transport: delivery, dropping and counting."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_context.context import RequestContext, get_current
from oslo_messaging.exceptions import MessageDeliveryFailure

from heat_convergence.common.failures import Unavailable
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.rpc import messages
from heat_convergence.rpc.bus import RpcBus
from heat_convergence.rpc.server import (
    ConvergeEndpoint,
    ObserveEndpoint,
    create_engine_server,
    create_observer_server,
)
from heat_convergence.rpc.transport import create_transport

ARRIVES_S = 10


HINT = ResourceHint("s1", 3, ("a",))
ENCODED = {"stack_id": "s1", "version": 3, "resource_ids": ["a"]}


class CallRecorder:
    """An engine and an observer that record the calls of the server."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.request_ids: list[str | None] = []
        self.called = threading.Semaphore(0)

    def _record(self, method: str, hints: Sequence[ResourceHint]) -> None:
        for hint in hints:
            self.calls.append((method, hint.stack_id, hint.version, hint.resource_ids))
        context = get_current()
        self.request_ids.append(context.request_id if context else None)
        self.called.release()

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        self._record("converge", hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        self._record("observe", hints)


def empty_conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


@pytest.fixture
def transport() -> Iterator[oslo_messaging.RPCTransport]:
    # In-process exchanges are shared by the process: each test needs its own name.
    transport = create_transport(empty_conf(), url="fake://", exchange=uuid.uuid4().hex)
    yield transport
    transport.cleanup()


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[oslo_messaging.RPCTransport, CallRecorder]]:
    """A transport with servers; all tests share them, because stopping a server takes 0.5 s."""
    transport = create_transport(empty_conf(), url="fake://", exchange=uuid.uuid4().hex)
    recorder = CallRecorder()
    servers = [
        create_engine_server(transport, recorder),
        create_observer_server(transport, recorder),
    ]
    for server in servers:
        server.start(override_pool_size=2)
    yield transport, recorder
    for server in servers:
        server.stop()
        server.wait()
    transport.cleanup()


@pytest.fixture
def recorder(served: tuple[oslo_messaging.RPCTransport, CallRecorder]) -> CallRecorder:
    recorder = served[1]
    recorder.calls.clear()
    recorder.request_ids.clear()
    return recorder


@pytest.fixture
def served_transport(
    served: tuple[oslo_messaging.RPCTransport, CallRecorder],
) -> oslo_messaging.RPCTransport:
    return served[0]


def test_hint_arrives_with_its_request_id(
    served_transport: oslo_messaging.RPCTransport, recorder: CallRecorder
) -> None:
    bus = RpcBus(served_transport)
    context = RequestContext(request_id="req-6f0c64b2-31b7-4c28-a0c0-a8e2ff0bb2f6")
    bus.converge([ResourceHint("s1", 3, ("a", "b"))])
    assert recorder.called.acquire(timeout=ARRIVES_S)
    bus.observe([ResourceHint("s1", 3, ("a",))])
    assert recorder.called.acquire(timeout=ARRIVES_S)

    assert recorder.calls == [("converge", "s1", 3, ("a", "b")), ("observe", "s1", 3, ("a",))]
    assert recorder.request_ids == [context.request_id] * 2
    assert bus.sent_counts == {"converge": 1, "observe": 1}


def test_hints_of_several_stacks_arrive_in_one_message(
    served_transport: oslo_messaging.RPCTransport, recorder: CallRecorder
) -> None:
    bus = RpcBus(served_transport)
    hints = [ResourceHint("s1", 3, ("a", "b")), ResourceHint("s2", 1, ("c",))]
    for send in (bus.converge, bus.observe):
        send(hints)
        assert recorder.called.acquire(timeout=ARRIVES_S)
    assert recorder.calls == [
        (method, hint.stack_id, hint.version, hint.resource_ids)
        for method in ("converge", "observe")
        for hint in hints
    ]
    assert len(recorder.request_ids) == 2
    assert bus.sent_counts == {"converge": 1, "observe": 1}


@pytest.mark.parametrize(
    ("hints", "log_text"),
    [
        (None, "hints is no list"),
        ([], "hints is no list"),
        ([ENCODED] * (messages.MAX_STACKS + 1), "hints is no list"),
        ([ENCODED, "s2"], "a hint is no map"),
        ([ENCODED, ENCODED], "a stack is named twice"),
        ([ENCODED, {**ENCODED, "stack_id": "s2", "version": -1}], "version is -1"),
    ],
)
def test_malformed_message_about_several_stacks_is_dropped(
    hints: Any, log_text: str, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = CallRecorder()
    message = {"format": messages.FORMAT_VERSION, "hints": hints}
    ConvergeEndpoint(recorder).converge_together(None, message=message)
    ObserveEndpoint(recorder).observe_together(None, message=message)
    assert recorder.calls == []
    assert caplog.text.count(log_text) == 2


def test_message_about_one_stack_is_as_the_first_release_reads_it(
    transport: oslo_messaging.RPCTransport,
) -> None:
    client = UnreachableClient()
    bus = RpcBus(transport)
    bus._clients[messages.ENGINE_TOPIC] = client
    bus.converge([HINT])
    assert client.sent == [("1.0", "converge", messages.encode_hint(HINT))]


class UnreachableClient:
    def __init__(self) -> None:
        self.sent: list[tuple[object, ...]] = []
        self.version: object = None

    @property
    def attempts(self) -> int:
        return len(self.sent)

    def prepare(self, version: object) -> UnreachableClient:
        self.version = version
        return self

    def cast(self, _context: object, method: str, message: object) -> None:
        self.sent.append((self.version, method, message))
        raise MessageDeliveryFailure("nobody there")


def test_unreachable_broker_costs_one_attempt_and_no_error(
    transport: oslo_messaging.RPCTransport, caplog: pytest.LogCaptureFixture
) -> None:
    now = [100.0]
    bus = RpcBus(transport, send_pause_s=5.0, monotonic=lambda: now[0])
    unreachable = UnreachableClient()
    live, bus._clients[messages.ENGINE_TOPIC] = bus._clients[messages.ENGINE_TOPIC], unreachable

    with caplog.at_level(logging.WARNING):
        bus.converge([ResourceHint("s1", 1, ("a",))])
        bus.converge([ResourceHint("s1", 1, ("b",))])
    assert unreachable.attempts == 1
    assert bus.dropped_counts == {"converge": 2}
    assert "s1" in caplog.text
    assert "nobody there" in caplog.text

    now[0] += 5.1
    bus._clients[messages.ENGINE_TOPIC] = live
    bus.converge([ResourceHint("s1", 1, ("a",))])
    assert bus.sent_counts == {"converge": 1}


def test_broker_that_never_answered_raises_no_error() -> None:
    transport = create_transport(empty_conf(), url="rabbit://guest:guest@127.0.0.1:1/")
    try:
        bus = RpcBus(transport, send_retries=0)
        bus.converge([ResourceHint("s1", 1, ("a",))])
        assert bus.dropped_counts == {"converge": 1}
        assert not bus.sent_counts
    finally:
        transport.cleanup()


@pytest.mark.parametrize(
    ("change", "log_text"),
    [
        ({"format": 2}, "format 2"),
        ({"format": None}, "format None"),
        ({"stack_id": 7}, "stack_id"),
        ({"version": "3"}, "version"),
        ({"version": True}, "version"),
        ({"version": -1}, "version"),
        ({"version": 2**63}, "version"),
        pytest.param({"version": 1 << 20_000}, "version", id="long version"),
        ({"version": 1.0}, "version"),
        ({"stack_id": "s1\nforged line"}, "stack_id"),
        ({"stack_id": "\ud800"}, "stack_id"),
        ({"stack_id": ""}, "stack_id"),
        ({"resource_ids": "abc"}, "resource_ids"),
        ({"resource_ids": [1]}, "resource_ids"),
        ({"resource_ids": ["a\x00"]}, "resource_ids"),
        ({"resource_ids": [["a"]]}, "resource_ids"),
        ({"resource_ids": ["a"] * (messages.MAX_RESOURCE_IDS + 1)}, "resource_ids"),
    ],
)
def test_malformed_message_is_dropped_and_logged(
    change: dict[str, object], log_text: str, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = CallRecorder()
    message = messages.encode_hint(HINT) | change
    ConvergeEndpoint(recorder).converge(None, message=message)
    assert recorder.calls == []
    assert log_text in caplog.text


@pytest.mark.parametrize("field", ["format", "stack_id", "version", "resource_ids"])
@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, ["x" * 10**6], {"x" * 10**6: 1}, 1 << 20_000],
    ids=["text", "list", "map", "number"],
)
def test_oversized_message_is_dropped_with_a_short_log_line(
    field: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = CallRecorder()
    ObserveEndpoint(recorder).observe(None, messages.encode_hint(HINT) | {field: value})
    assert recorder.calls == []
    assert "malformed" in caplog.text
    assert len(caplog.text) < 500


def test_long_list_of_resources_is_sent_in_messages_that_are_accepted(
    served_transport: oslo_messaging.RPCTransport, recorder: CallRecorder
) -> None:
    ids = [str(number) for number in range(messages.MAX_RESOURCE_IDS + 1)]
    RpcBus(served_transport).observe([ResourceHint("s1", 3, tuple(ids))])
    for _ in range(2):
        assert recorder.called.acquire(timeout=ARRIVES_S)
    sent = [call[3] for call in recorder.calls]
    assert sorted(map(len, sent)) == [1, messages.MAX_RESOURCE_IDS]
    assert sorted(part for ids in sent for part in ids) == sorted(ids)


def test_message_without_resources_is_sent(
    served_transport: oslo_messaging.RPCTransport, recorder: CallRecorder
) -> None:
    RpcBus(served_transport).observe([ResourceHint("s1", 3, ())])
    assert recorder.called.acquire(timeout=ARRIVES_S)
    assert recorder.calls == [("observe", "s1", 3, ())]


def test_defect_while_a_message_is_handled_does_not_stop_the_server(
    transport: oslo_messaging.RPCTransport,
) -> None:
    class Defective(CallRecorder):
        def converge(self, hints: Sequence[ResourceHint]) -> None:
            if hints[0].stack_id == "bad":
                raise RuntimeError("a defect")
            super().converge(hints)

    engine = Defective()
    server = create_engine_server(transport, engine)
    server.start(override_pool_size=1)
    for stack_id in ("bad", "bad", "s2"):
        RpcBus(transport).converge([ResourceHint(stack_id, 1, ("a",))])
    assert engine.called.acquire(timeout=ARRIVES_S)
    server.stop()
    server.wait()
    assert engine.calls == [("converge", "s2", 1, ("a",))]


@pytest.mark.parametrize("message", [[], ["s1", 3, ["a"]], "s1", 7, {}, {"format": 1}])
def test_other_payload_is_dropped_and_logged(
    message: Any, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = CallRecorder()
    ConvergeEndpoint(recorder).converge(None, message=message)
    ObserveEndpoint(recorder).observe(None, message=message)
    assert recorder.calls == []
    assert caplog.text.count("malformed") == 2


@pytest.mark.parametrize(
    ("method", "version", "context"),
    [
        ("converge", "9.0", {}),
        ("converge", "0.1", {}),
        ("destroy", "1.0", {}),
        ("observe", "1.0", {}),
        ("converge", "1.0", ["no context"]),
    ],
)
def test_message_without_endpoint_is_dropped_and_the_next_processed(
    served_transport: oslo_messaging.RPCTransport,
    recorder: CallRecorder,
    method: str,
    version: str,
    context: Any,
) -> None:
    target = oslo_messaging.Target(topic=messages.ENGINE_TOPIC)
    client = oslo_messaging.get_rpc_client(served_transport, target)
    client.prepare(version=version).cast(context, method, message=messages.encode_hint(HINT))
    RpcBus(served_transport).converge([ResourceHint("s2", 1, ("b",))])
    assert recorder.called.acquire(timeout=ARRIVES_S)
    assert recorder.calls == [("converge", "s2", 1, ("b",))]


def test_message_without_payload_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    recorder = CallRecorder()
    ConvergeEndpoint(recorder).converge(None)
    assert recorder.calls == []
    assert "malformed" in caplog.text


def test_unknown_field_of_a_later_release_is_ignored() -> None:
    hint = messages.decode_hint(messages.encode_hint(HINT) | {"colour": "red"})
    assert hint == ResourceHint("s1", 3, ("a",))


def test_error_of_the_service_drops_the_message_only(caplog: pytest.LogCaptureFixture) -> None:
    class Down:
        def converge(self, *args: object) -> None:
            raise Unavailable("the database is unreachable")

    ConvergeEndpoint(Down()).converge(None, message=messages.encode_hint(HINT))
    assert "the database is unreachable" in caplog.text


def test_rabbit_queues_are_quorum_queues_and_bounded() -> None:
    conf = empty_conf()
    transport = create_transport(conf, url="rabbit://guest@127.0.0.1:1/")
    try:
        assert conf.oslo_messaging_rabbit.rabbit_quorum_queue is True
        assert conf.oslo_messaging_rabbit.rabbit_qos_prefetch_count == 16
    finally:
        transport.cleanup()
