"""The API daemons: the web application in each of their worker processes.

The Orchestration API and the CloudFormation API are daemons of their own, with the same server.
Separate from ``daemon_service`` because the web framework takes ten megabytes that engines and
observers do not need. Called by ``main``, ``standalone`` and ``wsgi``.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oslo_config import cfg

from heat_convergence.api.app import build_app
from heat_convergence.api.cfn.app import build_cfn_app
from heat_convergence.api.context import AuthStrategy
from heat_convergence.api.middleware.faults import WsgiApplication
from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents, create_api_services
from heat_convergence.cli.concurrency import EVENTLET
from heat_convergence.cli.daemons.daemon_service import run_daemon
from heat_convergence.cli.daemons.eventlet_server import EventletApiServer
from heat_convergence.cli.daemons.heartbeat import Heartbeat
from heat_convergence.cli.daemons.http_limits import HttpLimits
from heat_convergence.cli.daemons.threaded_server import (
    ThreadedApiServer,
    create_listener,
    is_loopback,
)
from heat_convergence.cli.metrics.exposition import MetricsEndpoint, open_metrics_socket
from heat_convergence.cli.startup.checks import check_configuration
from heat_convergence.cli.startup.required_modules import API_MODULES, DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import EXIT_REFUSED, StartupProblem, StartupState
from heat_convergence.cli.startup.token_options import register_token_options
from heat_convergence.cli.startup.waiting import wait_for_database
from heat_convergence.common import errors
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary

LOG = logging.getLogger(__name__)
HEARTBEAT_CHECK_S = 5.0


@dataclass(frozen=True, slots=True)
class HttpDaemon:
    """An API daemon: its names in logs and in the list of services, and its application."""

    binary: str
    topic: str
    build: Callable[..., WsgiApplication]


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The address at which a daemon listens, and the port of its metrics."""

    host: str
    port: int
    metrics_port: int


ORCHESTRATION = HttpDaemon("heat-convergence-api", "api", build_app)
CLOUDFORMATION = HttpDaemon("heat-convergence-api-cfn", "api-cfn", build_cfn_app)


class ApiWorker:
    """An API server in this process.

    It answers 503 until the database is available and has the schema of this release.
    """

    def __init__(
        self,
        components: ProcessComponents,
        listener: socket.socket,
        daemon: HttpDaemon = ORCHESTRATION,
    ) -> None:
        conf = components.conf
        self._components = components
        self._daemon = daemon
        self._startup = StartupState()
        self._stopping = threading.Event()
        self._heartbeat = Heartbeat(components, daemon.binary, daemon.topic, components.ids())
        self._reporting = threading.Thread(target=self._report, name="report", daemon=True)
        server = EventletApiServer if conf.concurrency == EVENTLET else ThreadedApiServer
        self._server: ThreadedApiServer | EventletApiServer = server(
            listener, create_application(components, daemon), http_limits(conf)
        )

    def start(self, startup: StartupState) -> None:
        """Serve requests in the background."""
        self._startup = startup
        self._server.serve_in_background()
        self._reporting.start()
        LOG.info(
            "worker started: binary=%(binary)s address=%(address)s port=%(port)s",
            {
                "binary": self._daemon.binary,
                "address": self._server.bind_addr[0],
                "port": self._server.bind_addr[1],
            },
        )

    def _report(self) -> None:
        """Wait for the database, then write heartbeats until the worker stops."""
        check = self._components.check_database
        if not wait_for_database(check, self._startup, self._stopping):
            return
        self._startup.mark_ready()
        boundary = ErrorBoundary(BoundaryName.DAEMON, self._components.errors)
        while not self._stopping.is_set():
            boundary.contain(self._write_heartbeat)
            self._stopping.wait(HEARTBEAT_CHECK_S)
        self._heartbeat.remove()

    def _write_heartbeat(self) -> None:
        try:
            self._heartbeat.write_if_due()
        except errors.Error as error:
            LOG.warning(
                "heartbeat not written: binary=%(binary)s error=%(error)s",
                {"binary": self._daemon.binary, "error": error.log_text},
            )

    def stop(self, *, timeout_s: float) -> None:
        """Finish running requests and stop."""
        self._stopping.set()
        self._server.stop()
        self._reporting.join(HEARTBEAT_CHECK_S)


def run_api(arguments: Sequence[str]) -> int:
    """Run the API daemon with the arguments of its command line.

    Raises:
        StartupProblem: The configuration cannot be used, or would serve strangers without
            authentication.
    """
    conf = config.load_config(arguments, prog=ORCHESTRATION.binary)
    options = conf.heat_api
    address = ListenAddress(options.bind_host, options.bind_port, conf.metrics.api_port)
    return _run(conf, ORCHESTRATION, address, options.workers)


def run_api_cfn(arguments: Sequence[str]) -> int:
    """Run the daemon of the CloudFormation API with the arguments of its command line.

    Raises:
        StartupProblem: As ``run_api``.
    """
    conf = config.load_config(arguments, prog=CLOUDFORMATION.binary)
    options = conf.heat_api_cfn
    address = ListenAddress(options.bind_host, options.bind_port, conf.metrics.api_cfn_port)
    return _run(conf, CLOUDFORMATION, address, options.workers)


def _run(
    conf: cfg.ConfigOpts, daemon: HttpDaemon, address: ListenAddress, workers: int | None
) -> int:
    """Run a daemon that listens at an address."""
    if conf.heat_api.auth_strategy == "noauth" and not is_loopback(address.host):
        raise StartupProblem(
            "[heat_api] auth_strategy = noauth authorizes every caller: bind_host must be a"
            f" loopback address such as 127.0.0.1, not {address.host}."
        )
    register_token_options(conf)
    check_configuration(conf, (*DAEMON_MODULES, *API_MODULES))
    listener = listen(address.host, address.port, backlog=conf.heat_api.backlog)
    return run_daemon(
        conf,
        workers,
        lambda components: ApiWorker(components, listener, daemon),
        metrics=MetricsEndpoint(open_metrics_socket(conf.metrics.bind_host, address.metrics_port)),
    )


def listen(host: str, port: int, *, backlog: int) -> socket.socket:
    """Return the listening socket of the API.

    Raises:
        StartupProblem: The address cannot be used.
    """
    try:
        return create_listener(host, port, backlog=backlog)
    except OSError as error:
        raise StartupProblem(
            f"the API cannot listen at port {port} of {host}: {error.strerror or error}",
            EXIT_REFUSED,
        ) from error


def create_application(
    components: ProcessComponents, daemon: HttpDaemon = ORCHESTRATION
) -> WsgiApplication:
    """Return the API of a daemon as a WSGI application."""
    auth = AuthStrategy(components.conf.heat_api.auth_strategy)
    components.expression_sandbox.start()  # no request waits for it
    return daemon.build(
        create_api_services(components),
        auth=auth,
        conf=components.conf,
        check_ready=components.check_database,
    )


def http_limits(conf: cfg.ConfigOpts) -> HttpLimits:
    """Return the limits on connections and requests of an API process."""
    options = conf.heat_api
    return HttpLimits(
        threads=options.threads,
        queued_requests=options.max_queued_requests,
        connections=options.max_connections,
        idle_timeout_s=options.idle_timeout,
        header_timeout_s=options.header_timeout,
        body_timeout_s=options.body_timeout,
        body_bytes=conf.max_json_body_size,
        shutdown_timeout_s=conf.graceful_shutdown_timeout or 3600.0,
    )
