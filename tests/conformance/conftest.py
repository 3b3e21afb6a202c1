"""Clouds of the conformance suite: the emulation and, if configured, a real cloud.

``HEAT_CONVERGENCE_TEST_CLOUD`` names a JSON file with ``auth_url``, ``region``, ``password``,
``projects`` and ``ids`` of the real cloud; its users ``demo`` and ``admin`` are used.  Without it
the tests on a real cloud are skipped, also under ``CI=true``, as is a case of a service that the
cloud's catalog does not list.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
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
from tests.conformance.case import ConformanceCase
from tests.conformance.emulated_objects import (
    EMULATED_OBJECTS,
    ObjectFactory,
    replace_placeholders,
)
from tests.conformance.real_objects import object_factories, system_connection
from tests.conformance.type_driver import ResourceTypeDriver

TESTBED_VARIABLE = "HEAT_CONVERGENCE_TEST_CLOUD"
START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


class ConformanceTestbed:
    """A cloud and the values of the placeholders in cases.

    Args:
        placeholders: Name in braces in cases → its value, or a function that returns it.
        driver: Returns a driver for a user, whether administrator or not.
        is_emulated: Whether the services are emulated.
    """

    def __init__(
        self,
        placeholders: Mapping[str, str | ObjectFactory],
        driver: Callable[[bool], ResourceTypeDriver],
        *,
        is_emulated: bool = False,
    ) -> None:
        self._placeholders = placeholders
        self.driver = driver
        self.is_emulated = is_emulated

    def require_services(self, case: ConformanceCase) -> None:
        """Skip a test whose case has a type of a service that the cloud lacks."""
        driver = self.driver(case.needs_admin)
        types = [driver.registry.get(name) for name in case.type_names]
        for service in sorted({str(each.service) for each in types}):
            if not driver.cloud.has_service(service):
                pytest.skip(f"the cloud has no service {service}")

    def own_attributes(self, case: ConformanceCase) -> Mapping[str, Any]:
        """Return the expected values of attributes that hold on this cloud alone."""
        return case.emulation_attributes if self.is_emulated else {}

    def substitute(self, value: Any) -> Any:
        """Return the value with all placeholders replaced, at any depth."""
        return replace_placeholders(value, self._placeholders)


@pytest.fixture(scope="session")
def registry() -> ResourceTypeRegistry:
    return ResourceTypeRegistry.load()


@pytest.fixture
def emulated_testbed(registry: ResourceTypeRegistry) -> ConformanceTestbed:
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

    return ConformanceTestbed(EMULATED_OBJECTS, driver, is_emulated=True)


@pytest.fixture(scope="session")
def real_testbed(registry: ResourceTypeRegistry) -> Iterator[ConformanceTestbed]:
    path = os.environ.get(TESTBED_VARIABLE)
    if not path:
        pytest.skip(f"{TESTBED_VARIABLE} names no cloud: the real services are left out")
    testbed = json.loads(Path(path).read_text())
    connections = {user: _connection(testbed, user) for user in ("demo", "admin")}
    clouds = {
        user: _sdk_client(user, testbed["projects"][user], connection)
        for user, connection in connections.items()
    }

    def driver(admin: bool) -> ResourceTypeDriver:
        user = "admin" if admin else "demo"
        return ResourceTypeDriver(clouds[user], testbed["projects"][user], registry)

    hosts = connections["admin"].compute.services(binary="nova-compute")
    placeholders: dict[str, str | ObjectFactory] = {
        "other_project": testbed["projects"]["alt_demo"],
        "third_project": testbed["projects"]["service"],
        "uuid": str(uuid.uuid4()),
        "host": next(iter(hosts)).host,
        "database_flavor": "m1.tiny",
        "second_database_flavor": "m1.small",
        **testbed["ids"],
    }
    system = system_connection(testbed["auth_url"], testbed["region"], testbed["password"])
    with ExitStack() as cleanup:
        placeholders.update(object_factories(connections, system, cleanup))
        placeholders["file"] = cleanup.enter_context(_file_server())
        yield ConformanceTestbed(placeholders, driver)


def _sdk_client(
    user: str, project_id: str, connection: openstack.connection.Connection
) -> SdkCloudClient:
    return SdkCloudClient(user, project_id, lambda: connection, RequestLimiter(8))


@contextmanager
def _file_server() -> Iterator[str]:
    """Yield a URL that Glance may import from: on a port that it accepts, and not on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address = probe.getsockname()[0]
    try:
        server = ThreadingHTTPServer((address, 80), _FileHandler)
    except OSError as error:
        yield f"http://{address}/{type(error).__name__}"
        return
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://{address}/image"
    finally:
        server.shutdown()
        server.server_close()


class _FileHandler(BaseHTTPRequestHandler):
    """Responds with 1 KiB."""

    def do_HEAD(self) -> None:  # the library's word
        self.do_GET()

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1024")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(bytes(1024))

    def log_message(self, *_: Any) -> None:
        """Do nothing: the output of a test is its own."""


def _connection(testbed: dict[str, Any], user: str) -> openstack.connection.Connection:
    return openstack.connect(
        auth_url=testbed["auth_url"],
        username=user,
        password=testbed["password"],
        project_name=user,
        user_domain_id="default",
        project_domain_id="default",
        region_name=testbed["region"],
    )
