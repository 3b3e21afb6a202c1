"""What users do: the requests of the simulated world.

Performs a request as the API does, one transaction and then the messages.  Used
by the world; decides nothing about when.  Users remember what they were told: the
snapshots that they took, and what an abandoned stack left behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common import errors
from heat_convergence.common.transactions import Wait, retry_transaction
from heat_convergence.convergence.lifecycle import breakpoints, stack_actions, traversal
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage, Recipient
from heat_convergence.convergence.lifecycle.stack_export import (
    is_stack_entry,
    is_suspended_entry,
    resource_entries,
)
from heat_convergence.convergence.lifecycle.traversal import AdoptedResource, TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.ports.bus import Bus
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks import signal_delivery
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.group_scaling import GroupScaler
from heat_convergence.stacks.services import StackServices
from heat_convergence.testing.simulation.workload import nested_templates, template_notation

_TRAVERSALS = {
    "update": Action.UPDATE,
    "suspend": Action.SUSPEND,
    "resume": Action.RESUME,
    "check": Action.CHECK,
}
UNHEALTHY_REASON = "state changed by resource_mark_unhealthy api"
RESOURCE_OPERATIONS = ("signal", "unhealthy", "healthy", "clear")
OPERATIONS = (
    "create", *_TRAVERSALS, "delete", "cancel", "stop", "snapshot", "restore", "discard",
    "abandon", "adopt", *RESOURCE_OPERATIONS,
)  # fmt: skip
CREATING_OPERATIONS = frozenset({"create", "adopt"})
_GONE = frozenset({"EntityNotFound"})
_REFUSED: Mapping[str, frozenset[str]] = {
    "create": frozenset({"StackExists"}),
    "adopt": frozenset({"StackExists"}),
    "delete": frozenset({"ResourceNotFound"}),  # what is to be skipped
    "snapshot": frozenset({"ActionInProgress"}),
    "restore": frozenset({"SnapshotNotFound"}),
    "discard": frozenset({"SnapshotNotFound"}),
    "signal": frozenset(
        {"ResourceNotFound", "ResourceNotAvailable", "ResourceActionNotSupported"}
    ),
    "clear": frozenset({"ResourceNotFound", "InvalidBreakPointHook"}),
    "unhealthy": frozenset({"ResourceNotFound", "ActionInProgress"}),
    "healthy": frozenset({"ResourceNotFound", "ActionInProgress"}),
}


@dataclass(frozen=True, slots=True)
class UserRequest:
    """One request: ``verb stack``; ``text`` is the template of create and update.

    ``cancel`` goes back to the last goal reached, ``stop`` stays where it is;
    ``load_deduplicated`` and ``delete_all`` are about the newest snapshot, ``adopt`` about what
    the
    abandoned stack of that name left.  ``resource`` for what is about one of them,
    ``skip`` those that a delete leaves alone.  ``clear`` lets what waits at a breakpoint,
    ``n.b`` for one inside a nest, go on; with ``step`` to the next.  ``converge`` has an
    update look at all that exists.
    """

    operation: str
    stack: str
    template: str = ""
    rollback: bool = False
    timeout_mins: int | None = None
    resource: str = ""
    skip: tuple[str, ...] = ()
    step: bool = False
    converge: bool = False

    def __str__(self) -> str:
        words = [self.operation, self.stack]
        if self.resource:
            words.append(self.resource)
        if self.skip:
            words.append(f"skip={','.join(self.skip)}")
        if self.step:
            words.append("step")
        if self.converge:
            words.append("converge")
        if self.rollback:
            words.append("rollback")
        if self.timeout_mins is not None:
            words.append(f"timeout_mins={self.timeout_mins}")
        lines = [" ".join(words), *(f"  {line}" for line in self.template.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class AbandonedStack:
    """An abandoned stack's template, and what it told of its resources."""

    template: str
    stack_export: Mapping[str, Any]

    @property
    def adopted_resources(self) -> dict[str, AdoptedResource]:
        return {
            name: AdoptedResource(None, {ADOPTED_STACK: entry}, True, is_suspended_entry(entry))
            if is_stack_entry(entry)
            else AdoptedResource(
                entry["resource_id"], entry["resource_data"], False, is_suspended_entry(entry)
            )
            for name, entry in resource_entries(self.stack_export)
        }


@dataclass(frozen=True, slots=True)
class _Done:
    """What to send after the commit, what to remember then, and the refusal that does
    not undo it."""

    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    remember: Callable[[], None] = field(default=lambda: None)
    refused: errors.Error | None = None


def expected_errors(act: UserRequest) -> frozenset[str]:
    """Errors beside ``NotSupported`` that such a request may meet: what it is about is not
    there, or is not to be touched just now."""
    return _GONE | _REFUSED.get(act.operation, frozenset())


