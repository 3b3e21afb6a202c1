"""The loops of the worker processes of engines and observers.

Decide when leases are renewed and heartbeats are written, and in which order a worker starts
and drains. Run by ``daemon_service`` and ``standalone``; engine and observer decide how a
message is processed.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

from oslo_context.context import RequestContext

from heat_convergence.cli.components.assembly import (
    ProcessComponents,
    create_nested_executor,
    create_stack_services,
)
from heat_convergence.cli.components.settings import convergence_settings
from heat_convergence.cli.components.watch_clouds import create_watch_clouds
from heat_convergence.cli.daemons.heartbeat import Heartbeat
from heat_convergence.cli.daemons.notification_threads import NotificationThreads
from heat_convergence.cli.daemons.periodic_tasks import PeriodicTasks
from heat_convergence.cli.daemons.worker_locks import EndedWorker, WorkerLocks, locks_folder
from heat_convergence.cli.startup.startup_state import StartupState
from heat_convergence.cli.startup.waiting import start_listening, wait_for_database
from heat_convergence.common import errors, metrics
from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.fair_executor import FairExecutor
from heat_convergence.common.telemetry.request_contexts import current_request
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import ConcurrentJobPool
from heat_convergence.engine.preparation_journal import PreparationJournal, parse_journal
from heat_convergence.engine.takeover import take_over_jobs
from heat_convergence.observer.drift_watch import DriftWatch
from heat_convergence.observer.notifications.receiver import NotificationReceiver
from heat_convergence.observer.observer import Observer
from heat_convergence.observer.poll_pool import ConcurrentPollPool
from heat_convergence.rpc import messages
from heat_convergence.rpc.server import create_engine_server, create_observer_server
from heat_convergence.rpc.transport import lock_path
from heat_convergence.stacks.daemon_services import DaemonServices, EvaluationServices
from heat_convergence.stacks.goal.stack_builder import StackBuilder

P = ParamSpec("P")
T = TypeVar("T")
LOG = logging.getLogger(__name__)
_RETRY_ROUND_S = 1.0
_WATCH_INTERVAL_S = 1  # between two looks at the locks of the host's other workers


class ContextExecutor(ThreadPoolExecutor):
    """An executor whose threads log with the request context of the submitting thread.

    Without it, log lines of calls to other services would not carry the request id.
    """

    def __init__(self, threads: int, pool_name: str) -> None:
        super().__init__(threads, pool_name)
        self._pool_name = pool_name

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in a thread, with the current request context."""
        call = partial(fn, *args, **kwargs)
        return super().submit(_run_in_context, self._pool_name, current_request(), call)


def _run_in_context(pool: str, context: RequestContext | None, function: Callable[[], T]) -> T:
    (RequestContext() if context is None else context).update_store()
    with metrics.BUSY_THREADS.labels(pool).track_inprogress():
        return function()


