"""The loops of an engine's and of an observer's worker process.

Decide when leases are renewed, when signs of life are given and in which order a
worker starts and drains.  Run by ``daemons`` and ``standalone``; what is done
with a message is the engine's and the observer's own affair.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from heat_convergence.api.goals import Goals
from heat_convergence.cli.housekeeping import Housekeeping
from heat_convergence.cli.settings import limits, settings
from heat_convergence.cli.wiring import Parts, api_services, nester
from heat_convergence.common import errors
from heat_convergence.convergence.model import Service
from heat_convergence.db.engine import wait_until_up
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import ExecutorPool
from heat_convergence.observer.observer import Observer
from heat_convergence.rpc import messages
from heat_convergence.rpc.server import engine_server, observer_server

LOG = logging.getLogger(__name__)


class Worker(ABC):
    """Waits for the database, then takes messages and keeps time until ``stop``."""

    binary: str
    topic: str

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.settings = settings(parts.conf)
        self.owner = parts.ids()
        self.stopping = threading.Event()
        self._woken = threading.Event()
        self._server: Any = None
        self._loop = threading.Thread(target=self._run, name=self.binary, daemon=True)
        # A thread of its own: while no broker answers, it does not return.
        self._listen = threading.Thread(target=self._take_messages, name="listen", daemon=True)
        self._beat_at = 0.0

    def start(self) -> None:
        """Returns at once; database and broker may come later."""
        self._loop.start()

    def stop(self, *, within_s: float) -> None:
        """Take no more messages, finish those at work, leave."""
        LOG.info("%s %s drains", self.binary, self.owner)
        self.stopping.set()
        self._woken.set()
        if self._loop.ident is not None:
            self._loop.join(within_s)
        LOG.info("%s %s has stopped", self.binary, self.owner)

    def wake(self) -> None:
        """Make the loop do its round now."""
        self._woken.set()

    def _run(self) -> None:
        if not wait_until_up(
            self.parts.check, wait=self.stopping.wait, stopping=self.stopping.is_set
        ):
            return
        LOG.info("%s %s takes work", self.binary, self.owner)
        self._listen.start()
        while not self.stopping.is_set():
            pause_s = self._safe_round()
            self._woken.wait(pause_s)
            self._woken.clear()
        self._drain()

    def _safe_round(self) -> float:
        try:
            self._beat()
            return self.round()
        except errors.Error as error:
            LOG.warning("%s: a round was cut short: %s", self.binary, error)
        except Exception:  # the daemon's outermost loop
            LOG.exception("%s: a round failed", self.binary)
        return 1.0

    def _take_messages(self) -> None:
        self._server = self.server()
        self._server.start(override_pool_size=self.threads)
        LOG.info("%s %s takes messages", self.binary, self.owner)

    def _drain(self) -> None:
        if self._listen.is_alive() or self._server is None:
            return  # still without a broker: there is nothing at work
        self._server.stop()
        self._server.wait()
        self.drained()

    def _beat(self) -> None:
        now = self.parts.clock()
        if now.timestamp() < self._beat_at:
            return
        conf = self.parts.conf
        self._beat_at = now.timestamp() + conf.periodic_interval
        self.parts.store.beat(
            Service(
                id=self.owner,
                binary=self.binary,
                hostname=conf.host,
                host=conf.host,
                topic=self.topic,
                report_interval_s=conf.periodic_interval,
                created_at=now,
            ),
            now,
        )

    @property
    @abstractmethod
    def threads(self) -> int:
        """Messages handled at once."""

    @abstractmethod
    def server(self) -> Any:
        """The RPC server, not started."""

    @abstractmethod
    def round(self) -> float:
        """What time demands; returns the seconds until the next."""

    def drained(self) -> None:
        """After the last message."""


class EngineWorker(Worker):
    binary = "heat-convergence-engine"
    topic = messages.ENGINE_TOPIC

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._executor: Executor = ThreadPoolExecutor(parts.conf.engine.verb_threads, "verb")
        self.engine = Engine(
            store=parts.store,
            bus=parts.bus,
            registry=parts.registry,
            clock=parts.clock,
            ids=parts.ids,
            settings=self.settings,
            pool=ExecutorPool(self._executor),
            owner=self.owner,
            wait=self.stopping.wait,
            cloud_of=parts.cloud_of,
            functions=parts.functions,
            limits=limits(parts.conf),
            nester=nester(parts),
        )

    @property
    def threads(self) -> int:
        return int(self.parts.conf.engine.threads)

    def server(self) -> Any:
        return engine_server(self.parts.transport, self.engine, server=self.owner)

    def round(self) -> float:
        self.engine.renew()
        return self.settings.lease_s / 3

    def drained(self) -> None:
        self._executor.shutdown()


class ObserverWorker(Worker):
    binary = "heat-convergence-observer"
    topic = messages.OBSERVER_TOPIC

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.observer = Observer(
            store=parts.store,
            bus=parts.bus,
            registry=parts.registry,
            clock=parts.clock,
            ids=parts.ids,
            settings=self.settings,
            rebuild=Goals(api_services(parts)).rebuild,
            wait=self.stopping.wait,
            wake=self.wake,
            cloud_of=parts.cloud_of,
            functions=parts.functions,
            limits=limits(parts.conf),
            parsed=parts.parsed,
        )
        self._house = threading.Thread(target=self._keep_house, name="house", daemon=True)

    def start(self) -> None:
        super().start()
        self._house.start()

    @property
    def threads(self) -> int:
        return int(self.parts.conf.observer.threads)

    def server(self) -> Any:
        return observer_server(self.parts.transport, self.observer, server=self.owner)

    def round(self) -> float:
        return min(self.observer.tick(), self.settings.sweep_interval_s)

    def _keep_house(self) -> None:
        keeping = Housekeeping(self.parts, self.stopping.is_set)
        while not self.stopping.wait(self.parts.conf.periodic_interval):
            keeping.round()
