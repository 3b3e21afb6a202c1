"""The daemons as services of oslo.service: worker processes, drain and reload.

SIGTERM drains: workers accept no new messages and finish their jobs. SIGHUP reads the
configuration again and replaces the workers one at a time. Called by ``main`` with the
concurrency backend set up.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from oslo_config import cfg
from oslo_service import service
from oslo_service.backend.base import ServiceBase

from heat_convergence.cli import config
from heat_convergence.cli.components.assembly import ProcessComponents, assemble_components
from heat_convergence.cli.components.required_modules import DAEMON_MODULES, check_startup
from heat_convergence.cli.concurrency import set_up_database_driver
from heat_convergence.cli.daemons.workers import EngineWorker, ObserverWorker
from heat_convergence.template.functions import yaql

LOG = logging.getLogger(__name__)


class DaemonWorker(Protocol):
    """The work of one worker process."""

    def start(self) -> None:
        """Start working in the background."""

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
        *,
        transport_url: str | None = None,
    ) -> None:
        self._conf = conf
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
        self._components = assemble_components(self._conf, transport_url=self._transport_url)
        self._worker = self._worker_factory(self._components)
        self._worker.start()

    def stop(self, graceful: bool = True) -> None:
        """Drain the worker and close its connections."""
        if self._worker is None or self._components is None or self._stopped is None:
            return  # this is the parent's copy, which was never started
        worker, self._worker = self._worker, None
        worker.stop(timeout_s=self._conf.graceful_shutdown_timeout or 3600)
        self._components.close()
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
    return run_daemon(conf, conf.num_engine_workers, EngineWorker)


def run_observer(arguments: Sequence[str]) -> int:
    """Run the observer daemon with the arguments of its command line."""
    conf = config.load_config(arguments, prog="heat-convergence-observer")
    return run_daemon(conf, conf.observer.workers, ObserverWorker)


def run_daemon(
    conf: cfg.ConfigOpts,
    workers: int | None,
    worker_factory: Callable[[ProcessComponents], DaemonWorker],
    *,
    transport_url: str | None = None,
) -> int:
    """Run worker processes until a signal stops them, and replace those that die.

    Args:
        conf: The configuration.
        workers: Number of processes; None for the number of processors.
        worker_factory: Function that builds the worker of a process.
        transport_url: URL instead of the option of that name.

    Returns:
        Exit code: 1 when a module that an option needs is not installed.
    """
    if not check_startup(conf, DAEMON_MODULES):
        return 1
    set_up_database_driver(conf.concurrency, conf.database.connection)
    yaql.preload_grammar()  # once for all workers, which are forks of this process
    launcher = service.ProcessLauncher(conf, restart_method="reload")
    daemon = DaemonService(conf, worker_factory, transport_url=transport_url)
    launcher.launch_service(daemon, workers=workers or os.cpu_count() or 1)
    launcher.wait()
    return 0
