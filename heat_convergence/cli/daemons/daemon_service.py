"""The daemons as services of oslo.service: worker processes, drain, reload.

SIGTERM drains: no new work is taken, what is at work is finished.  SIGHUP reads
the configuration again and replaces the workers one drain at a time.  Called by
``launch`` with the concurrency backend chosen.
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
from heat_convergence.cli.concurrency import set_up_database_driver
from heat_convergence.cli.daemons.workers import EngineWorker, ObserverWorker
from heat_convergence.template.functions import yaql

LOG = logging.getLogger(__name__)


class DaemonWorker(Protocol):
    """What runs in a worker process."""

    def start(self) -> None: ...
    def stop(self, *, timeout_s: float) -> None: ...


class DaemonService(ServiceBase):  # type: ignore[misc]  # untyped library
    """oslo.service's view of a worker.

    One object in the parent, copied by each fork; everything that holds a
    connection or a thread is made in ``start``, in the child.
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
        self._make = worker_factory
        self._running: DaemonWorker | None = None
        self._parts: ProcessComponents | None = None
        self._stopped: threading.Event | None = None

    def start(self) -> None:
        # The parent reads the files again on SIGHUP, but goes on logging as it did.
        config.configure_logging(self._conf)
        if self._conf.log_options:
            self._conf.log_opt_values(LOG, logging.DEBUG)
        self._stopped = threading.Event()
        self._parts = assemble_components(self._conf, transport_url=self._transport_url)
        self._running = self._make(self._parts)
        self._running.start()

    def stop(self, graceful: bool = True) -> None:
        if self._running is None or self._parts is None or self._stopped is None:
            return  # the parent's copy, which was never started
        running, self._running = self._running, None
        running.stop(timeout_s=self._conf.graceful_shutdown_timeout or 3600)
        self._parts.close()
        self._stopped.set()

    def wait(self) -> None:
        if self._stopped is not None:
            self._stopped.wait()

    def reset(self) -> None:
        """Reloading replaces the process: nothing to be reset in this one."""


def run_engine(arguments: Sequence[str]) -> int:
    conf = config.load_config(arguments, prog="heat-convergence-engine")
    return run_daemon(conf, conf.num_engine_workers, EngineWorker)


def run_observer(arguments: Sequence[str]) -> int:
    conf = config.load_config(arguments, prog="heat-convergence-observer")
    return run_daemon(conf, conf.observer.workers, ObserverWorker)


def run_daemon(
    conf: cfg.ConfigOpts,
    workers: int | None,
    worker_factory: Callable[[ProcessComponents], DaemonWorker],
    *,
    transport_url: str | None = None,
) -> int:
    """Run worker processes until told to stop, replacing those that die.

    Without ``transport_url``, the option of that name counts.
    """
    set_up_database_driver(conf.concurrency, conf.database.connection)
    yaql.preload_grammar()  # once for all workers, which are forks of this process
    launcher = service.ProcessLauncher(conf, restart_method="reload")
    daemon = DaemonService(conf, worker_factory, transport_url=transport_url)
    launcher.launch_service(daemon, workers=workers or os.cpu_count() or 1)
    launcher.wait()
    return 0
