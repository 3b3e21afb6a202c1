"""The listener of RPC messages: how often it wakes up, on a connection that records it."""

from __future__ import annotations

from types import SimpleNamespace

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging._drivers import amqpdriver
from oslo_messaging._drivers.common import Timeout

from heat_convergence.rpc.rabbit_listener import RpcListener
from heat_convergence.rpc.transport import create_transport


class RecordingConnection:
    """A connection to a broker that has one message and then none."""

    def __init__(self) -> None:
        self.waits_s: list[float] = []
        self.listener: amqpdriver.AMQPListener | None = None

    def consume(self, timeout: float) -> None:
        """Deliver the message at the first call; let the time pass at the others."""
        self.waits_s.append(timeout)
        assert self.listener is not None
        if len(self.waits_s) == 1:
            self.listener.incoming.append(SimpleNamespace(unique_id="1"))
            return
        if len(self.waits_s) == 4:
            self.listener._shutdown.set()
        raise Timeout


def recorded_waits(listener_type: type[amqpdriver.AMQPListener]) -> list[float]:
    """Return how long a listener waits for its first message and then for the next ones."""
    connection = RecordingConnection()
    connection.listener = listener_type(SimpleNamespace(prefetch_size=1), connection)
    assert len(connection.listener.poll()) == 1
    connection.listener.poll()
    return connection.waits_s


def test_listener_waits_long_after_a_message() -> None:
    longest_s = amqpdriver.ACK_REQUEUE_EVERY_SECONDS_MAX
    assert recorded_waits(RpcListener) == [longest_s] * 4
    # Were this no longer so, the listener of this service would not be needed.
    assert max(recorded_waits(amqpdriver.NotificationAMQPListener)) < longest_s / 100


@pytest.fixture
def transport() -> oslo_messaging.RPCTransport:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    return create_transport(conf, url="rabbit://127.0.0.1:9/")


def test_driver_uses_the_listener(
    transport: oslo_messaging.RPCTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = transport._driver
    connection = SimpleNamespace(declare_topic_consumer=lambda **_options: None)
    for name in ("declare_direct_consumer", "declare_fanout_consumer"):
        setattr(connection, name, lambda *_arguments, **_options: None)
    monkeypatch.setattr(driver, "_get_connection", lambda *_arguments: connection)
    target = oslo_messaging.Target(exchange="x", topic="t", server="s")
    adapter = driver.listen(target, batch_size=1, batch_timeout=None)
    assert isinstance(adapter._poll_style_listener, RpcListener)
