"""The simulated users, who perform requests as the API does.

A request is one transaction, followed by the messages that it posts.  Called by the
environment, which decides when.  Users remember what later requests need: the snapshots
they took and the exports of abandoned stacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common import errors
from heat_convergence.common.transactions import Wait, retry_transaction
from heat_convergence.convergence.lifecycle import breakpoints, stack_actions, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.outgoing_messages import (
    OutgoingMessage,
    Recipient,
    send_messages,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.goal_part import GoalPartOutdated
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import signal_delivery
from heat_convergence.stacks.adoption import adopted_resources
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.group_scaling import GroupScaler
from heat_convergence.stacks.services import StackServices
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.abandoned_stack import AbandonedStack
from heat_convergence.testing.simulation.workload.goal_parts import choose_part
from heat_convergence.testing.simulation.workload.goals import store_goal
from heat_convergence.testing.simulation.workload.quarantine_requests import change_quarantine
from heat_convergence.testing.simulation.workload.user_requests import (
    QUARANTINE_OPERATIONS,
    UserRequest,
)

_TRAVERSALS = {
    "update": Action.UPDATE,
    "suspend": Action.SUSPEND,
    "resume": Action.RESUME,
    "check": Action.CHECK,
}
UNHEALTHY_REASON = "state changed by resource_mark_unhealthy api"


@dataclass(frozen=True, slots=True)
class RequestServices:
    """The services of the process that performs a request."""

    store: Store
    bus: Bus
    context: TraversalContext
    wait: Wait
    registry: ResourceTypeRegistry


@dataclass(frozen=True, slots=True)
class _Done:
    """The effects of a request after its commit.

    Attributes:
        remember: updates the memory of the users.
        refused: an error reported to the user although the transaction is committed.
    """

    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    remember: Callable[[], None] = field(default=lambda: None)
    refused: errors.Error | None = None


class SimulatedUsers:
    """The users of one project.

    Attributes:
        snapshot_ids: the ids of the snapshots by stack id, oldest first.
        abandoned_stacks: the last abandoned stack by name.
        signal_counts: the number of signals received by resource id.
        dismissed_ids: the ids of resources dismissed from quarantine.
        marked_unhealthy: the stack's version at the time of the mark, by resource id.
    """

    def __init__(self, project_id: str = "project") -> None:
        self._project_id = project_id
        self.snapshot_ids: dict[str, list[str]] = {}
        self.abandoned_stacks: dict[str, AbandonedStack] = {}
        self.signal_counts: Counter[str] = Counter()
        self.marked_unhealthy: dict[str, int] = {}
        self.dismissed_ids: set[str] = set()

    def perform(
        self, request: UserRequest, stack_id: str, services: RequestServices
    ) -> str | None:
        """Perform a request.

        Args:
            request: the request to perform.
            stack_id: the id of the stack, or the id a new stack is to have.
            services: the services that handle the request.

        Returns:
            The class name of the error if the request is refused.
        """
        handler = _RequestHandler(
            self, request, stack_id, services.context, services.registry, services.store
        )

        def attempt() -> _Done:
            try:
                with services.store.transaction() as tx:
                    return handler.write(tx)
            except GoalPartOutdated:
                with services.store.transaction() as tx:
                    return replace(handler, takes_parts=False).write(tx)

        try:
            done = retry_transaction(attempt, wait=services.wait)
        except errors.Error as error:
            if error.retry is not errors.Retry.NEVER:
                raise
            return type(error).__name__
        done.remember()
        send_messages(services.bus, done.outgoing_messages, services.context.settings)
        return None if done.refused is None else type(done.refused).__name__

    @property
    def project_id(self) -> str:
        """The project of the users."""
        return self._project_id


@dataclass(frozen=True, slots=True)
class _RequestHandler:
    """The handling of one request inside its transaction.

    Attributes:
        takes_parts: an update may look at a part of its goal alone.
    """

    users: SimulatedUsers
    request: UserRequest
    stack_id: str
    context: TraversalContext
    registry: ResourceTypeRegistry
    store: Store
    takes_parts: bool = True

    def write(self, tx: Transaction) -> _Done:
        """Perform the request in a transaction."""
        if self.request.operation in _TRAVERSALS:
            return self._traverse(tx)
        if self.request.operation in QUARANTINE_OPERATIONS:
            changed = change_quarantine(tx, self.stack_id, self.request, self.context)
            self.users.dismissed_ids.update(changed)
            return _Done()
        done: _Done = getattr(self, f"_{self.request.operation}")(tx)
        return done

    def _traverse(self, tx: Transaction) -> _Done:
        values: Mapping[str, Any] = {}
        if self.request.operation == "update":
            template = template_notation.parse_template(self.request.template)
            desired = nested_templates.desired_resources(template)
            part = None
            if self.takes_parts and not self.request.converge:
                part = choose_part(tx, self.stack_id, desired, self.request.template)
            if part is not None:
                desired = {name: desired[name] for name in part.names & desired.keys()}
            values = {
                "goal": store_goal(tx, self.stack_id, template, self.context),
                "desired_resources": desired,
                "part": part,
                "state_source": StateSource.OBSERVED
                if self.request.converge
                else StateSource.RECORDED,
                "stack_values": {
                    "disable_rollback": not self.request.rollback,
                    "timeout_mins": self.request.timeout_mins,
                },
            }
        started = traversal.start_traversal(
            tx,
            traversal.TraversalRequest(
                stack_id=self.stack_id,
                action=_TRAVERSALS[self.request.operation],
                **values,
            ),
            self.context,
        )
        return _Done(started.outgoing_messages)

    def _create(self, tx: Transaction) -> _Done:
        return self._create_stack(tx, Action.CREATE, self.request.template, None)

    def _adopt(self, tx: Transaction) -> _Done:
        abandoned = self.users.abandoned_stacks.get(self.request.stack)
        if abandoned is None:
            raise errors.NotSupported("there is nothing to adopt")
        done = self._create_stack(tx, Action.ADOPT, abandoned.template, abandoned.resource_entries)
        return _Done(
            done.outgoing_messages,
            lambda: self._forget(self.users.abandoned_stacks, self.request.stack),
        )

    def _create_stack(
        self,
        tx: Transaction,
        action: Action,
        text: str,
        entries: Mapping[str, Any] | None,
    ) -> _Done:
        template = template_notation.parse_template(text)
        desired = nested_templates.desired_resources(template)
        goal = store_goal(tx, self.stack_id, template, self.context)
        stack = Stack(
            id=self.stack_id,
            name=self.request.stack,
            project_id=self.users.project_id,
            version=1,
            action=action,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=goal.id,
            created_at=self.context.now,
            disable_rollback=not self.request.rollback,
            timeout_mins=self.request.timeout_mins,
        )
        started = traversal.create_stack(
            tx,
            stack,
            traversal.NewGoal(goal, desired),
            self.context,
            adopted_resources=adopted_resources(entries, desired, self.registry),
        )
        return _Done(started.outgoing_messages)

    def _delete(self, tx: Transaction) -> _Done:
        exclude, quarantines = self.request.exclude, self.request.quarantine
        started = stack_actions.delete_stack(
            tx, self.stack_id, exclude, self.context, quarantines=quarantines
        )
        return _Done(started.outgoing_messages)

    def _cancel(self, tx: Transaction) -> _Done:
        return _Done(
            stack_actions.cancel_update(
                tx, self.stack_id, self.context, nested_templates.rebuild_desired
            ).outgoing_messages
        )

    def _cancel_without_rollback(self, tx: Transaction) -> _Done:
        return _Done(
            stack_actions.cancel_without_rollback(
                tx, self.stack_id, self.context
            ).outgoing_messages
        )

    # -- snapshots and abandoned stacks

    def _snapshot(self, tx: Transaction) -> _Done:
        started, snapshot = stack_actions.take_snapshot(tx, self.stack_id, None, self.context)
        ids = self.users.snapshot_ids.setdefault(self.stack_id, [])
        return _Done(started.outgoing_messages, lambda: ids.append(snapshot.id))

    def _restore(self, tx: Transaction) -> _Done:
        snapshot = stack_actions.get_restorable_snapshot(
            tx, self.stack_id, self._newest_snapshot_id()
        )
        goal = tx.goals.get(snapshot.goal_id)
        assert goal is not None
        text = tx.contents.get([goal.template_hash])[goal.template_hash]
        template = template_notation.restored_template(
            template_notation.parse_template(text), snapshot, self.registry
        )
        started = traversal.start_traversal(
            tx,
            traversal.TraversalRequest(
                stack_id=self.stack_id,
                action=Action.RESTORE,
                goal=store_goal(tx, self.stack_id, template, self.context),
                desired_resources=nested_templates.desired_resources(template),
            ),
            self.context,
        )
        return _Done(started.outgoing_messages)

    def _delete_snapshot(self, tx: Transaction) -> _Done:
        newest = self._newest_snapshot_id()
        stack_actions.delete_snapshot(tx, self.stack_id, newest, self.context, immediately=False)
        return _Done(remember=lambda: self.users.snapshot_ids[self.stack_id].remove(newest))

    def _newest_snapshot_id(self) -> str:
        return (self.users.snapshot_ids.get(self.stack_id) or ["none"])[-1]

    def _abandon(self, tx: Transaction) -> _Done:
        stack = tx.stacks.get(self.stack_id)
        goal = None if stack is None else tx.goals.get(stack.goal_id)
        export = stack_actions.abandon_stack(tx, self.stack_id, self.context)
        assert goal is not None
        text = tx.contents.get([goal.template_hash])[goal.template_hash]
        abandoned = AbandonedStack(text, export)
        return _Done(
            remember=lambda: self.users.abandoned_stacks.update({self.request.stack: abandoned})
        )

    # -- operations on a resource

    def _signal(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        stack = tx.stacks.get(self.stack_id)
        assert stack is not None
        group_id = self.registry.get(row.desired.implementation).scaled_group_id(
            row.physical.properties or {}
        )
        delivery = signal_delivery.deliver_signal(
            tx,
            stack,
            signal_delivery.Signal(row.id),
            registry=self.registry,
            context=self.context,
            scaler=None if group_id is None else self._scaler(group_id),
        )
        if delivery.rejection is not None:
            return _Done(refused=delivery.rejection)
        poll = OutgoingMessage(
            stack.id, delivery.version, delivery.resources_to_poll, Recipient.OBSERVER
        )
        outgoing_messages = (*delivery.messages, *((poll,) if delivery.resources_to_poll else ()))
        counted = [row.id] if group_id is None else []
        return _Done(outgoing_messages, lambda: self.users.signal_counts.update(counted))

    def _scaler(self, group_id: str) -> GroupScaler:
        now = self.context.now
        services = StackServices(registry=self.registry, clock=lambda: now)
        return GroupScaler(group_id, NestedStackBuilder(services), self.store)

    def _mark_unhealthy(self, tx: Transaction) -> _Done:
        row, stack = self._row(tx), tx.stacks.get(self.stack_id)
        stack_actions.mark_unhealthy(tx, row.id, Status.FAILED, UNHEALTHY_REASON, self.context)
        # A job of another action, if its call is still to come, sets another state.
        pending = (
            row.job.verb not in (None, Verb.CONVERGE)
            and row.job.state is not JobState.AWAITING_OBSERVATION
        )
        absent = row.physical.id is None or row.state.action is Action.DELETE
        if absent or pending or stack is None:
            return _Done()
        version = stack.version
        return _Done(remember=lambda: self.users.marked_unhealthy.update({row.id: version}))

    def _mark_healthy(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        stack_actions.mark_unhealthy(tx, row.id, Status.COMPLETE, UNHEALTHY_REASON, self.context)
        return _Done(remember=lambda: self._forget(self.users.marked_unhealthy, row.id))

    def _clear_hook(self, tx: Transaction) -> _Done:
        stacks, (*parents, name) = [self.stack_id], self.request.resource.split(".")
        for parent in parents:  # an incarnation being deleted may have a nested stack, too
            rows = [row for stack_id in stacks for row in tx.resources.get_by_stack(stack_id)]
            stacks = [row.physical.id for row in rows if row.name == parent and row.physical.id]
        for row in [row for stack_id in stacks for row in tx.resources.get_by_stack(stack_id)]:
            if (
                row.name == name
                and row.job.state is JobState.AT_BREAKPOINT
                and row.job.hook is not None
            ):
                cleared = breakpoints.HookToClear(
                    row.stack_id, row.id, row.job.hook, self.request.step
                )
                outgoing_messages = breakpoints.clear_hook(tx, cleared, self.context)
                return _Done(outgoing_messages)
        raise errors.ResourceNotFound(self.request.resource, self.request.stack)

    def _row(self, tx: Transaction) -> Resource:
        for row in tx.resources.get_by_stack(self.stack_id):
            if row.name == self.request.resource and row.desired.state is DesiredState.PRESENT:
                return row
        raise errors.ResourceNotFound(self.request.resource, self.request.stack)

    # -- helpers

    @staticmethod
    def _forget(memory: dict[str, Any], key: str) -> None:
        memory.pop(key, None)
