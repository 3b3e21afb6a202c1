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
from heat_convergence.common.retrying import Wait, persistently
from heat_convergence.convergence import breakpoints, commands, traversal
from heat_convergence.convergence.dispatch import Daemon, Posting
from heat_convergence.convergence.document import is_paused, is_stack, resources_of
from heat_convergence.convergence.model import (
    ADOPTED,
    Action,
    Desired,
    Goal,
    JobState,
    Resource,
    Stack,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Bus, Store, Transaction
from heat_convergence.convergence.traversal import Handed, Means
from heat_convergence.convergence.wanted import Reality
from heat_convergence.resources import signalling
from heat_convergence.resources.nesting.child import Children
from heat_convergence.resources.nesting.parsed import hash_of
from heat_convergence.resources.nesting.scaling import Scaler
from heat_convergence.resources.registry import Registry
from heat_convergence.testing import goals, trees

_TRAVERSALS = {
    "update": Action.UPDATE,
    "suspend": Action.SUSPEND,
    "resume": Action.RESUME,
    "check": Action.CHECK,
}
UNHEALTHY = "state changed by resource_mark_unhealthy api"
ABOUT_RESOURCES = ("signal", "unhealthy", "healthy", "clear")
VERBS = (
    "create", *_TRAVERSALS, "delete", "cancel", "stop", "snapshot", "restore", "discard",
    "abandon", "adopt", *ABOUT_RESOURCES,
)  # fmt: skip
NEW = frozenset({"create", "adopt"})
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
class Act:
    """One request: ``verb stack``; ``text`` is the template of create and update.

    ``cancel`` goes back to the last goal reached, ``stop`` stays where it is;
    ``restore`` and ``discard`` are about the newest snapshot, ``adopt`` about what the
    abandoned stack of that name left.  ``resource`` for what is about one of them,
    ``skip`` those that a delete leaves alone.  ``clear`` lets what waits at a breakpoint,
    ``n.b`` for one inside a nest, go on; with ``step`` to the next.  ``converge`` has an
    update look at all that exists.
    """

    verb: str
    stack: str
    text: str = ""
    rollback: bool = False
    timeout_mins: int | None = None
    resource: str = ""
    skip: tuple[str, ...] = ()
    step: bool = False
    converge: bool = False

    def __str__(self) -> str:
        words = [self.verb, self.stack]
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
        lines = [" ".join(words), *(f"  {line}" for line in self.text.splitlines())]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Left:
    """An abandoned stack's template, and what it told of its resources."""

    text: str
    document: Mapping[str, Any]

    @property
    def handed(self) -> dict[str, Handed]:
        return {
            name: Handed(None, {ADOPTED: entry}, True, is_paused(entry))
            if is_stack(entry)
            else Handed(entry["resource_id"], entry["resource_data"], False, is_paused(entry))
            for name, entry in resources_of(self.document)
        }


@dataclass(frozen=True, slots=True)
class _Done:
    """What to send after the commit, what to remember then, and the refusal that does
    not undo it."""

    postings: tuple[Posting, ...] = ()
    remember: Callable[[], None] = field(default=lambda: None)
    refused: errors.Error | None = None


def may_refuse(act: Act) -> frozenset[str]:
    """Errors beside ``NotSupported`` that such a request may meet: what it is about is not
    there, or is not to be touched just now."""
    return _GONE | _REFUSED.get(act.verb, frozenset())


class Users:
    """Performs acts, for one project."""

    def __init__(self, project_id: str = "project") -> None:
        self._project_id = project_id
        self.saved: dict[str, list[str]] = {}  # stack id → ids of its snapshots
        self.left: dict[str, Left] = {}  # name of an abandoned stack
        self.rung: Counter[str] = Counter()  # resource id → signals that were taken
        self.marked: dict[str, int] = {}  # id of a resource called ill → stack's version

    def perform(
        self,
        act: Act,
        stack_id: str,
        *,
        store: Store,
        bus: Bus,
        means: Means,
        wait: Wait,
        registry: Registry,
    ) -> str | None:
        """Does what the user asks; the name of the error if it is refused.

        ``stack_id`` is the stack's, or the one that a new stack is to have.
        """
        request = _Request(self, act, stack_id, means, registry)

        def attempt() -> _Done:
            with store.transaction() as tx:
                return request.write(tx)

        try:
            done = persistently(attempt, wait=wait)
        except errors.Error as error:
            if error.retry is not errors.Retry.NEVER:
                raise
            return type(error).__name__
        done.remember()
        traversal.cast(bus, done.postings, means.settings)
        return None if done.refused is None else type(done.refused).__name__

    @property
    def project_id(self) -> str:
        return self._project_id


@dataclass(frozen=True, slots=True)
class _Request:
    """One request, inside its transaction."""

    users: Users
    act: Act
    stack_id: str
    means: Means
    registry: Registry

    def write(self, tx: Transaction) -> _Done:
        if self.act.verb in _TRAVERSALS:
            return self._traverse(tx)
        done: _Done = getattr(self, f"_{self.act.verb}")(tx)
        return done

    def _traverse(self, tx: Transaction) -> _Done:
        more: Mapping[str, Any] = {}
        if self.act.verb == "update":
            template = goals.parse(self.act.text)
            more = {
                "goal": self._goal(tx, template),
                "wanted": trees.wanted(template),
                "reality": Reality.OBSERVED if self.act.converge else Reality.RECORDED,
                "values": {
                    "disable_rollback": not self.act.rollback,
                    "timeout_mins": self.act.timeout_mins,
                },
            }
        begun = traversal.start(
            tx,
            stack_id=self.stack_id,
            action=_TRAVERSALS[self.act.verb],
            means=self.means,
            **more,
        )
        return _Done(begun.postings)

    def _create(self, tx: Transaction) -> _Done:
        return self._new(tx, Action.CREATE, self.act.text, None)

    def _adopt(self, tx: Transaction) -> _Done:
        left = self.users.left.get(self.act.stack)
        if left is None:
            raise errors.NotSupported("there is nothing to adopt")
        done = self._new(tx, Action.ADOPT, left.text, left.handed)
        return _Done(done.postings, lambda: self._forget(self.users.left, self.act.stack))

    def _new(
        self, tx: Transaction, action: Action, text: str, handed: Mapping[str, Handed] | None
    ) -> _Done:
        template = goals.parse(text)
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
        begun = traversal.create(
            tx,
            stack=stack,
            goal=goal,
            wanted=trees.wanted(template),
            means=self.means,
            handed=handed,
        )
        return _Done(begun.postings)

    def _delete(self, tx: Transaction) -> _Done:
        return _Done(commands.delete(tx, self.stack_id, self.act.skip, self.means).postings)

    def _cancel(self, tx: Transaction) -> _Done:
        return _Done(
            commands.cancel_update(tx, self.stack_id, self.means, trees.rebuild).postings
        )

    def _stop(self, tx: Transaction) -> _Done:
        return _Done(
            commands.cancel_without_rollback(tx, self.stack_id, self.means).postings
        )

    # -- what outlives a stack

    def _snapshot(self, tx: Transaction) -> _Done:
        begun, saved = commands.snapshot(tx, self.stack_id, None, self.means)
        known = self.users.saved.setdefault(self.stack_id, [])
        return _Done(begun.postings, lambda: known.append(saved.id))

    def _restore(self, tx: Transaction) -> _Done:
        saved = commands.restorable(tx, self.stack_id, self._newest())
        then = tx.get_goal(saved.goal_id)
        assert then is not None
        text = tx.get_contents([then.template_hash])[then.template_hash]
        template = goals.restored(goals.parse(text), saved, self.registry)
        begun = traversal.start(
            tx,
            stack_id=self.stack_id,
            action=Action.RESTORE,
            means=self.means,
            goal=self._goal(tx, template),
            wanted=trees.wanted(template),
        )
        return _Done(begun.postings)

    def _discard(self, tx: Transaction) -> _Done:
        newest = self._newest()
        commands.delete_snapshot(tx, self.stack_id, newest, self.means, at_once=False)
        return _Done(remember=lambda: self.users.saved[self.stack_id].remove(newest))

    def _newest(self) -> str:
        return (self.users.saved.get(self.stack_id) or ["none"])[-1]

    def _abandon(self, tx: Transaction) -> _Done:
        stack = tx.get_stack(self.stack_id)
        goal = None if stack is None else tx.get_goal(stack.goal_id)
        document = commands.abandon(tx, self.stack_id, self.means)
        assert goal is not None
        text = tx.get_contents([goal.template_hash])[goal.template_hash]
        left = Left(text, document)
        return _Done(remember=lambda: self.users.left.update({self.act.stack: left}))

    # -- what is about one resource

    def _signal(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        stack = tx.get_stack(self.stack_id)
        assert stack is not None
        group_id = self.registry.get(row.implementation).scales(row.properties or {})
        now = self.means.now
        told = signalling.deliver(
            tx, stack, row.id, None, registry=self.registry, means=self.means,
            scaler=None
            if group_id is None
            else Scaler(group_id, Children(self.registry, lambda: now)),
        )  # fmt: skip
        if told.refused is not None:
            return _Done(refused=told.refused)
        woken = Posting(stack.id, told.version, told.woken, Daemon.OBSERVER)
        postings = (*told.postings, *((woken,) if told.woken else ()))
        kept = [row.id] if group_id is None else []
        return _Done(postings, lambda: self.users.rung.update(kept))

    def _unhealthy(self, tx: Transaction) -> _Done:
        row, stack = self._row(tx), tx.get_stack(self.stack_id)
        commands.mark(tx, row.id, Status.FAILED, UNHEALTHY, self.means)
        # Another verb's call, if it is still to come, gives it another state.
        to_come = row.job not in (None, Verb.CONVERGE) and row.job_state is not JobState.WATCHED
        gone = row.physical_id is None or row.action is Action.DELETE
        if gone or to_come or stack is None:
            return _Done()
        version = stack.version
        return _Done(remember=lambda: self.users.marked.update({row.id: version}))

    def _healthy(self, tx: Transaction) -> _Done:
        row = self._row(tx)
        commands.mark(tx, row.id, Status.COMPLETE, UNHEALTHY, self.means)
        return _Done(remember=lambda: self._forget(self.users.marked, row.id))

    def _clear(self, tx: Transaction) -> _Done:
        stacks, (*above, name) = [self.stack_id], self.act.resource.split(".")
        for each in above:  # an incarnation on its way out may have a stack, too
            rows = [row for stack_id in stacks for row in tx.stack_resources(stack_id)]
            stacks = [row.physical_id for row in rows if row.name == each and row.physical_id]
        for row in [row for stack_id in stacks for row in tx.stack_resources(stack_id)]:
            if row.name == name and row.job_state is JobState.HELD and row.hook is not None:
                postings = breakpoints.clear(
                    tx, row.stack_id, row.id, row.hook, self.means.settings, self.means.now,
                    self.means.ids, step=self.act.step,
                )  # fmt: skip
                return _Done(postings)
        raise errors.ResourceNotFound(self.act.resource, self.act.stack)

    def _row(self, tx: Transaction) -> Resource:
        for row in tx.stack_resources(self.stack_id):
            if row.name == self.act.resource and row.desired is Desired.PRESENT:
                return row
        raise errors.ResourceNotFound(self.act.resource, self.act.stack)

    # -- helpers

    @staticmethod
    def _forget(known: dict[str, Any], key: str) -> None:
        known.pop(key, None)

    def _goal(self, tx: Transaction, template: goals.Template) -> Goal:
        key, texts = goals.hash_of(template), trees.files(template)
        hashes = {name: hash_of(text) for name, text in texts.items()}
        stored = {hashes[name]: text for name, text in texts.items()}
        tx.put_contents({key: goals.text_of(template), **stored})
        return Goal(
            id=self.means.ids(),
            stack_id=self.stack_id,
            version=1,
            template_hash=key,
            environment=trees.environment(template),
            files=hashes,
            parameters={},
            outputs={},
            description="",
            created_at=self.means.now,
        )
