"""The service in process, and behind a server on loopback for clients that need a socket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from heat_convergence.api.services import ApiOptions
from tests.conftest import MARIADB, POSTGRESQL, fresh_database
from tests.functional.harness import LocalService

PROJECT = "p"


@dataclass(frozen=True, slots=True)
class LiveServer:
    """A service and its ``endpoint``, as the service catalog would list it."""

    service: LocalService
    endpoint: str


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    options = ApiOptions(enable_stack_abandon=True, enable_stack_adopt=True)
    service = LocalService(f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite", options)
    server = make_server("127.0.0.1", 0, service.app, _Server, _Quiet)
    thread = threading.Thread(target=server.serve_forever, name="live server")
    thread.start()
    yield LiveServer(service, f"http://127.0.0.1:{server.server_port}/v1/{PROJECT}")
    server.shutdown()
    thread.join()
    server.server_close()
    service.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[LocalService]:
    service = LocalService(f"sqlite:///{tmp_path}/hc.sqlite")
    yield service
    service.close()


@pytest.fixture(scope="module", params=["sqlite", "mariadb", "postgresql"])
def any_database_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Yield an empty database of each kind in turn."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('db')}/hc.sqlite"
    elif request.param == "mariadb":
        yield from fresh_database(MARIADB, "MariaDB")
    else:
        yield from fresh_database(POSTGRESQL, "PostgreSQL")
