"""Notifications on RabbitMQ, from services that publish them to the reads of the observer."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import oslo_messaging
import pytest
from oslo_config import cfg
from oslo_context.context import RequestContext
from prometheus_client import REGISTRY
from sqlalchemy.engine import make_url

from heat_convergence.cli.daemons.notification_threads import NotificationThreads
from heat_convergence.common.error_log import ErrorLog
from heat_convergence.conf.opts import register_all_opts
from heat_convergence.rpc import messages
from tests.functional.drift.drift_cases import INTERVAL_S, drift, ours, watch
from tests.functional.drift.drift_cases import template_with_everything as everything
from tests.functional.harness import LocalService
from tests.functional.openstack_types.emulated_service import (
    ClockedEmulation,
    create_stack,
    emulation_service,
    physical_id,
)
from tests.integration.proxy import Proxy

Json = Any
ARRIVES_S = 60.0
FLOOD = 3000
KEPT_IDS = 2000
PROJECT = "p"
SERVERS, PORTS, VOLUMES = (
    "GET compute /servers/detail",
    "GET network /ports",
    "GET block_storage /volumes/detail",
)

# A server that differs is compared with the ids of the names in its template.
LOOKUPS = {"GET compute /flavors/detail", "GET image /images"}


def counted(outcome: str) -> float:
    """Return how many notifications this process has received with an outcome."""
    return sum(
        sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == "heat_convergence_notifications_total"
        and sample.labels["outcome"] == outcome
    )


def wait_until(condition: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + ARRIVES_S
    while not condition():
        assert time.monotonic() < ends_at, "it has not happened in time"
        threading.Event().wait(0.02)


@dataclass
class Publisher:
    """A service that sends notifications as oslo.messaging does."""

    url: str

    def send(self, exchange: str, event_type: str, payloads: list[Json]) -> None:
        conf = cfg.ConfigOpts()
        conf([], default_config_files=[], default_config_dirs=[])
        oslo_messaging.set_transport_defaults(exchange)
        transport = oslo_messaging.get_notification_transport(conf, url=self.url)
        versioned = event_type.startswith("instance.")
        notifier = oslo_messaging.Notifier(
            transport,
            f"{exchange}.host",
            driver="messagingv2",
            topics=["versioned_notifications" if versioned else "notifications"],
            serializer=messages.ContextSerializer(),
        )
        for payload in payloads:
            notifier.info(RequestContext(project_id=PROJECT), event_type, payload)
        transport.cleanup()
        oslo_messaging.set_transport_defaults("openstack")


@pytest.fixture
def emulated_cloud() -> ClockedEmulation:
    return ClockedEmulation()


@pytest.fixture
def service(tmp_path: Path, emulated_cloud: ClockedEmulation) -> Iterator[LocalService]:
    service = emulation_service(emulated_cloud, tmp_path)
    service.use_settings(watch_interval_s=INTERVAL_S)
    yield service
    service.close()


@pytest.fixture
def listen(service: LocalService) -> Iterator[Callable[[str], None]]:
    """Return a function that lets the observer listen at a URL."""
    stop = threading.Event()
    started: list[NotificationThreads] = []

    def listen(url: str) -> None:
        conf = cfg.ConfigOpts()
        register_all_opts(conf)
        conf([], default_config_files=[], default_config_dirs=[])
        conf.set_override("enabled", True, group="notification_listener")
        conf.set_override("transport_urls", [url], group="notification_listener")
        exchanges = ["nova", "neutron", "openstack"]
        conf.set_override("exchanges", exchanges, group="notification_listener")
        threads = NotificationThreads(conf, service.notifications.receive, stop, ErrorLog())
        threads.start()
        started.append(threads)

    yield listen
    stop.set()
    for threads in started:
        threads.stop()


@pytest.fixture
def publisher(
    rabbit_url: str, listen: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> Publisher:
    """Return a publisher on a virtual host that the observer listens to."""
    caplog.set_level(logging.INFO)
    listen(rabbit_url)
    wait_until(lambda: "listening to notifications" in caplog.text)
    # As other services declare their exchanges by default, and unlike this one.
    return Publisher(f"{rabbit_url}?amqp_durable_queues=false&rabbit_quorum_queue=false")


def run(service: LocalService) -> None:
    """Run one round of the observer."""
    service.notifications.tick()
    service.observer.tick()
    service.watch.tick()


def lists(cloud: ClockedEmulation) -> set[str]:
    """Return the paths that were called."""
    return {each.split("?")[0] for each in cloud.emulation.request_counts}


CASES: dict[str, tuple[str, str, str, Callable[[str], Json], str]] = {
    "unversioned Nova": (
        "nova", "compute.instance.update", "server",
        lambda key: {"instance_id": key, "tenant_id": PROJECT}, SERVERS,
    ),
    "versioned Nova": (
        "nova", "instance.update", "server",
        lambda key: {"nova_object.data": {"uuid": key, "tenant_id": PROJECT}}, SERVERS,
    ),
    "Neutron": (
        "neutron", "port.update.end", "port",
        lambda key: {"port": {"id": key, "project_id": PROJECT}}, PORTS,
    ),
    "Cinder": (
        "openstack", "volume.update.end", "volume",
        lambda key: {"volume_id": key, "tenant_id": PROJECT}, VOLUMES,
    ),
}  # fmt: skip
NOUNS = {"server": "nova.server", "port": "neutron.port", "volume": "cinder.volume"}


@pytest.mark.parametrize("case", sorted(CASES))
def test_announced_change_is_read_by_one_list(service, emulated_cloud, publisher, case):
    exchange, event_type, name, payload, call = CASES[case]
    path = create_stack(service, everything())
    watch(service)
    key = physical_id(service, path, name)
    ours(emulated_cloud, NOUNS[name], key).update(name="other", metadata={"tier": "b"})
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    before = counted("used")
    began = time.monotonic()
    publisher.send(exchange, event_type, [payload(key)])
    wait_until(lambda: counted("used") > before)
    run(service)
    assert time.monotonic() - began < 5
    assert lists(emulated_cloud) - LOOKUPS == {call}
    (changed,) = drift(service, path)["resources"]
    assert (changed["resource_name"], changed["drift_status"]) == (name, "MODIFIED")
    assert changed["observation_source"] == "notification"


def test_malformed_ones_are_counted_and_dropped_with_one_line_of_each_type(
    service, emulated_cloud, publisher, caplog
):
    create_stack(service, everything())
    watch(service)
    emulated_cloud.emulation.request_counts.clear()
    before = counted("malformed")
    odd: list[Json] = [{}, [], "x", None, 7, {"port": "x"}, {"port": {"id": {}}}]
    publisher.send("neutron", "port.update.end", odd)
    publisher.send("openstack", "volume.update.end", [{"volume_id": None}] * 3)
    wait_until(lambda: counted("malformed") == before + len(odd) + 3)
    run(service)
    assert lists(emulated_cloud) == set()
    lines = [r.getMessage() for r in caplog.records if "malformed notification" in r.getMessage()]
    assert len(lines) == 2
    assert any("type=port.update.end" in line for line in lines)


def test_flood_is_bounded_in_memory_and_calls(service, emulated_cloud, publisher):
    create_stack(service, everything())
    watch(service)
    service.clock.advance(2)
    run(service)
    emulated_cloud.emulation.request_counts.clear()
    before = counted("used") + counted("widened")
    flood = [{"port": {"id": str(uuid.uuid4()), "project_id": PROJECT}} for _ in range(FLOOD)]
    publisher.send("neutron", "port.update.end", flood)
    wait_until(lambda: counted("used") + counted("widened") == before + FLOOD)
    assert len(service.notifications._buffer._ids) <= KEPT_IDS
    for _ in range(10):
        run(service)
        service.clock.advance(0.1)
    assert sum(emulated_cloud.emulation.request_counts.values()) <= 1
    assert lists(emulated_cloud) <= {PORTS}


@pytest.fixture
def late_broker(rabbit_url: str) -> Iterator[Proxy]:
    """Return a broker that refuses connections until it is restored."""
    broker = Proxy(rabbit_url, default_port=5672)
    yield broker
    broker.cut()


def test_dead_bus_is_one_warning_and_resources_are_read_in_intervals(
    service, emulated_cloud, late_broker, listen, caplog
):
    caplog.set_level(logging.INFO)
    path = create_stack(service, everything())
    watch(service)
    password = make_url(late_broker.url).password
    listen(late_broker.url)
    wait_until(lambda: "no notifications until the broker answers" in caplog.text)
    warning = caplog.text.split("no notifications", 1)[1].splitlines()[0]
    assert f":{password}@" not in warning
    ours(emulated_cloud, "neutron.port", physical_id(service, path, "port"))["name"] = "other"
    watch(service, 60)
    (found,) = drift(service, path)["resources"]
    assert (found["drift_status"], found["observation_source"]) == ("MODIFIED", "sweep")
    # The listener finds the broker later on; without one its thread would outlive the test.
    late_broker.restore()
    wait_until(lambda: "listening to notifications" in caplog.text)
