"""Messages within one process wake their listener, which does not look for them by itself."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_messaging._drivers import impl_fake

from heat_convergence.rpc.transport import create_transport

ARRIVES_S = 10
TOPIC = "memory-listener"


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> Iterator[oslo_messaging.RPCTransport]:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    transport = create_transport(conf, url="fake://", exchange=uuid.uuid4().hex)

    def sleep(_seconds: float) -> None:
        raise AssertionError("the listener looks for messages at intervals")

    monkeypatch.setattr(impl_fake, "time", SimpleNamespace(sleep=sleep, time=time.time))
    yield transport
    transport.cleanup()


def listen(transport: oslo_messaging.RPCTransport, server: str = "one") -> Any:
    target = oslo_messaging.Target(topic=TOPIC, server=server)
    return transport._driver.listen(target, 1, None)._poll_style_listener


def send(transport: oslo_messaging.RPCTransport, number: int, **target: Any) -> None:
    goal = oslo_messaging.Target(topic=TOPIC, **target)
    transport._driver.send(goal, {}, {"number": number})


def poll_in_thread(listener: Any) -> tuple[threading.Thread, list[int]]:
    """Poll until the listener is stopped; the list has the numbers that have arrived."""
    found: list[int] = []

    def work() -> None:
        while incoming := listener.poll():
            found.extend(each.message["number"] for each in incoming)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread, found


def wait_for(count: int, *found: list[int]) -> None:
    pause = threading.Event()
    for _ in range(1000):
        if sum(map(len, found)) >= count:
            return
        pause.wait(ARRIVES_S / 1000)


def test_message_wakes_a_listener_that_waits(transport: oslo_messaging.RPCTransport) -> None:
    listener = listen(transport)
    thread, found = poll_in_thread(listener)
    for number in range(200):
        send(transport, number)
    wait_for(200, found)
    assert found == list(range(200))
    listener.stop()
    thread.join(ARRIVES_S)
    assert not thread.is_alive()


def test_listeners_of_one_topic_share_its_messages(
    transport: oslo_messaging.RPCTransport,
) -> None:
    listeners = [listen(transport, "one"), listen(transport, "two")]
    started = [poll_in_thread(each) for each in listeners]
    for number in range(100):
        send(transport, number)
    send(transport, 1000, fanout=True)
    send(transport, 2000, server="two")
    of_both = [found for _thread, found in started]
    wait_for(103, *of_both)
    for listener, (thread, _found) in zip(listeners, started, strict=True):
        listener.stop()
        thread.join(ARRIVES_S)
    assert sorted(n for found in of_both for n in found) == [*range(100), 1000, 1000, 2000]
    assert 2000 in of_both[1]


def test_message_that_is_put_back_arrives_again(transport: oslo_messaging.RPCTransport) -> None:
    listener = listen(transport)
    send(transport, 7)
    (incoming,) = listener.poll()
    incoming.requeue()
    (again,) = listener.poll()
    assert again.message == {"number": 7}


def test_listener_outlives_the_cleanup_of_another_transport(
    transport: oslo_messaging.RPCTransport,
) -> None:
    listener = listen(transport)
    thread, found = poll_in_thread(listener)
    transport.cleanup()  # of the exchanges of all transports
    send(transport, 3)
    wait_for(1, found)
    listener.stop()
    thread.join(ARRIVES_S)
    assert found == [3]


def test_wait_ends_with_its_timeout(transport: oslo_messaging.RPCTransport) -> None:
    waits: list[float] = []

    class Arrival(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            assert timeout is not None
            waits.append(timeout)
            return super().wait(timeout)

    listener = listen(transport)
    listener._arrived = Arrival()
    assert listener.poll(timeout=0.05) == []
    assert 1 <= len(waits) <= 2  # a wait may end a little early
    assert all(0 < each <= 0.05 for each in waits)


def test_stop_before_the_first_poll(transport: oslo_messaging.RPCTransport) -> None:
    listener = listen(transport)
    send(transport, 1)
    listener.stop()
    assert listener.poll() == []
