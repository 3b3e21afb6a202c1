"""The loops of an engine's and of an observer's worker process.

Decide when leases are renewed, when signs of life are given and in which order a
worker starts and drains.  Run by ``build_daemons`` and ``standalone``; what is done
with a message is the engine's and the observer's own affair.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from heat_convergence.api.stack_builder import StackBuilder
from heat_convergence.cli.components.assembly import (
    ProcessComponents,
    create_api_services,
    create_nested_executor,
)
from heat_convergence.cli.components.settings import convergence_settings, template_limits
from heat_convergence.cli.daemons.periodic_tasks import PeriodicTasks
from heat_convergence.common import errors
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.db.connection.database import wait_until_available
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import ConcurrentJobPool
from heat_convergence.observer.observer import Observer
from heat_convergence.rpc import messages
from heat_convergence.rpc.server import create_engine_server, create_observer_server

LOG = logging.getLogger(__name__)


class MessageWorker(ABC):
    """Waits for the database, then takes messages and keeps time until ``stop``."""

    binary: str
    topic: str

    def __init__(self, parts: ProcessComponents) -> None:
        self.components = parts
        self.settings = convergence_settings(parts.conf)
        self.worker_id = parts.ids()
        self.stop_event = threading.Event()
        self._woken = threading.Event()
        self._server: Any = None
        self._loop = threading.Thread(target=self._run, name=self.binary, daemon=True)
        # A thread of its own: while no broker answers, it does not return.
        self._listen = threading.Thread(target=self._take_messages, name="listen", daemon=True)
        self._beat_at = 0.0

    def start(self) -> None:
        """Returns at once; database and broker may come later."""
        self._loop.start()

    def stop(self, *, timeout_s: float) -> None:
        """Take no more messages, finish those at work, leave."""
        LOG.info("%s %s drains", self.binary, self.worker_id)
        self.stop_event.set()
        self._woken.set()
        if self._loop.ident is not None:
            self._loop.join(timeout_s)
        LOG.info("%s %s has stopped", self.binary, self.worker_id)

    def request_round(self) -> None:
        """Make the loop do its round now."""
        self._woken.set()

    def _run(self) -> None:
        if not wait_until_available(
            self.components.check_database,
            wait=self.stop_event.wait,
            is_stopping=self.stop_event.is_set,
        ):
            return
        LOG.info("%s %s takes work", self.binary, self.worker_id)
        self._listen.start()
        while not self.stop_event.is_set():
            pause_s = self._safe_round()
            self._woken.wait(pause_s)
            self._woken.clear()
        self._drain()

    def _safe_round(self) -> float:
        try:
            self._beat()
            return self.run_round()
        except errors.Error as error:
            LOG.warning("%s: a round was cut short: %s", self.binary, error)
        except Exception:  # the daemon's outermost loop
            LOG.exception("%s: a round failed", self.binary)
        return 1.0

    def _take_messages(self) -> None:
        self._server = self.create_server()
        self._server.start(override_pool_size=self.thread_count)
        LOG.info("%s %s takes messages", self.binary, self.worker_id)

    def _drain(self) -> None:
        if self._listen.is_alive() or self._server is None:
            return  # still without a broker: there is nothing at work
        self._server.stop()
        self._server.wait()
        self.on_drained()

    def _beat(self) -> None:
        now = self.components.clock()
        if now.timestamp() < self._beat_at:
            return
        conf = self.components.conf
        self._beat_at = now.timestamp() + conf.periodic_interval
        self.components.store.workers.record_heartbeat(
            ServiceRecord(
                id=self.worker_id,
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
    def thread_count(self) -> int:
        """Messages handled at once."""

    @abstractmethod
    def create_server(self) -> Any:
        """The RPC server, not started."""

    @abstractmethod
    def run_round(self) -> float:
        """What time demands; returns the seconds until the next."""

    def on_drained(self) -> None:
        """After the last message."""


class EngineWorker(MessageWorker):
    binary = "heat-convergence-engine"
    topic = messages.ENGINE_TOPIC

    def __init__(self, parts: ProcessComponents) -> None:
        super().__init__(parts)
        self._executor: Executor = ThreadPoolExecutor(parts.conf.engine.verb_threads, "verb")
        self.engine = Engine(
            store=parts.store,
            bus=parts.bus,
            registry=parts.registry,
            clock=parts.clock,
            ids=parts.ids,
            settings=self.settings,
            pool=ConcurrentJobPool(self._executor),
            worker_id=self.worker_id,
            wait=self.stop_event.wait,
            cloud_of=parts.cloud_of,
            functions=parts.template_functions,
            limits=template_limits(parts.conf),
            nested_executor=create_nested_executor(parts),
        )

    @property
    def thread_count(self) -> int:
        return int(self.components.conf.engine.threads)

    def create_server(self) -> Any:
        return create_engine_server(self.components.transport, self.engine, server=self.worker_id)

    def run_round(self) -> float:
        self.engine.renew_leases()
        return self.settings.lease_s / 3

    def on_drained(self) -> None:
        self._executor.shutdown()


class ObserverWorker(MessageWorker):
    binary = "heat-convergence-observer"
    topic = messages.OBSERVER_TOPIC

    def __init__(self, parts: ProcessComponents) -> None:
        super().__init__(parts)
        self.observer = Observer(
            store=parts.store,
            bus=parts.bus,
            registry=parts.registry,
            clock=parts.clock,
            ids=parts.ids,
            settings=self.settings,
            rebuild=StackBuilder(create_api_services(parts)).rebuild,
            wait=self.stop_event.wait,
            request_tick=self.request_round,
            cloud_of=parts.cloud_of,
            functions=parts.template_functions,
            limits=template_limits(parts.conf),
            template_cache=parts.template_cache,
        )
        self._house = threading.Thread(target=self._keep_house, name="house", daemon=True)

    def start(self) -> None:
        super().start()
        self._house.start()

    @property
    def thread_count(self) -> int:
        return int(self.components.conf.observer.threads)

    def create_server(self) -> Any:
        return create_observer_server(
            self.components.transport, self.observer, server=self.worker_id
        )

    def run_round(self) -> float:
        return min(self.observer.tick(), self.settings.sweep_interval_s)

    def _keep_house(self) -> None:
        keeping = PeriodicTasks(self.components, self.stop_event.is_set)
        while not self.stop_event.wait(self.components.conf.periodic_interval):
            keeping.run_all()
