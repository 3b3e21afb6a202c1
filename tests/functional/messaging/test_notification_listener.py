"""The listener for notifications: exchanges, topics, pools, and brokers that do not answer."""

from __future__ import annotations

import logging
import queue
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_context.context import RequestContext

from heat_convergence.cli.daemons import notification_threads
from heat_convergence.cli.daemons.notification_threads import NotificationThreads
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.conf.opts import register_all_opts
from heat_convergence.rpc import messages, notification_listener
from heat_convergence.rpc.notification_listener import notification_targets, parse_url

ARRIVES_S = 10
TIMES_OUT_S = 0.2


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register_all_opts(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    # In-process exchanges are shared by the process: each test needs its own names.
    names = [f"{name}-{uuid.uuid4().hex}" for name in ("nova", "neutron")]
    options = "notification_listener"
    conf.set_override("enabled", True, group=options)
    conf.set_override("transport_urls", ["fake://"], group=options)
    conf.set_override("exchanges", names, group=options)
    return conf


class Received:
    """The notifications that arrive."""

    def __init__(self) -> None:
        self.queue: queue.Queue[tuple[Any, ...]] = queue.Queue()

    def __call__(self, *notification: Any) -> None:
        self.queue.put(notification)

    def get(self) -> tuple[Any, ...]:
        return self.queue.get(timeout=ARRIVES_S)


@pytest.fixture
def received() -> Received:
    return Received()


@pytest.fixture
def threads(conf: cfg.ConfigOpts, received: Received) -> Iterator[NotificationThreads]:
    stop = threading.Event()
    found = NotificationThreads(conf, received, stop, ErrorLog())
    yield found
    stop.set()
    found.stop()


def start_and_wait(threads: NotificationThreads, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    threads.start()
    started = threading.Event()
    for _ in range(int(ARRIVES_S / 0.05)):
        if any("listening to notifications" in each.message for each in caplog.records):
            return
        started.wait(0.05)
    raise AssertionError("the listener has not started")


def notifier(exchange: str, topic: str) -> oslo_messaging.Notifier:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    oslo_messaging.set_transport_defaults(exchange)
    transport = oslo_messaging.get_notification_transport(conf, url="fake://")
    return oslo_messaging.Notifier(
        transport,
        "test",
        driver="messagingv2",
        topics=[topic],
        serializer=messages.ContextSerializer(),
    )


def test_every_topic_of_every_exchange_is_listened_to(conf, threads, received, caplog):
    start_and_wait(threads, caplog)
    expected = set()
    options, context = conf.notification_listener, RequestContext(project_id="p")
    for exchange in options.exchanges:
        for topic in options.topics:
            sender = notifier(exchange, topic)
            sender.info(context, f"{exchange}.{topic}.info", {"id": 1})
            sender.error(context, f"{exchange}.{topic}.error", {"id": 1})
            expected |= {f"{exchange}.{topic}.info", f"{exchange}.{topic}.error"}
    arrived = [received.get() for _ in expected]
    assert {each[0] for each in arrived} == expected
    assert {(each[1]["id"], each[2]) for each in arrived} == {(1, "p")}


def test_two_observers_share_the_notifications(conf, threads, received, caplog):
    start_and_wait(threads, caplog)
    stop = threading.Event()
    other = NotificationThreads(conf, received, stop, ErrorLog())
    other.start()
    (exchange, _), topic = conf.notification_listener.exchanges, "notifications"
    for number in range(10):
        notifier(exchange, topic).info({}, f"event-{number}", {})
    assert sorted(received.get()[0] for _ in range(10)) == sorted(f"event-{n}" for n in range(10))
    with pytest.raises(queue.Empty):
        received.queue.get(timeout=TIMES_OUT_S)
    stop.set()
    other.stop()


@pytest.mark.parametrize(
    ("enabled", "urls", "expected"),
    [
        (False, ["fake://"], ()),
        (True, [], ("",)),
        (True, ["fake://a/", "fake://b/"], ("fake://a/", "fake://b/")),
    ],
)
def test_urls(conf, threads, enabled, urls, expected):
    conf.set_override("enabled", enabled, group="notification_listener")
    conf.set_override("transport_urls", urls, group="notification_listener")
    assert threads.urls == expected


def test_listener_is_off_by_default():
    conf = cfg.ConfigOpts()
    register_all_opts(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    assert not conf.notification_listener.enabled


class FailingListener:
    """A listener whose broker refuses its first starts."""

    failures = 3

    def __init__(self, *_args: Any) -> None:
        pass

    def start(self) -> None:
        if FailingListener.failures:
            FailingListener.failures -= 1
            raise OSError("connection refused")

    def stop(self) -> None:
        pass


def test_broker_that_does_not_answer_is_one_warning(conf, threads, caplog, monkeypatch):
    conf.set_override(
        "transport_urls", ["rabbit://user:hidden@dead:1/v"], group="notification_listener"
    )
    FailingListener.failures = 3
    monkeypatch.setattr(notification_threads, "ServiceListener", FailingListener)
    monkeypatch.setattr(notification_threads, "_FIRST_PAUSE_S", 0.01)
    start_and_wait(threads, caplog)
    assert FailingListener.failures == 0
    (warning,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert "connection refused" in warning
    assert "rabbit://dead:1/v" in warning
    assert "hidden" not in caplog.text


class HangingListener(FailingListener):
    """A listener whose broker never answers."""

    def start(self) -> None:
        threading.Event().wait()


def test_broker_that_hangs_is_one_warning_and_stops_nothing(conf, threads, caplog, monkeypatch):
    warned = threading.Event()
    monkeypatch.setattr(notification_threads, "ServiceListener", HangingListener)
    monkeypatch.setattr(notification_threads, "_START_TIMEOUT_S", 0.01)
    monkeypatch.setattr(notification_threads.LOG, "warning", lambda *_args: warned.set())
    threads.start()
    assert warned.wait(ARRIVES_S)
    threads.stop()  # returns although the listener has never started


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("rabbit://h/", {"rabbit_quorum_queue": "false", "amqp_durable_queues": "false"}),
        (
            "rabbit://h/?rabbit_quorum_queue=true",
            {"rabbit_quorum_queue": "true", "amqp_durable_queues": "false"},
        ),
        ("fake://", {}),
    ],
)
def test_queues_are_as_durable_as_those_of_the_services(conf, url, expected):
    assert parse_url(conf, url).query == expected


def test_url_of_the_own_notifications_is_the_default(conf):
    parse_url(conf, "")  # registers the option
    conf.set_override("transport_url", "rabbit://rpc/")
    assert [host.hostname for host in parse_url(conf, "").hosts] == ["rpc"]
    conf.set_override("transport_url", "rabbit://other/", group="oslo_messaging_notifications")
    assert [host.hostname for host in parse_url(conf, "").hosts] == ["other"]


def test_targets_are_all_topics_of_all_exchanges():
    found = notification_targets(["nova", "openstack"], ["a", "b"])
    assert [(each.exchange, each.topic) for each in found] == [
        ("nova", "a"), ("nova", "b"), ("openstack", "a"), ("openstack", "b"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("context", "project"),
    [
        ({"project_id": "p"}, "p"),
        ({"tenant": "p"}, "p"),
        ({}, ""),
        (None, ""),
        ("odd", ""),
    ],
)
def test_project_of_the_user(context, project):
    assert notification_listener._project_of(context) == project
