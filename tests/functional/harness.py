"""The whole service in one process: api, engine and observer over one SQLite file.

Messages wait in a queue that ``settle`` empties, and the clock jumps to whatever
is due next, so that a conversation sees every traversal end without waiting.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
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
from heat_convergence.db.tables import metadata
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.nested_executor import NestedStackExecutor, NestedTreeLimits
from heat_convergence.engine.pool import InlineJobPool
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.custom_constraints import CLOUDLESS_CONSTRAINTS
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_type import CloudFactory, ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.template.limits import DEFAULT_LIMITS

HOLD_HEADER = "HTTP_X_TEST_HOLD"  # a request with this header leaves its traversal waiting
_MOST_STEPS = 20_000


class ManualClock:
    """Time goes on by a millisecond a look, and by jumps."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class PendingMessageBus:
    """``convergence.ports.bus.Bus`` that keeps what it is given."""

    def __init__(self) -> None:
        self.pending: deque[tuple[str, str, int, tuple[str, ...]]] = deque()

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self.pending.append(("converge", stack_id, version, tuple(resource_ids)))

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self.pending.append(("observe", stack_id, version, tuple(resource_ids)))


class LocalService:
    """``services`` are further ``ApiServices``, ``cloud_of`` is what types see as their
    cloud instead of none.  ``app`` settles what a request began before it answers the
    next one."""

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
        self.bus = PendingMessageBus()
        self.database = database_from_url(url)
        attach_keyring(self.database.engine, Keyring(["a key for tests"]))
        metadata.create_all(self.database.engine)
        self.registry = registry or ResourceTypeRegistry((*ResourceTypeRegistry.load(), *types))
        self.services = ApiServices(
            database=self.database,
            store=SqlStore(self.database),
            bus=self.bus,
            registry=self.registry,
            clock=self.clock,
            ids=IdGenerator(self.clock, random.Random(7)),
            settings=ConvergenceSettings(retry_backoff_s=0.01),
            options=options or ApiOptions(),
            wait=lambda _s: None,
            **{
                "custom_constraints": CLOUDLESS_CONSTRAINTS,
                "template_cache": TemplateCache(services.get("limits", DEFAULT_LIMITS)),
                **services,
            },
        )
        self.nested_executors: list[NestedStackExecutor] = []
        self.engine, self.observer = self.build_daemons()
        self._lock = threading.Lock()
        self._inner = build_app(self.services)

    def app(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
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
        """A request of a member of ``project``; ``hold`` leaves its traversal waiting."""
        request = Request.blank(f"/v1/{project}{path}", method=method)
        if body is not None:
            request.json = body
        if leave_pending:
            request.environ[HOLD_HEADER] = "1"
        return request.get_response(self.app)

    def use_application(self, application: Callable[..., Iterable[bytes]]) -> None:
        """Another application over the same services."""
        self._inner = application

    def run_due_work(self) -> None:
        """Until no message waits; time stands still but for what is due already."""
        self.observer.tick()
        while self.bus.pending:
            self._deliver(*self.bus.pending.popleft())
            self.observer.tick()

    def handle_next(self) -> None:
        """The oldest message alone."""
        self._deliver(*self.bus.pending.popleft())

    def run_until_idle(self) -> None:
        """Until nothing waits but the far future."""
        for _ in range(_MOST_STEPS):
            if self.bus.pending:
                self._deliver(*self.bus.pending.popleft())
                continue
            due_s = self._due_s()
            if due_s is None:
                return
            self.clock.advance(due_s)
            self.observer.tick()
        raise AssertionError("the service does not come to rest")

    def handle_pending(self, *, drop_observe_for_stack: str | None = None) -> None:
        """Until no message waits; time stands still.  Those to observers about one
        stack may be lost."""
        while self.bus.pending:
            topic, stack_id, version, ids = self.bus.pending.popleft()
            if topic == "converge" or stack_id != drop_observe_for_stack:
                self._deliver(topic, stack_id, version, ids)

    def use_settings(self, **values: Any) -> None:
        """Other numbers for the daemons and what requests begin."""
        settings = replace(self.services.settings, **values)
        self.services = replace(self.services, settings=settings)
        self.engine, self.observer = self.build_daemons()
        self._inner = build_app(self.services)

    def close(self) -> None:
        self.database.close()

    def _deliver(self, topic: str, stack_id: str, version: int, ids: Sequence[str]) -> None:
        if topic == "converge":
            self.engine.converge(stack_id, version, ids)
        else:
            self.observer.observe(stack_id, version, ids)

    def _due_s(self) -> float | None:
        """Seconds until the next look at a resource; None when none is to come."""
        look_at = self.services.store.sweeps.get_next_observation_time()
        return None if look_at is None else max(0.0, (look_at - self.clock()).total_seconds())

    def build_daemons(self) -> tuple[Engine, Observer]:
        cloud = NoAuthCloud(None, DatabaseSoftwareStore(self.database))
        common: dict[str, Any] = {
            "cloud_of": self._cloud_of or (lambda _tree_id: cloud),
            "store": self.services.store,
            "bus": self.bus,
            "registry": self.registry,
            "clock": self.clock,
            "ids": self.services.ids,
            "settings": self.services.settings,
            "wait": lambda _s: None,
        }
        given = self.services
        nester = NestedStackExecutor(
            store=given.store,
            builder=NestedStackBuilder(
                replace(
                    self.services,
                    custom_constraints=None,
                    template_cache=TemplateCache(given.limits),
                )
            ),
            clock=self.clock,
            ids=given.ids,
            settings=given.settings,
            limits=NestedTreeLimits(
                given.options.max_nested_stack_depth, given.options.max_resources_per_stack
            ),
        )
        engine = Engine(
            **common,
            pool=InlineJobPool(),
            worker_id=self.services.ids(),
            functions=given.functions,
            limits=given.limits,
            nested_executor=nester,
        )
        self.nested_executors.append(nester)
        observer = Observer(
            **common,
            rebuild=StackBuilder(self.services).rebuild,
            functions=given.functions,
            limits=given.limits,
        )
        return engine, observer
