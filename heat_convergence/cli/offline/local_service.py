"""The service with its REST API in one process, over one SQLite file.

Messages wait in a queue that ``run_until_idle`` empties, and the clock jumps to the next
due time, so that every traversal ends without waiting. Called by ``heat-convergence try`` and by
the functional tests; opens no socket.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from webob import Request, Response

from heat_convergence.api.app import build_app
from heat_convergence.api.services import ApiOptions, ApiServices
from heat_convergence.cli.components.software_store import DatabaseSoftwareStore
from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.store import SqlStore
from heat_convergence.db.table_creation import create_tables
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.nested.executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.engine.pool import InlineJobPool, JobPool
from heat_convergence.observer.drift_watch import DriftWatch
from heat_convergence.observer.notifications.receiver import NotificationReceiver
from heat_convergence.observer.observer import Observer
from heat_convergence.observer.poll_pool import PollPool
from heat_convergence.resources.custom_constraints import CLOUDLESS_CONSTRAINTS
from heat_convergence.resources.nested.template_cache import MAX_CACHE_BYTES, TemplateCache
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import CloudFactory, no_cloud
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices, EvaluationServices
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.testing.in_process_service import InProcessDaemons, QueueBus

HOLD_HEADER = "HTTP_X_LOCAL_HOLD"  # a request with this header leaves its traversal waiting
_MOST_STEPS = 20_000


class ManualClock:
    """A clock that advances by a millisecond a call, and by jumps."""

    def __init__(self) -> None:
        """Start at a fixed time."""
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the time, a millisecond later than the last."""
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)