class MessageWorker(ABC):
    """A worker that waits for the database, then processes messages until ``stop``.

    Attributes:
        binary: Name of the daemon in the list of services.
        topic: Topic of its messages.
        watched_binaries: Daemons for whose ended workers on this host this one takes over.
        components: The components of the process.
        settings: Settings of engines and observers.
        worker_id: Unique id of this worker.
        stop_event: Set when the worker drains.
    """

    binary: str
    topic: str
    watched_binaries: tuple[str, ...]

    def __init__(self, components: ProcessComponents) -> None:
        self.components = components
        self.settings = convergence_settings(components.conf)
        self.worker_id = components.ids()
        self.stop_event = threading.Event()
        self._round_requested = threading.Event()
        self._server: Any = None
        self._loop = threading.Thread(target=self._run, name=self.binary, daemon=True)
        # A thread of its own, since starting the server blocks while no broker answers.
        self._listen = threading.Thread(target=self._accept_messages, name="listen", daemon=True)
        self._watch = threading.Thread(target=self._watch_workers, name="watch", daemon=True)
        folder = locks_folder(lock_path(), components.conf.database.connection)
        self._locks = WorkerLocks(folder, self.binary, self.worker_id)
        self._heartbeat = Heartbeat(components, self.binary, self.topic, self.worker_id)
        self._startup = StartupState()

    def start(self, startup: StartupState) -> None:
        """Start in the background; database and broker may become available later."""
        self._startup = startup
        self._loop.start()

    def stop(self, *, timeout_s: float) -> None:
        """Accept no more messages, finish the running jobs, and stop."""
        self.stop_event.set()
        self._round_requested.set()
        if self._listen.ident is None:
            return  # the database was never available: there is nothing to drain
        self._log("worker draining")
        self._loop.join(timeout_s)
        self._log("worker stopped")

    def request_round(self) -> None:
        """Make the loop run its next round now."""
        self._round_requested.set()

    def _run(self) -> None:
        check = self.components.check_database
        if not wait_for_database(check, self._startup, self.stop_event):
            return
        self._log("worker started")
        self._locks.acquire()
        self._watch.start()
        self._listen.start()
        while not self.stop_event.is_set():
            pause_s = self._safe_round(self.run_round)
            self._round_requested.wait(pause_s)
            self._round_requested.clear()
        self._run_drain()
        self._heartbeat.remove()
        self._locks.release()

    def _run_drain(self) -> None:
        """Finish what is under way; meanwhile go on with rounds that begin nothing."""
        drain = threading.Thread(target=self._drain_and_wake, name="drain", daemon=True)
        drain.start()
        while drain.is_alive():
            pause_s = self._safe_round(self.run_drain_round)
            self._round_requested.wait(pause_s)
            self._round_requested.clear()
        self._safe_round(self.run_drain_round)  # for what has ended last

    def _drain_and_wake(self) -> None:
        boundary = ErrorBoundary(BoundaryName.DAEMON, self.components.errors)
        boundary.contain(self._drain)
        self._round_requested.set()

    def _watch_workers(self) -> None:
        boundary = ErrorBoundary(BoundaryName.DAEMON, self.components.errors)
        while not self.stop_event.is_set():
            boundary.contain(self._take_over_from_ended)
            self.stop_event.wait(_WATCH_INTERVAL_S)

    def _take_over_from_ended(self) -> None:
        try:
            with self._locks.ended_workers(self.watched_binaries) as ended:
                if ended:
                    self.take_over(ended)
        except (errors.Error, OSError) as error:  # tried again, since they are not forgotten
            LOG.warning("takeover aborted: error=%(error)s", {"error": error})

    def _safe_round(self, run: Callable[[], float]) -> float:
        boundary = ErrorBoundary(BoundaryName.DAEMON, self.components.errors)
        retried = partial(self._retried_round, run)
        return boundary.run(retried, lambda _error, _error_id: _RETRY_ROUND_S)

    def _retried_round(self, run: Callable[[], float]) -> float:
        try:
            self._heartbeat.write_if_due()
            return run()
        except errors.Error as error:
            LOG.warning(
                "worker round aborted: retry_in_s=%(retry_in_s)s"
                " binary=%(binary)s worker=%(worker)s error=%(error)s",
                {**self._log_fields(), "retry_in_s": _RETRY_ROUND_S, "error": error},
            )
        return _RETRY_ROUND_S

    def _log(self, message: str) -> None:
        LOG.info(f"{message}: binary=%(binary)s worker=%(worker)s", self._log_fields())

    def _log_fields(self) -> dict[str, object]:
        return {"binary": self.binary, "worker": self.worker_id}

    def _accept_messages(self) -> None:
        if start_listening(self._start_server, self._startup, self.stop_event):
            self._log("worker accepts messages")

    def _start_server(self) -> None:
        server = self.create_server()
        server.start(override_pool_size=self.thread_count)
        self._server = server

    def _drain(self) -> None:
        if self._listen.is_alive() or self._server is None:
            return  # no broker has answered yet: there are no messages
        self._server.stop()
        self._server.wait()
        self.on_drained()

    @property
    @abstractmethod
    def thread_count(self) -> int:
        """Maximum number of messages processed at once."""

    @abstractmethod
    def create_server(self) -> Any:
        """Return the RPC server, not started."""

    @abstractmethod
    def run_round(self) -> float:
        """Do what is due, and return the seconds until the next round."""

    @abstractmethod
    def run_drain_round(self) -> float:
        """Do what the work under way needs, and return the seconds until the next round."""

    def on_drained(self) -> None:
        """Release resources after the last message."""

    def take_over(self, ended: Mapping[str, EndedWorker]) -> None:
        """Let the work of ended workers go on."""
        engines = {key: each for key, each in ended.items() if each.binary == EngineWorker.binary}
        if engines:
            prepared = [job for each in engines.values() for job in parse_journal(each.text)]
            take_over_jobs(self.create_daemon_services(), list(engines), prepared)

    def create_daemon_services(self) -> DaemonServices:
        """Return the services of this worker's engine or observer."""
        components = self.components
        return DaemonServices(
            store=components.store,
            bus=components.bus,
            registry=components.registry,
            clock=components.clock,
            ids=components.ids,
            settings=self.settings,
            wait=self.stop_event.wait,
            errors=components.errors,
            announce=components.announce,
        )


