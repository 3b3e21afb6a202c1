"""The daemons as services of oslo.service: worker processes, drain and reload.

SIGTERM drains: workers accept no new messages and finish their jobs. SIGHUP reads the
configuration again and replaces the workers one at a time. Called by ``main`` with the
concurrency backend set up.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from oslo_config import cfg
from oslo_service import service
from oslo_service.backend.base import ServiceBase

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents, assemble_components
from heat_convergence.cli.concurrency import EVENTLET, set_up_database_driver
from heat_convergence.cli.daemons.workers import EngineWorker, ObserverWorker
from heat_convergence.cli.guru_meditation import set_up_reports
from heat_convergence.cli.metrics.database_metrics import DatabaseCollector
from heat_convergence.cli.metrics.exposition import MetricsEndpoint, open_metrics_socket
from heat_convergence.cli.startup.checks import check_configuration
from heat_convergence.cli.startup.process_memory import settle_memory
from heat_convergence.cli.startup.required_modules import DAEMON_MODULES
from heat_convergence.cli.startup.startup_state import StartupProblem, StartupState
from heat_convergence.cli.tracing.setup import start_tracing, stop_tracing
from heat_convergence.cli.watchdog import Watchdog, systemd_watchdog
from heat_convergence.common import errors
from heat_convergence.resources.registry import IncompleteInstallation

LOG = logging.getLogger(__name__)
_WAIT_FOR_WORKERS_S = 1  # pause of a parent process between two looks at its workers


class DaemonWorker(Protocol):
    """The work of one worker process."""

    def start(self, startup: StartupState) -> None:
        """Start working in the background, and report there whether that succeeds."""

    def stop(self, *, timeout_s: float) -> None:
        """Drain, for at most ``timeout_s`` seconds."""


class DaemonService(ServiceBase):  # type: ignore[misc]  # untyped library
    """A worker as oslo.service sees it.

    The parent has one object, copied by each fork. ``start`` runs in the child and opens every
    connection and thread.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        worker_factory: Callable[[ProcessComponents], DaemonWorker],
        startup: StartupState,
        *,
        transport_url: str | None = None,
        metrics: MetricsEndpoint,
        watchdog: Watchdog,
    ) -> None:
        self._conf = conf
        self._watchdog = watchdog
        self._metrics = metrics
        self._startup = startup
        self._transport_url = transport_url
        self._worker_factory = worker_factory
        self._worker: DaemonWorker | None = None
        self._components: ProcessComponents | None = None
        self._stopped: threading.Event | None = None

    def start(self) -> None:
        """Build the components of this process and start its worker."""
        # The parent reads the files again on SIGHUP, but keeps its own logging set-up.
        config.configure_logging(self._conf)
        if self._conf.log_options:
            self._conf.log_opt_values(LOG, logging.DEBUG)
        self._stopped = threading.Event()
        self._watchdog.start_pulse()
        problem = None
        try:
            self._start_worker()
        except Exception as error:  # noqa: BLE001  # error boundary of the start
            problem = _as_problem(error)
        if problem is not None:
            self._startup.fail(problem)

    def _start_worker(self) -> None:
        start_tracing(self._conf)
        self._components = assemble_components(self._conf, transport_url=self._transport_url)
        self._worker = self._worker_factory(self._components)
        self._worker.start(self._startup)
        self._metrics.serve(self._components)
        settle_memory()

    def stop(self, graceful: bool = True) -> None:
        """Drain the worker and close its connections."""
        if self._stopped is None:
            return  # this is the parent's copy, which was never started
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(timeout_s=self._conf.graceful_shutdown_timeout or 3600)
        self._metrics.stop()
        stop_tracing()
        components, self._components = self._components, None
        if components is not None:
            components.close()
        self._watchdog.stop_pulse()
        self._stopped.set()

    def wait(self) -> None:
        """Wait until the worker has stopped."""
        if self._stopped is not None:
            self._stopped.wait()

    def reset(self) -> None:
        """Do nothing: a reload replaces the process."""


def run_engine(arguments: Sequence[str]) -> int:
    """Run the engine daemon with the arguments of its command line."""
    conf = config.load_config(arguments, prog="heat-convergence-engine")
    check_configuration(conf, DAEMON_MODULES)
    endpoint = MetricsEndpoint(
        open_metrics_socket(conf.metrics.bind_host, conf.metrics.engine_port)
    )
    return run_daemon(conf, conf.num_engine_workers, EngineWorker, metrics=endpoint)


def run_observer(arguments: Sequence[str]) -> int:
    """Run the observer daemon with the arguments of its command line."""
    conf = config.load_config(arguments, prog="heat-convergence-observer")
    check_configuration(conf, DAEMON_MODULES)
    endpoint = MetricsEndpoint(
        open_metrics_socket(conf.metrics.bind_host, conf.metrics.observer_port),
        [lambda components: DatabaseCollector(components.database, components.clock)],
    )
    return run_daemon(conf, conf.observer.workers, ObserverWorker, metrics=endpoint)


def _as_problem(error: Exception) -> StartupProblem:
    if isinstance(error, StartupProblem):
        return error
    if isinstance(error, errors.Error):
        return StartupProblem(error.log_text)
    if not isinstance(error, cfg.Error | IncompleteInstallation | OSError):
        LOG.error("worker cannot start", exc_info=error)
    return StartupProblem(f"{type(error).__name__}: {error}")


def run_daemon(
    conf: cfg.ConfigOpts,
    workers: int | None,
    worker_factory: Callable[[ProcessComponents], DaemonWorker],
    *,
    transport_url: str | None = None,
    metrics: MetricsEndpoint | None = None,
) -> int:
    """Run worker processes until a signal stops them, and replace those that die.

    Args:
        conf: The configuration.
        workers: Number of processes; None for the number of processors.
        worker_factory: Function that builds the worker of a process.
        transport_url: URL instead of the option of that name.
        metrics: Endpoint of the metrics; None for none.

    Returns:
        Exit code: 0 after a signal, else that of the problem of a worker's start.
    """
    startup, watchdog = StartupState(), systemd_watchdog(os.environ)
    set_up_reports(conf)
    set_up_database_driver(conf.concurrency, conf.database.connection)
    signal.signal(signal.SIGTERM, startup.end_with_exit_code)
    # The launcher of native threads waits for its workers instead of asking for them.
    pause = {"wait_interval": _WAIT_FOR_WORKERS_S} if conf.concurrency == EVENTLET else {}
    launcher = service.ProcessLauncher(conf, restart_method="reload", **pause)
    daemon = DaemonService(
        conf,
        worker_factory,
        startup,
        transport_url=transport_url,
        metrics=metrics or MetricsEndpoint(),
        watchdog=watchdog,
    )
    launcher.launch_service(daemon, workers=workers or os.cpu_count() or 1)
    watchdog.start()
    try:
        launcher.wait()
    except SystemExit as end:  # the launcher of native threads ends so
        return startup.exit_code or int(end.code or 0)
    return startup.exit_code
