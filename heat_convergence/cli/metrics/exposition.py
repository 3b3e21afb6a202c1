"""The HTTP endpoint of a daemon's metrics.

The parent process opens the socket, and every worker serves it: whichever accepts a request
answers with the sum of all. Called by ``daemon_service`` and the workers.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import REGISTRY, CollectorRegistry, make_wsgi_app, multiprocess
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from heat_convergence.cli.components.assembly import ProcessComponents
from heat_convergence.cli.config import package_version
from heat_convergence.cli.metrics.process_files import FOLDER_VARIABLE

LOG = logging.getLogger(__name__)
REQUEST_TIMEOUT_S = 10.0
_BACKLOG = 16
_library: Any = multiprocess  # it has no types


def open_metrics_socket(host: str, port: int) -> socket.socket | None:
    """Return the listening socket of the metrics of a daemon, or None.

    A port that is in use is logged: the daemon goes on without the endpoint.

    Args:
        host: The address, ``[metrics] bind_host``.
        port: The daemon's port; 0 for no endpoint.
    """
    if port == 0:
        return None
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem = ""
    try:
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        problem = os.strerror(error.errno) if error.errno else str(error)
    if problem:
        LOG.warning(
            "metrics not served: address=%(address)s port=%(port)s error=%(error)s;"
            " set the daemon's port of [metrics] to a free one, or to 0",
            {"address": host, "port": port, "error": problem},
        )
        return None
    if FOLDER_VARIABLE not in os.environ:
        LOG.warning(
            "metrics not added up: each worker process shows its own; make /dev/shm, or the"
            " RUNTIME_DIRECTORY of the unit, writable, with 64 MiB of free space"
        )
    # Several processes are told of a connection, and one gets it.
    listener.setblocking(False)
    return listener


class MetricsEndpoint:
    """The endpoint of a daemon: opened by its parent process, served by each worker process.

    Args:
        listener: The listening socket; None for no endpoint.
        collectors: Functions that return further metrics of a process, which are computed when
            they are asked for.
    """

    def __init__(
        self,
        listener: socket.socket | None = None,
        collectors: Sequence[Callable[[ProcessComponents], Collector]] = (),
    ) -> None:
        self._listener = listener
        self._collectors = collectors
        self._server: _SocketServer | None = None

    def serve(self, components: ProcessComponents) -> None:
        """Serve in the background of a worker process."""
        if self._listener is None:
            return
        registry = create_registry([create(components) for create in self._collectors])
        self._server = _SocketServer(self._listener, registry)
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def stop(self) -> None:
        """Stop serving in this process; the other processes go on."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()


def create_registry(collectors: Iterable[Collector] = ()) -> CollectorRegistry:
    """Return the registry of everything that a daemon serves."""
    registry = CollectorRegistry()
    registry.register(_BuildInfo())
    for collector in collectors:
        registry.register(collector)
    if FOLDER_VARIABLE in os.environ:
        registry.register(_LiveProcesses(os.environ[FOLDER_VARIABLE]))
    else:
        registry.register(REGISTRY)
    return registry


class _BuildInfo(Collector):
    def collect(self) -> Iterable[Metric]:
        """Return the version of the program."""
        metric = GaugeMetricFamily(
            "heat_convergence_build_info", "The version of the program.", labels=("version",)
        )
        metric.add_metric((package_version(),), 1)
        yield metric


class _LiveProcesses(Collector):
    """The metrics of all processes of the daemon; gauges of those that have ended are dropped."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._files = _library.MultiProcessCollector(None, path=folder)

    def collect(self) -> Iterable[Metric]:
        """Return the sums over the processes."""
        for process_id in {path.stem.rpartition("_")[2] for path in self._folder.glob("*.db")}:
            if not Path(f"/proc/{process_id}").exists():
                _library.mark_process_dead(process_id, path=str(self._folder))
        found: Iterable[Metric] = self._files.collect()
        return found


class _SocketServer(ThreadingMixIn, WSGIServer):
    """A WSGI server on a socket that listens already."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, registry: CollectorRegistry) -> None:
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.server_name, self.server_port = listener.getsockname()[:2]
        self.setup_environ()
        self.set_app(make_wsgi_app(registry))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that has gone away."""


class _Handler(WSGIRequestHandler):
    timeout = REQUEST_TIMEOUT_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base's name
        """Log nothing: Prometheus asks every few seconds."""