def _create_evaluation_services(components: ProcessComponents) -> EvaluationServices:
    return EvaluationServices(
        cloud_of=components.cloud_of,
        functions=components.template_functions,
        limits=components.template_limits,
        template_cache=components.template_cache,
    )


class EngineWorker(MessageWorker):
    """A worker that runs jobs and renews their leases."""

    binary = "heat-convergence-engine"
    topic = messages.ENGINE_TOPIC
    watched_binaries = (binary,)

    def __init__(self, components: ProcessComponents) -> None:
        super().__init__(components)
        verb_threads = components.conf.engine.verb_threads
        self._executor = FairExecutor(ContextExecutor(verb_threads, "verb"), verb_threads)
        self.engine = Engine(
            self.create_daemon_services(),
            _create_evaluation_services(components),
            pool=ConcurrentJobPool(self._executor, self.thread_count),
            worker_id=self.worker_id,
            nested_executor=create_nested_executor(components),
            journal=PreparationJournal(self._locks.write),
        )

    @property
    def thread_count(self) -> int:
        """Maximum number of messages processed at once."""
        return int(self.components.conf.engine.threads)

    def create_server(self) -> Any:
        """Return the RPC server, not started."""
        return create_engine_server(
            self.components.transport,
            self.engine,
            errors=self.components.errors,
        )

    def run_round(self) -> float:
        """Renew the leases, and return the seconds until the next renewal."""
        self.engine.renew_leases()
        return self.settings.lease_s / 3

    def run_drain_round(self) -> float:
        """Renew the leases of calls that have not ended."""
        return self.run_round()

    def on_drained(self) -> None:
        """Stop the threads of calls to other services."""
        self._executor.shutdown()


class ObserverWorker(MessageWorker):
    """A worker that polls resources, sweeps for lost jobs and runs periodic tasks."""

    binary = "heat-convergence-observer"
    topic = messages.OBSERVER_TOPIC
    watched_binaries = (EngineWorker.binary, binary)

    def __init__(self, components: ProcessComponents) -> None:
        super().__init__(components)
        poll_threads = components.conf.observer.poll_threads
        self._executor = FairExecutor(ContextExecutor(poll_threads, "poll"), poll_threads)
        services, pool = self.create_daemon_services(), ConcurrentPollPool(self._executor)
        evaluation = replace(
            _create_evaluation_services(components), watch_cloud_of=create_watch_clouds(components)
        )
        self.observer = Observer(
            services,
            evaluation,
            rebuild=StackBuilder(create_stack_services(components)).rebuild,
            request_tick=self.request_round,
            pool=pool,
        )
        self.watch = DriftWatch(services, evaluation, request_tick=self.request_round, pool=pool)
        self.notifications = NotificationReceiver(
            services, self.observer, self.watch, request_tick=self.request_round
        )
        self._listeners = NotificationThreads(
            components.conf, self.notifications.receive, self.stop_event, components.errors
        )
        self._periodic = threading.Thread(
            target=self._run_periodic_tasks, name="periodic", daemon=True
        )

    def start(self, startup: StartupState) -> None:
        """Start in the background, with the periodic tasks."""
        super().start(startup)
        self._periodic.start()
        self._listeners.start()

    @property
    def thread_count(self) -> int:
        """Maximum number of messages processed at once."""
        return int(self.components.conf.observer.threads)

    def create_server(self) -> Any:
        """Return the RPC server, not started."""
        return create_observer_server(
            self.components.transport,
            self.observer,
            errors=self.components.errors,
        )

    def run_round(self) -> float:
        """Poll, sweep and watch, and return the seconds until the next round."""
        next_hints_s = self.notifications.tick()
        next_tick_s = min(self.observer.tick(), self.watch.tick())
        if next_hints_s is not None:
            next_tick_s = min(next_tick_s, next_hints_s)
        return min(next_tick_s, self.settings.sweep_interval_s)

    def run_drain_round(self) -> float:
        """Process the observations that have ended."""
        self.observer.process_results()
        return self.settings.sweep_interval_s

    def on_drained(self) -> None:
        """Stop the threads of observations and the listeners."""
        self._listeners.stop()
        self._executor.shutdown()

    def take_over(self, ended: Mapping[str, EndedWorker]) -> None:
        """Let the work of ended workers go on; poll early what an ended observer may have read."""
        super().take_over(ended)
        if any(each.binary == self.binary for each in ended.values()):
            self.observer.expect_lost_messages()
            self.request_round()

    def _run_periodic_tasks(self) -> None:
        tasks = PeriodicTasks(self.components, self.stop_event.is_set)
        while not self.stop_event.wait(self.components.conf.periodic_interval):
            tasks.run_all()