class SimulatedUsers:
    """Performs acts, for one project."""

    def __init__(self, project_id: str = "project") -> None:
        self._project_id = project_id
        self.snapshot_ids: dict[str, list[str]] = {}  # stack id → ids of its snapshots
        self.abandoned_stacks: dict[str, AbandonedStack] = {}  # name of an abandoned stack
        self.signal_counts: Counter[str] = Counter()  # resource id → signals that were taken
        self.marked_unhealthy: dict[str, int] = {}  # id of a resource called ill → stack's version

    def perform(
        self,
        request: UserRequest,
        stack_id: str,
        *,
        store: Store,
        bus: Bus,
        means: TraversalContext,
        wait: Wait,
        registry: ResourceTypeRegistry,
    ) -> str | None:
        """Does what the user asks; the name of the error if it is refused.

        ``find_stack_id`` is the stack's, or the one that a new stack is to have.
        """
        handler = _Request(self, request, stack_id, means, registry)

        def attempt() -> _Done:
            with store.transaction() as tx:
                return handler.write(tx)

        try:
            done = retry_transaction(attempt, wait=wait)
        except errors.Error as error:
            if error.retry is not errors.Retry.NEVER:
                raise
            return type(error).__name__
        done.remember()
        traversal.send_messages(bus, done.outgoing_messages, means.settings)
        return None if done.refused is None else type(done.refused).__name__

    @property
    def project_id(self) -> str:
        return self._project_id


