"""The daemons without processes: engine and observer around one store, in turns.

Decides the order of work: messages wait in a queue and are handled one after the
other, in the caller's thread.  Used by tests of cost and behaviour, on any store;
it starts stacks from definitions, without templates or REST.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.common.clock import Clock, utc_now
from heat_convergence.common.ids import IdGenerator
from heat_convergence.convergence.lifecycle import rollback, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import send_messages
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import (
    DesiredResource,
    build_desired_resources,
)
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.engine.engine import Engine
from heat_convergence.engine.pool import InlineJobPool
from heat_convergence.observer.observer import Observer
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """``method`` is that of ``convergence.ports.bus.Bus`` which it was given to."""

    method: str
    stack_id: str
    version: int
    resource_ids: tuple[str, ...]


class QueueBus:
    """``convergence.ports.bus.Bus`` that keeps messages until somebody takes them.

    ``sent`` counts messages by method, ``jobs`` the resource ids posted to engines.
    """

    def __init__(self) -> None:
        self.pending: deque[QueuedMessage] = deque()
        self.sent_count_by_method: Counter[str] = Counter()
        self.posted_job_count = 0

    def converge(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self.posted_job_count += len(resource_ids)
        self._put(QueuedMessage("converge", stack_id, version, tuple(resource_ids)))

    def observe(self, stack_id: str, version: int, resource_ids: Sequence[str]) -> None:
        self._put(QueuedMessage("observe", stack_id, version, tuple(resource_ids)))

    def _put(self, message: QueuedMessage) -> None:
        self.sent_count_by_method[message.method] += 1
        self.pending.append(message)


def reject_rollback(tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, DesiredResource]:
    """For stacks that are created with ``disable_rollback``."""
    raise LookupError(f"no definitions are known for stack {stack.name} to go back to")


class InProcessService:
    """Starts traversals and does their work until no message is left."""

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
        self.engine = Engine(
            store=store,
            bus=self.bus,
            registry=registry,
            clock=clock,
            ids=self._ids,
            settings=self.settings,
            pool=InlineJobPool(),
            worker_id=self._ids(),
            wait=_refuse_to_wait,
        )
        self.observer = Observer(
            store=store,
            bus=self.bus,
            registry=registry,
            clock=clock,
            ids=self._ids,
            settings=self.settings,
            rebuild=rebuild,
            wait=_refuse_to_wait,
        )

    # -- what a user does

    def create(self, definitions: Mapping[str, ResourceDefinition], *, name: str) -> str:
        """Begins a stack and returns its id; the first messages are waiting then."""
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
        wanted = build_desired_resources(definitions, {})
        with self.store.transaction() as tx:
            begun = traversal.create_stack(
                tx, stack=stack, goal=goal, desired_resources=wanted or {}, context=self._means()
            )
        self._post(begun)
        return stack.id

    def update(self, stack_id: str, definitions: Mapping[str, ResourceDefinition]) -> None:
        self._start(
            stack_id,
            Action.UPDATE,
            goal=self._goal(stack_id),
            wanted=build_desired_resources(definitions, {}),
        )

    def delete(self, stack_id: str) -> None:
        self._start(stack_id, Action.DELETE)

    # -- what the daemons do

    def handle_next(self) -> bool:
        """Handles the oldest message; False when there is none."""
        if not self.bus.pending:
            return False
        message = self.bus.pending.popleft()
        handle = self.engine.converge if message.method == "converge" else self.observer.observe
        handle(message.stack_id, message.version, message.resource_ids)
        return True

    def run_until_idle(self, *, after_each: Callable[[], None] = lambda: None) -> None:
        """Handles messages until none is left, calling ``after_each`` between them."""
        while self.handle_next():
            after_each()

    def stack(self, stack_id: str) -> Stack:
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
        wanted: Mapping[str, DesiredResource] | None = None,
    ) -> None:
        with self.store.transaction() as tx:
            begun = traversal.start_traversal(
                tx,
                traversal.TraversalRequest(
                    stack_id=stack_id,
                    action=action,
                    goal=goal,
                    desired_resources=wanted or {},
                ),
                self._means(),
            )
        self._post(begun)

    def _post(self, begun: StartedTraversal) -> None:
        send_messages(self.bus, begun.outgoing_messages, self.settings)

    def _means(self) -> TraversalContext:
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
