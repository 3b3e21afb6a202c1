"""The service in one process: an engine and an observer around one store and a queue.

Decides the order of work: messages wait in a queue and are handled one after the other
in the caller's thread.  ``InProcessDaemons`` is also the base of the functional tests'
service with its REST API; ``InProcessService`` starts stacks from definitions, without
templates or REST.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.lifecycle import rollback, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import send_messages
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    DesiredResource,
    build_desired_resources,
)
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import InlineJobPool
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.daemon_services import DaemonServices
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition


class QueuedMessage(NamedTuple):
    """A message; ``method`` is the one of ``convergence.ports.bus.Bus`` that sent it."""

    method: str
    stack_id: str
    version: int
    resource_ids: tuple[str, ...]

    @property
    def hint(self) -> ResourceHint:
        """The content of the message."""
        return ResourceHint(self.stack_id, self.version, self.resource_ids)


class QueueBus:
    """``convergence.ports.bus.Bus`` that keeps messages in a queue, one for each stack.

    Attributes:
        sent_count_by_method: the number of messages by method.
        posted_job_count: the number of resource ids sent to engines.
    """

    def __init__(self) -> None:
        self.pending: deque[QueuedMessage] = deque()
        self.sent_count_by_method: Counter[str] = Counter()
        self.posted_job_count = 0

    def converge(self, hints: Sequence[ResourceHint]) -> None:
        """Queue jobs for an engine."""
        self.posted_job_count += sum(len(hint.resource_ids) for hint in hints)
        self._put("converge", hints)

    def observe(self, hints: Sequence[ResourceHint]) -> None:
        """Queue a request to poll resources."""
        self._put("observe", hints)

    def _put(self, method: str, hints: Sequence[ResourceHint]) -> None:
        for hint in hints:
            self.sent_count_by_method[method] += 1
            self.pending.append(
                QueuedMessage(method, hint.stack_id, hint.version, tuple(hint.resource_ids))
            )


class InProcessDaemons:
    """An engine, an observer and the queue of their messages."""

    bus: QueueBus
    engine: Engine
    observer: Observer

    def deliver(self, message: QueuedMessage) -> None:
        """Hand a message to the daemon it is for."""
        handle = self.engine.converge if message.method == "converge" else self.observer.observe
        handle([message.hint])

    def handle_next(self) -> bool:
        """Handle the oldest message; return False if there is none."""
        if not self.bus.pending:
            return False
        self.deliver(self.bus.pending.popleft())
        return True


def reject_rollback(tx: Transaction, stack: Stack, goal: Goal) -> rollback.DesiredEvaluation:
    """Raise ``LookupError``; for stacks that are created with ``disable_rollback``."""
    raise LookupError(f"no definitions are known for stack {stack.name} to go back to")


class InProcessService(InProcessDaemons):
    """A service without REST: starts traversals and handles their messages."""

    def __init__(
        self,
        store: Store,
        registry: ResourceTypeRegistry,
        *,
        settings: ConvergenceSettings | None = None,
        clock: Clock = utc_now,
        rebuild: rollback.DefinitionRebuilder = reject_rollback,
        seed: int = 0,
    ) -> None:
        self.store = store
        self.settings = settings or ConvergenceSettings()
        self.bus = QueueBus()
        self._clock = clock
        self._ids = IdGenerator(clock, random.Random(seed))
        services = DaemonServices(
            store=store,
            bus=self.bus,
            registry=registry,
            clock=clock,
            ids=self._ids,
            settings=self.settings,
            wait=_refuse_to_wait,
        )
        self.engine = Engine(services, pool=InlineJobPool(), worker_id=self._ids())
        self.observer = Observer(services, rebuild=rebuild)

    # -- requests of a user

    def create(self, definitions: Mapping[str, ResourceDefinition], *, name: str) -> str:
        """Start a stack and return its id; its first messages are queued."""
        goal = self._goal(self._ids())
        stack = Stack(
            id=goal.stack_id,
            name=name,
            project_id="project",
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=goal.id,
            created_at=goal.created_at,
        )
        new = traversal.NewGoal(goal, build_desired_resources(definitions, {}))
        with self.store.transaction() as tx:
            started = traversal.create_stack(tx, stack, new, self._context())
        self._post(started)
        return stack.id

    def update(self, stack_id: str, definitions: Mapping[str, ResourceDefinition]) -> None:
        """Start an update to other definitions."""
        self._start(
            stack_id,
            Action.UPDATE,
            goal=self._goal(stack_id),
            desired=build_desired_resources(definitions, {}),
        )

    def delete(self, stack_id: str) -> None:
        """Start to delete a stack."""
        self._start(stack_id, Action.DELETE)

    # -- work of the daemons

    def run_until_idle(self, *, after_each: Callable[[], None] = lambda: None) -> None:
        """Handle messages until none is left; call ``after_each`` after each."""
        while self.handle_next():
            after_each()

    def stack(self, stack_id: str) -> Stack:
        """Return a stack; ``LookupError`` if it does not exist."""
        with self.store.transaction() as tx:
            stack = tx.stacks.get(stack_id)
        if stack is None:
            raise LookupError(f"no stack {stack_id}")
        return stack

    # -- helpers

    def _start(
        self,
        stack_id: str,
        action: Action,
        *,
        goal: Goal | None = None,
        desired: Mapping[str, DesiredResource] | None = None,
    ) -> None:
        with self.store.transaction() as tx:
            started = traversal.start_traversal(
                tx,
                traversal.TraversalRequest(
                    stack_id=stack_id,
                    action=action,
                    goal=goal,
                    desired_resources=desired or {},
                ),
                self._context(),
            )
        self._post(started)

    def _post(self, started: StartedTraversal) -> None:
        send_messages(self.bus, started.outgoing_messages, self.settings)

    def _context(self) -> TraversalContext:
        return TraversalContext(self._clock(), self._ids, self.settings)

    def _goal(self, stack_id: str) -> Goal:
        return Goal(
            id=self._ids(),
            stack_id=stack_id,
            version=1,
            template_hash="0" * 64,
            environment={},
            files={},
            parameters={},
            outputs={},
            description="",
            created_at=self._clock(),
        )


def _refuse_to_wait(pause_s: float) -> None:
    raise AssertionError(f"a daemon waits {pause_s} s for a store that is here")