@dataclass(frozen=True, slots=True)
class _Request:
    """One request, inside its transaction."""

    users: SimulatedUsers
    act: UserRequest
    stack_id: str
    means: TraversalContext
    registry: ResourceTypeRegistry

    def write(self, tx: Transaction) -> _Done:
        if self.act.operation in _TRAVERSALS:
            return self._traverse(tx)
        done: _Done = getattr(self, f"_{self.act.operation}")(tx)
        return done

    def _traverse(self, tx: Transaction) -> _Done:
        more: Mapping[str, Any] = {}
        if self.act.operation == "update":
            template = template_notation.parse_template(self.act.template)
            more = {
                "goal": self._goal(tx, template),
                "desired_resources": nested_templates.desired_resources(template),
                "state_source": StateSource.OBSERVED
                if self.act.converge
                else StateSource.RECORDED,
                "stack_values": {
                    "disable_rollback": not self.act.rollback,
                    "timeout_mins": self.act.timeout_mins,
                },
            }
        begun = traversal.start_traversal(
            tx,
            stack_id=self.stack_id,
            action=_TRAVERSALS[self.act.operation],
            context=self.means,
            **more,
        )
        return _Done(begun.outgoing_messages)

    def _create(self, tx: Transaction) -> _Done:
        return self._new(tx, Action.CREATE, self.act.template, None)

    def _adopt(self, tx: Transaction) -> _Done:
        left = self.users.abandoned_stacks.get(self.act.stack)
        if left is None:
            raise errors.NotSupported("there is nothing to adopt")
        done = self._new(tx, Action.ADOPT, left.template, left.adopted_resources)
        return _Done(
            done.outgoing_messages,
            lambda: self._forget(self.users.abandoned_stacks, self.act.stack),
        )

    def _new(
        self,
        tx: Transaction,
        action: Action,
        text: str,
        handed: Mapping[str, AdoptedResource] | None,
    ) -> _Done:
        template = template_notation.parse_template(text)
        goal = self._goal(tx, template)
        stack = Stack(
            id=self.stack_id,
            name=self.act.stack,
            project_id=self.users.project_id,
            version=1,
            action=action,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=goal.id,
            created_at=self.means.now,
            disable_rollback=not self.act.rollback,
            timeout_mins=self.act.timeout_mins,
        )
        begun = traversal.create_stack(
            tx,
            stack=stack,
            goal=goal,
            desired_resources=nested_templates.desired_resources(template),
            context=self.means,
            adopted_resources=handed,
        )
        return _Done(begun.outgoing_messages)

    def _delete(self, tx: Transaction) -> _Done:
        return _Done(
            stack_actions.delete_stack(
                tx, self.stack_id, self.act.skip, self.means
            ).outgoing_messages
        )

    def _cancel(self, tx: Transaction) -> _Done:
        return _Done(
            stack_actions.cancel_update(
                tx, self.stack_id, self.means, nested_templates.rebuild_desired
            ).outgoing_messages
        )

    def _stop(self, tx: Transaction) -> _Done:
        return _Done(
            stack_actions.cancel_without_rollback(tx, self.stack_id, self.means).outgoing_messages
        )

    # -- what outlives a stack

    def _snapshot(self, tx: Transaction) -> _Done:
        begun, saved = stack_actions.take_snapshot(tx, self.stack_id, None, self.means)
        known = self.users.snapshot_ids.setdefault(self.stack_id, [])
        return _Done(begun.outgoing_messages, lambda: known.append(saved.id))

    def _restore(self, tx: Transaction) -> _Done:
        saved = stack_actions.get_restorable_snapshot(tx, self.stack_id, self._newest())
        then = tx.goals.get(saved.goal_id)
        assert then is not None
        text = tx.contents.get([then.template_hash])[then.template_hash]
        template = template_notation.restored_template(
            template_notation.parse_template(text), saved, self.registry
        )
        begun = traversal.start_traversal(
            tx,
            stack_id=self.stack_id,
            action=Action.RESTORE,
            context=self.means,
            goal=self._goal(tx, template),
            desired_resources=nested_templates.desired_resources(template),
        )
        return _Done(begun.outgoing_messages)

    def _discard(self, tx: Transaction) -> _Done:
        newest = self._newest()
        stack_actions.delete_snapshot(tx, self.stack_id, newest, self.means, immediately=False)
        return _Done(remember=lambda: self.users.snapshot_ids[self.stack_id].remove(newest))

    def _newest(self) -> str:
        return (self.users.snapshot_ids.get(self.stack_id) or ["none"])[-1]

    def _abandon(self, tx: Transaction) -> _Done:
        stack = tx.stacks.get(self.stack_id)
        goal = None if stack is None else tx.goals.get(stack.goal_id)
        document = stack_actions.abandon_stack(tx, self.stack_id, self.means)
        assert goal is not None
        text = tx.contents.get([goal.template_hash])[goal.template_hash]
        left = AbandonedStack(text, document)
        return _Done(remember=lambda: self.users.abandoned_stacks.update({self.act.stack: left}))

    # -- what is about one resource

    def _signal(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        stack = tx.stacks.get(self.stack_id)
        assert stack is not None
        group_id = self.registry.get(row.implementation).scaled_group_id(row.properties or {})
        now = self.means.now
        told = signal_delivery.deliver_signal(
            tx, stack, signal_delivery.Signal(row.id), registry=self.registry, context=self.means,
            scaler=None
            if group_id is None
            else GroupScaler(
                group_id,
                NestedStackBuilder(StackServices(registry=self.registry, clock=lambda: now)),
            ),
        )  # fmt: skip
        if told.rejection is not None:
            return _Done(refused=told.rejection)
        woken = OutgoingMessage(stack.id, told.version, told.resources_to_poll, Recipient.OBSERVER)
        outgoing_messages = (*told.messages, *((woken,) if told.resources_to_poll else ()))
        kept = [row.id] if group_id is None else []
        return _Done(outgoing_messages, lambda: self.users.signal_counts.update(kept))

    def _unhealthy(self, tx: Transaction) -> _Done:
        row, stack = self._row(tx), tx.stacks.get(self.stack_id)
        stack_actions.mark_unhealthy(tx, row.id, Status.FAILED, UNHEALTHY_REASON, self.means)
        # Another verb's call, if it is still to come, gives it another state.
        to_come = (
            row.job not in (None, Verb.CONVERGE)
            and row.job_state is not JobState.AWAITING_OBSERVATION
        )
        gone = row.physical_id is None or row.action is Action.DELETE
        if gone or to_come or stack is None:
            return _Done()
        version = stack.version
        return _Done(remember=lambda: self.users.marked_unhealthy.update({row.id: version}))

    def _healthy(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        stack_actions.mark_unhealthy(tx, row.id, Status.COMPLETE, UNHEALTHY_REASON, self.means)
        return _Done(remember=lambda: self._forget(self.users.marked_unhealthy, row.id))

    def _clear(self, tx: Transaction) -> _Done:
        stacks, (*above, name) = [self.stack_id], self.act.resource.split(".")
        for each in above:  # an incarnation on its way out may have a stack, too
            rows = [row for stack_id in stacks for row in tx.resources.get_by_stack(stack_id)]
            stacks = [row.physical_id for row in rows if row.name == each and row.physical_id]
        for row in [row for stack_id in stacks for row in tx.resources.get_by_stack(stack_id)]:
            if (
                row.name == name
                and row.job_state is JobState.AT_BREAKPOINT
                and row.hook is not None
            ):
                outgoing_messages = breakpoints.clear_hook(
                    tx, row.stack_id, row.id, row.hook, self.means.settings, self.means.now,
                    self.means.ids, single_step=self.act.step,
                )  # fmt: skip
                return _Done(outgoing_messages)
        raise errors.ResourceNotFound(self.act.resource, self.act.stack)

    def _row(self, tx: Transaction) -> Resource:
        for row in tx.resources.get_by_stack(self.stack_id):
            if row.name == self.act.resource and row.desired is DesiredState.PRESENT:
                return row
        raise errors.ResourceNotFound(self.act.resource, self.act.stack)

    # -- helpers

    @staticmethod
    def _forget(known: dict[str, Any], key: str) -> None:
        known.pop(key, None)

    def _goal(self, tx: Transaction, template: template_notation.TemplateSpec) -> Goal:
        key, texts = (
            template_notation.template_hash(template),
            nested_templates.nested_files(template),
        )
        hashes = {name: content_hash(text) for name, text in texts.items()}
        stored = {hashes[name]: text for name, text in texts.items()}
        tx.contents.put({key: template_notation.format_template(template), **stored})
        return Goal(
            id=self.means.ids(),
            stack_id=self.stack_id,
            version=1,
            template_hash=key,
            environment=nested_templates.template_environment(template),
            files=hashes,
            parameters={},
            outputs={},
            description="",
            created_at=self.means.now,
        )
