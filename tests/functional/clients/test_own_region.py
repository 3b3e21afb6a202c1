"""The region of a stack whose user and configuration name none: the catalog's first one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import pytest
from webob import Request, Response

from heat_convergence.clients.circuit_breaker import CircuitBreakers
from heat_convergence.clients.clouds import RequestCloud
from heat_convergence.clients.rest_client import CloudClient, CloudRequest, RequestLimiter
from heat_convergence.clients.settings import ClientSettings
from heat_convergence.resources.driver.declarative_steps import require_cloud
from tests.functional.clients.conftest import Build, FakeTokenAuth, requester_of
from tests.functional.clients.fake_keystone import FakeKeystone

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATH = "/v1/p/stacks"


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Log nothing."""


class OrchestrationServer:
    """An Orchestration API that records requests and has no stacks."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._server = make_server("127.0.0.1", 0, self._respond, handler_class=_QuietHandler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/p"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _respond(self, environ: dict[str, Any], start_response: Any) -> Any:
        self.paths.append(Request(environ).path)
        response = Response(json={"stacks": []})
        return response(environ, start_response)


@pytest.fixture
def servers(fake: FakeKeystone) -> Iterator[tuple[OrchestrationServer, OrchestrationServer]]:
    """Provide the Orchestration APIs of the regions north and south, in the catalog's order."""
    north, south = OrchestrationServer(), OrchestrationServer()
    for region, server in (("north", north), ("south", south)):
        fake.catalog += [("identity", region, fake.url), ("orchestration", region, server.url)]
    yield north, south
    north.close()
    south.close()


def stack_client(build: Build, fake: FakeKeystone, region: str | None) -> CloudClient:
    """Return the client of a stack whose creator has named the region."""
    clouds, delegation = build()
    delegation.grant("s", replace(requester_of(fake), region=region), NOW)
    context: Any = SimpleNamespace(cloud=clouds.get("s"), project_id="p")
    return require_cloud(context, RequestLimiter(2))


@pytest.mark.parametrize(("region", "called"), [(None, 0), ("north", 0), ("south", 1)])
def test_stack_calls_the_region_of_its_creator_or_the_first(
    build: Build,
    fake: FakeKeystone,
    servers: tuple[OrchestrationServer, OrchestrationServer],
    region: str | None,
    called: int,
) -> None:
    client = stack_client(build, fake, region)
    assert client.send(CloudRequest("orchestration", "GET", "/stacks")).body == {"stacks": []}
    assert [server.paths.count(PATH) for server in servers] == [1 - called, called]


def test_request_without_region_calls_the_first(
    fake: FakeKeystone, servers: tuple[OrchestrationServer, OrchestrationServer]
) -> None:
    settings = ClientSettings()
    cloud = RequestCloud(
        FakeTokenAuth(fake, "demo-id"), settings, None, CircuitBreakers(settings.circuits)
    )
    context: Any = SimpleNamespace(cloud=cloud, project_id="p")
    client = require_cloud(context, RequestLimiter(2))
    client.send(CloudRequest("orchestration", "GET", "/stacks"))
    assert (servers[0].paths.count(PATH), servers[1].paths) == (1, [])
