"""The API's daemon: the web application in each of its workers.

Apart from ``daemons`` because a web framework is ten megabytes that engines and
observers have no use for.  Called by ``launch``, ``standalone`` and ``wsgi``.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence

from heat_convergence.api.app import build_app
from heat_convergence.api.context import Auth
from heat_convergence.api.middleware.faults import Wsgi
from heat_convergence.cli import config
from heat_convergence.cli.api_server import ApiServer, is_loopback, listen
from heat_convergence.cli.concurrency import EVENTLET
from heat_convergence.cli.daemons import run
from heat_convergence.cli.green_api_server import GreenApiServer
from heat_convergence.cli.wiring import Parts, api_services

LOG = logging.getLogger(__name__)


class ApiWorker:
    """Serves the API in this process; the database may come later (503 until then)."""

    def __init__(self, parts: Parts, listener: socket.socket) -> None:
        conf = parts.conf
        server = GreenApiServer if conf.concurrency == EVENTLET else ApiServer
        self._server: ApiServer | GreenApiServer = server(
            listener,
            application(parts),
            threads=conf.heat_api.threads,
            drain_s=conf.graceful_shutdown_timeout or 3600,
        )

    def start(self) -> None:
        self._server.launch()
        LOG.info("the API answers at %s port %s", *self._server.bind_addr)

    def stop(self, *, within_s: float) -> None:
        self._server.stop()


def api(arguments: Sequence[str]) -> int:
    conf = config.load(arguments, prog="heat-convergence-api")
    where = conf.heat_api
    if where.auth_strategy == "noauth" and not is_loopback(where.bind_host):
        LOG.critical(
            "[heat_api] auth_strategy = noauth lets everyone do everything, so that bind_host "
            "has to be a loopback address such as 127.0.0.1, not %s.",
            where.bind_host,
        )
        return 1
    listener = listen(where.bind_host, where.bind_port, backlog=where.backlog)
    return run(conf, where.workers, lambda parts: ApiWorker(parts, listener))


def application(parts: Parts) -> Wsgi:
    """The API of ``parts`` as a WSGI application."""
    auth = Auth(parts.conf.heat_api.auth_strategy)
    return build_app(api_services(parts), auth=auth, conf=parts.conf)
