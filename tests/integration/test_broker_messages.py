"""Messages on RabbitMQ that no daemon of this service has sent stop no daemon."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence

from kombu import Connection, Producer
from oslo_config import cfg

from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.rpc import messages
from heat_convergence.rpc.bus import RpcBus
from heat_convergence.rpc.server import create_engine_server
from heat_convergence.rpc.transport import create_transport

ARRIVES_S = 60
GARBAGE: list[tuple[bytes, str]] = [
    (b"", "application/json"),
    (b"\xff\xfe\x00", "application/json"),
    (b"[1, 2]", "application/json"),
    (b'{"oslo.version": "2.0"}', "application/json"),
    (b'{"oslo.version": "2.0", "oslo.message": "{"}', "application/json"),
    (b'{"oslo.version": "2.0", "oslo.message": "[]"}', "application/json"),
    (b'{"oslo.version": "9.0", "oslo.message": "{}"}', "application/json"),
    (b"\x80\x04\x95pickle", "application/x-python-serialize"),
    (b"x" * 5_000_000, "text/plain"),
    (b"[" * 100_000, "application/json"),
    (
        json.dumps(
            {
                "oslo.version": "2.0",
                "oslo.message": json.dumps(
                    {
                        "method": "converge",
                        "version": messages.RPC_VERSION,
                        "args": {"message": {"format": 1, "resource_ids": ["x"] * 500_000}},
                    }
                ),
            }
        ).encode(),
        "application/json",
    ),
]


class RecordedEngine:
    """An engine that records the stacks of its messages."""

    def __init__(self) -> None:
        self.stack_ids: list[str] = []
        self.called = threading.Event()

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        self.stack_ids += [hint.stack_id for hint in hints]
        self.called.set()


def test_garbage_in_the_queue_is_dropped_and_the_next_message_processed(rabbit_url: str) -> None:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    transport = create_transport(conf, url=rabbit_url)
    engine = RecordedEngine()
    server = create_engine_server(transport, engine)
    server.start(override_pool_size=1)
    try:
        with Connection(rabbit_url.replace("rabbit://", "amqp://")) as broker:
            producer = Producer(broker.channel(), routing_key=messages.ENGINE_TOPIC)
            for body, content_type in GARBAGE:
                producer.publish(
                    body,
                    exchange="heat-convergence",
                    content_type=content_type,
                    content_encoding="utf-8",
                )
        RpcBus(transport).converge([ResourceHint("s2", 1, ("a",))])
        assert engine.called.wait(ARRIVES_S)
        assert engine.stack_ids == ["s2"]
    finally:
        server.stop()
        server.wait()
        transport.cleanup()


def test_workers_leave_no_queue_of_their_own(rabbit_url: str) -> None:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    transports = [create_transport(conf, url=rabbit_url) for _ in range(3)]
    servers = [create_engine_server(transport, RecordedEngine()) for transport in transports]
    try:
        for server in servers:
            server.start(override_pool_size=1)
        for name in (messages.ENGINE_TOPIC, f"{messages.ENGINE_TOPIC}.shared"):
            _wait_for_consumers(rabbit_url, name, len(servers))
    finally:
        for server in servers:
            server.stop()
            server.wait()
        for transport in transports:
            transport.cleanup()


def _wait_for_consumers(rabbit_url: str, queue: str, count: int) -> None:
    """Wait for the consumers that a server's own thread registers after its start."""
    deadline_s = time.monotonic() + ARRIVES_S
    while _count_consumers(rabbit_url, queue) < count:
        assert time.monotonic() < deadline_s, f"{queue} has fewer than {count} consumers"
        time.sleep(0.05)
    assert _count_consumers(rabbit_url, queue) == count


def _count_consumers(rabbit_url: str, queue: str) -> int:
    with Connection(rabbit_url.replace("rabbit://", "amqp://")) as broker:
        declared = broker.channel().queue_declare(queue, passive=True)
        return int(declared.consumer_count)
