"""The API's daemon: the web application in each of its workers.

Apart from ``build_daemons`` because a web framework is ten megabytes that engines and
observers have no use for.  Called by ``launch``, ``standalone`` and ``wsgi``.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence

from heat_convergence.api.app import build_app
from heat_convergence.api.context import AuthStrategy
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents, create_api_services
from heat_convergence.cli.concurrency import EVENTLET
from heat_convergence.cli.daemons.daemon_service import run_daemon
from heat_convergence.cli.daemons.eventlet_server import EventletApiServer
from heat_convergence.cli.daemons.threaded_server import (
    ThreadedApiServer,
    create_listener,
    is_loopback,
)

LOG = logging.getLogger(__name__)


class ApiWorker:
    """Serves the API in this process; the database may come later (503 until then)."""

    def __init__(self, parts: ProcessComponents, listener: socket.socket) -> None:
        conf = parts.conf
        server = EventletApiServer if conf.concurrency == EVENTLET else ThreadedApiServer
        self._server: ThreadedApiServer | EventletApiServer = server(
            listener,
            create_application(parts),
            threads=conf.heat_api.threads,
            shutdown_timeout_s=conf.graceful_shutdown_timeout or 3600,
        )

    def start(self) -> None:
        self._server.serve_in_background()
        LOG.info("the API answers at %s port %s", *self._server.bind_addr)

    def stop(self, *, timeout_s: float) -> None:
        self._server.stop()


def run_api(arguments: Sequence[str]) -> int:
    conf = config.load_config(arguments, prog="heat-convergence-api")
    where = conf.heat_api
    if where.auth_strategy == "noauth" and not is_loopback(where.bind_host):
        LOG.critical(
            "[heat_api] auth_strategy = noauth lets everyone do everything, so that bind_host "
            "has to be a loopback address such as 127.0.0.1, not %s.",
            where.bind_host,
        )
        return 1
    listener = create_listener(where.bind_host, where.bind_port, backlog=where.backlog)
    return run_daemon(conf, where.workers, lambda parts: ApiWorker(parts, listener))


def create_application(parts: ProcessComponents) -> WsgiApplication:
    """The API of ``parts`` as a WSGI application."""
    auth = AuthStrategy(parts.conf.heat_api.auth_strategy)
    return build_app(create_api_services(parts), auth=auth, conf=parts.conf)
