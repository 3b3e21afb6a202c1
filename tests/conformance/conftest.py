"""The suite's clouds: the emulation, and with ``HEAT_CONVERGENCE_TEST_CLOUD`` a real one.

The variable is a file as the test bed writes it, with ``auth_url``, ``region``,
``password``, ``projects`` and ``ids``; users ``demo`` and ``admin`` are used.  Without
it the real runs are skipped, also under ``CI=true``: a control plane is none of the
three services that the tests need.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import openstack
import pytest

from heat_convergence.clients.rest_client import RequestLimiter, SdkCloudClient
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.testing.openstack.emulation import PROJECT_ID
from heat_convergence.testing.openstack.http_adapter import connect, create_emulation
from tests.conformance.type_driver import ResourceTypeDriver

TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


class ConformanceTestbed:
    """A cloud to drive types at; ``word`` fills names in braces in cases."""

    def __init__(
        self, placeholders: dict[str, str], driver: Callable[[bool], ResourceTypeDriver]
    ) -> None:
        self._words = placeholders
        self.driver = driver

    def substitute(self, value: Any) -> Any:
        if isinstance(value, str):
            for word, meaning in self._words.items():
                value = value.replace("{" + word + "}", meaning)
            return value
        if isinstance(value, dict):
            return {key: self.substitute(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.substitute(item) for item in value]
        return value


@pytest.fixture(scope="session")
def registry() -> ResourceTypeRegistry:
    return ResourceTypeRegistry.load()


@pytest.fixture
def emulated_testbed(registry) -> ConformanceTestbed:
    emulation = create_emulation()
    connection = connect(emulation)
    cloud = SdkCloudClient(str(uuid.uuid4()), PROJECT_ID, lambda: connection, RequestLimiter(8))

    def driver(admin: bool) -> ResourceTypeDriver:
        return ResourceTypeDriver(
            cloud,
            PROJECT_ID,
            registry,
            advance_time=emulation.advance,
            now=lambda: START_TIME + timedelta(seconds=emulation.now_s),
        )

    words = {
        "other_project": "5f1c0de0000000000000000000000002",
        "third_project": "5f1c0de0000000000000000000000003",
        "agent": str(uuid.uuid4()),
        "uuid": str(uuid.uuid4()),
        "file": "http://files.invalid/image",
        "second_image": "cirros-2",
        "host": "host-1",
    }
    return ConformanceTestbed(words, driver)


@pytest.fixture(scope="session")
def real_testbed(registry) -> Iterator[ConformanceTestbed]:
    path = os.environ.get(TESTBED_VARIABLE)
    if not path:
        pytest.skip(f"{TESTBED_VARIABLE} names no cloud: the real services are left out")
    facts = json.loads(Path(path).read_text())
    connections = {user: _connection(facts, user) for user in ("demo", "admin")}
    clouds = {
        user: SdkCloudClient(user, facts["projects"][user], lambda it=it: it, RequestLimiter(8))
        for user, it in connections.items()
    }

    def driver(admin: bool) -> ResourceTypeDriver:
        user = "admin" if admin else "demo"
        return ResourceTypeDriver(clouds[user], facts["projects"][user], registry)

    hosts = connections["admin"].compute.services(binary="nova-compute")
    words = {
        "other_project": facts["projects"]["alt_demo"],
        "third_project": facts["projects"]["service"],
        "uuid": str(uuid.uuid4()),
        "host": next(iter(hosts)).host,
        **facts["ids"],
    }
    with _another_image(connections["demo"]) as image, _files() as url:
        yield ConformanceTestbed({**words, "second_image": image, "file": url}, driver)


@contextmanager
def _another_image(cloud: openstack.connection.Connection) -> Iterator[str]:
    image = cloud.image.create_image(
        name=f"hc-image-{uuid.uuid4().hex[:8]}",
        disk_format="raw",
        container_format="bare",
        data=bytes(1024),
    )
    try:
        yield image.id
    finally:
        cloud.image.delete_image(image.id)


@contextmanager
def _files() -> Iterator[str]:
    """A place that Glance may fetch from: its imports know two ports, and no loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address = probe.getsockname()[0]
    try:
        server = ThreadingHTTPServer((address, 80), _File)
    except OSError as error:
        yield f"http://{address}/{type(error).__name__}"
        return
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{address}/image"
    finally:
        server.shutdown()
        server.server_close()


class _File(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:  # the library's word
        self.do_GET()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1024")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(bytes(1024))

    def log_message(self, *_: Any) -> None:
        """Nothing: a test's output is its own."""


def _connection(facts: dict[str, Any], user: str) -> openstack.connection.Connection:
    return openstack.connect(
        auth_url=facts["auth_url"],
        username=user,
        password=facts["password"],
        project_name=user,
        user_domain_id="default",
        project_domain_id="default",
        region_name=facts["region"],
    )