class LocalService(InProcessDaemons):
    """API, engine and observer over one database.

    ``app`` is the WSGI application; after each request it runs the service until it is
    idle, unless the request has the header ``HOLD_HEADER``.

    Args:
        types: resource types beside the installed ones.
        cloud_of: the clients that resource types use; by default there is no cloud.
        services: further fields of ``ApiServices``.
    """

    encryption_key = "a key for tests"  # databases that tests keep are encrypted with it
    cache_bytes = MAX_CACHE_BYTES  # of templates, in the API and in each daemon
    daemon_values: Mapping[str, Any] = {}  # further services of engines and observers
    evaluation_values: Mapping[str, Any] = {}  # further services that resource types use

    def __init__(
        self,
        url: str,
        options: ApiOptions | None = None,
        types: Iterable[ResourceType] = (),
        cloud_of: CloudFactory | None = None,
        registry: ResourceTypeRegistry | None = None,
        **services: Any,
    ) -> None:
        self._cloud_of = cloud_of
        self.clock = ManualClock()
        self.bus = QueueBus()
        self.database = database_from_url(url)
        attach_keyring(self.database.engine, Keyring([self.encryption_key]))
        create_tables(self.database.engine)
        self.registry = registry or ResourceTypeRegistry((*ResourceTypeRegistry.load(), *types))
        self.services = ApiServices(
            database=self.database,
            store=SqlStore(self.database),
            bus=self.bus,
            registry=self.registry,
            clock=self.clock,
            ids=IdGenerator(self.clock, random.Random(7)),  # nosec B311  # no secrets
            settings=ConvergenceSettings(retry_backoff_s=0.01),
            options=options or ApiOptions(),
            wait=lambda _s: None,
            **{
                "cloud_of": cloud_of or no_cloud,
                "custom_constraints": CLOUDLESS_CONSTRAINTS,
                "template_cache": self._new_cache(services.get("limits", DEFAULT_LIMITS)),
                **services,
            },
        )
        self.nested_executors: list[NestedStackExecutor] = []
        self.engine, self.observer = self.build_daemons()
        self._lock = threading.RLock()  # a test may send a request amid another one
        self._inner = build_app(self.services)

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Handle a request as a WSGI application, then run until idle."""
        with self._lock:
            answer = list(self._inner(environ, start_response))
            if HOLD_HEADER not in environ:
                self.run_until_idle()
            return answer

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        leave_pending: bool = False,
        project: str = "p",
    ) -> Response:
        """Send a request of a member of ``project``.

        ``leave_pending`` leaves the messages of its traversal in the queue.
        """
        request = Request.blank(f"/v1/{project}{path}", method=method)
        if body is not None:
            request.json = body
        if leave_pending:
            request.environ[HOLD_HEADER] = "1"
        return request.get_response(self.app)

    def use_application(self, application: Callable[..., Iterable[bytes]]) -> None:
        """Use another application over the same services."""
        self._inner = application

    def run_due_work(self) -> None:
        """Run until no message waits; the clock does not jump."""
        self.observer.tick()
        while self.handle_next():
            self.observer.tick()

    def run_until_idle(self) -> None:
        """Run until no message waits and no poll or retry is scheduled."""
        for _ in range(_MOST_STEPS):
            if self.handle_next():
                continue
            due_s = self._due_s()
            if due_s is None:
                return
            self.clock.advance(due_s)
            self.observer.tick()
        raise AssertionError("the service does not come to rest")

    def handle_pending(self, *, drop_observe_for_stack: str | None = None) -> None:
        """Handle messages until none waits; the clock stands still.

        Messages to observers about one stack may be dropped.
        """
        while self.bus.pending:
            message = self.bus.pending.popleft()
            if message.method == "converge" or message.stack_id != drop_observe_for_stack:
                self.deliver(message)

    def use_settings(self, **values: Any) -> None:
        """Change settings of the daemons and of later requests."""
        settings = replace(self.services.settings, **values)
        self.services = replace(self.services, settings=settings)
        self.engine, self.observer = self.build_daemons()
        self._inner = build_app(self.services)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _due_s(self) -> float | None:
        """Return the seconds until the next poll; None if none is scheduled."""
        next_poll_at = self.services.store.sweeps.get_next_observation_time()
        if next_poll_at is None:
            return None
        return max(0.0, (next_poll_at - self.clock()).total_seconds())

    def _new_cache(self, limits: TemplateLimits) -> TemplateCache:
        return TemplateCache(limits, max_bytes=self.cache_bytes)

    def build_daemons(
        self, *, pool: JobPool | None = None, poll_pool: PollPool | None = None
    ) -> tuple[Engine, Observer]:
        """Return a new engine and observer over the same services."""
        cloud = NoAuthCloud(None, DatabaseSoftwareStore(self.database))
        services = self.services
        daemon_services = DaemonServices(
            store=services.store,
            bus=self.bus,
            registry=self.registry,
            clock=self.clock,
            ids=services.ids,
            settings=services.settings,
            wait=lambda _s: None,
            **self.daemon_values,
        )
        evaluation = EvaluationServices(
            cloud_of=self._cloud_of or (lambda _tree_id: cloud),
            functions=services.functions,
            limits=services.limits,
            template_cache=self._new_cache(services.limits),
            **self.evaluation_values,
        )
        nested_executor = NestedStackExecutor(
            store=services.store,
            builder=NestedStackBuilder(
                replace(
                    self.services,
                    custom_constraints=None,
                    template_cache=self._new_cache(services.limits),
                )
            ),
            clock=self.clock,
            ids=services.ids,
            settings=services.settings,
            limits=NestedTreeLimits(
                services.options.max_nested_stack_depth, services.options.max_resources_per_stack
            ),
        )
        engine = Engine(
            daemon_services,
            evaluation,
            pool=pool or InlineJobPool(),
            worker_id=services.ids(),
            nested_executor=nested_executor,
        )
        self.nested_executors.append(nested_executor)
        observer = Observer(
            daemon_services, evaluation, rebuild=StackBuilder(services).rebuild, pool=poll_pool
        )
        self.watch = DriftWatch(daemon_services, evaluation, pool=poll_pool)
        self.notifications = NotificationReceiver(daemon_services, observer, self.watch)
        return engine, observer
