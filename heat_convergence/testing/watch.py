"""The rules, asked after every commit, before every call and at every refusal.

Used by the world.  Keeps the snapshots of all stacks as they were last, and who
holds which lease.  Decides only what is a violation; changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from heat_convergence.convergence import rules
from heat_convergence.convergence.model import (
    ADOPTED,
    Action,
    Desired,
    JobState,
    Stack,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Store
from heat_convergence.convergence.rules import Snapshot, Violation
from heat_convergence.convergence.wanted import NESTED
from heat_convergence.resources.plugin import View
from heat_convergence.testing import goals, trees
from heat_convergence.testing.cloud import Cloud
from heat_convergence.testing.reading import reader_of
from heat_convergence.testing.types import RUNG, SimulatedType
from heat_convergence.testing.users import Users

_REACHES_GOAL = {
    Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.DELETE, Action.RESTORE, Action.ADOPT,
}
_HEALS = _REACHES_GOAL - {Action.DELETE}


@dataclass(slots=True)
class Work:
    """What one running piece of work holds: resource id → (token, version)."""

    engine: str | None = None
    claims: dict[str, tuple[str, int]] = field(default_factory=dict)
    abandons: str | None = None  # the stack that its next transaction forgets

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token, _version in self.claims.values())


class Watch:
    """Snapshots and violations."""

    def __init__(
        self,
        store: Store,
        cloud: Cloud,
        now: Callable[[], datetime],
        happened: Counter[str],
        users: Users,
        excuse: Callable[[str, str], None],
    ) -> None:
        self.abandoned: set[str] = set()
        self.freed: dict[str, str] = {}  # id of a root → of the tree that it was of before
        self._users = users
        self._excuse = excuse
        self._failed_at: dict[str, datetime] = {}  # when a stack failed last
        self.violations: list[Violation] = []
        self.snapshots: dict[str, Snapshot] = {}
        self._happened = happened
        self._store = store
        self._reader = reader_of(store)
        self._cloud = cloud
        self._now = now

    def committed(self, work: Work | None) -> None:
        """A transaction was committed by ``work``."""
        changed = self._reader.changed()
        for _stack_id, after in changed:
            self._note_adopted(after)
        for stack_id, after in changed:
            before = self.snapshots.get(stack_id)
            self.snapshots[stack_id] = after
            if before is not None and work is not None:
                self._note_claims(before, after, work)
                self._note_retained(before, after)
                self._note_freed(before.stack, after.stack)
                self._note_abandoned(after, work)
            self._mind_users(before, after)
            self._mind_nests(before, after)
            self._check(self._step(after, before=before, work=work))

    def calling(self, verb: Action, view: View, work: Work) -> None:
        """A job is about to call."""
        if view.stack_id in self.abandoned:
            self._call_too_late(verb, view, work)
            return
        self._mind_copies(verb, view)
        token, version = work.claims.get(view.resource_id, ("", 0))
        call = rules.Call(verb, view.resource_id, version, token, view.physical_id)
        self._check(self._step(self.snapshots[view.stack_id], work=work, call=call))

    def refused(self, stack_id: str, name: str) -> None:
        snapshot = self.snapshots.get(stack_id)
        if snapshot is not None:
            self._check(self._step(snapshot, refused=name, before=snapshot))

    def say(self, rule: int, message: str) -> None:
        self.violations.append(Violation(rule, message))

    # -- helpers

    def _step(self, after: Snapshot, **more: Any) -> rules.Step:
        work = more.pop("work", None)
        return rules.Step(
            now=self._now(),
            after=after,
            engine=None if work is None else work.engine,
            tokens=frozenset() if work is None else work.tokens,
            reality=self._cloud.account(),
            expected=self._expected(after),
            **more,
        )

    def _check(self, step: rules.Step) -> None:
        self.violations.extend(rules.check(step))

    def _note_claims(self, before: Snapshot, after: Snapshot, work: Work) -> None:
        known = before.by_id
        for row in after.rows:
            was = known.get(row.id)
            taken = was is not None and was.lease_token != row.lease_token
            if work.engine is not None and taken and row.lease_token is not None:
                work.claims[row.id] = (row.lease_token, row.version)
                if was is not None and was.lease_token is not None:
                    self._happened["lease expired"] += 1

    def _note_retained(self, before: Snapshot, after: Snapshot) -> None:
        """What is retained is nobody's any more."""
        left = after.by_id
        for row in before.rows:
            now = left.get(row.id)
            gone = now is None or (now.action is Action.DELETE and now.job is None)
            if gone and row.definition.get("deletion_policy") == "Retain":
                self._cloud.disown(row.id)

    def _note_freed(self, before: Stack, after: Stack) -> None:
        if before.owner_id is not None and after.owner_id is None:
            self.freed[after.id] = before.tree_id
            self._happened["nest set free"] += 1

    def _note_abandoned(self, after: Snapshot, work: Work) -> None:
        """Of stacks below that had gone before, copies may be there yet."""
        if work.abandons != after.stack.tree_id or after.stack.deleted_at is None:
            return
        for stack_id, known in self.snapshots.items():
            if known.stack.tree_id == work.abandons and stack_id not in self.abandoned:
                self._cloud.leave(stack_id)
                self.abandoned.add(stack_id)

    def _note_adopted(self, after: Snapshot) -> None:
        for row in after.rows:
            if row.unadopted:
                for _name, entry in goals.handed_down(row.data[ADOPTED]):
                    self._cloud.entrust(entry["resource_id"], row.stack_id, row.id)
            elif row.job is Verb.ADOPT:
                self._cloud.hand_over(row.physical_id, row.stack_id, row.id)

    def _call_too_late(self, verb: Action, view: View, work: Work) -> None:
        """Of a stack that was abandoned nothing is touched any more, but for what was
        begun (RULE 6); whoever has adopted it meanwhile may find it changed."""
        if view.resource_id not in work.claims:
            self.say(6, f"{verb} of {view.name} is called, whose stack was abandoned")
        thing = self._cloud.things.get(view.physical_id or "")
        if thing is not None:
            self._cloud.estrange(thing)
            self._excuse(thing.stack_id, f"{thing.id} was still in another's hands")

    def _mind_copies(self, verb: Action, view: View) -> None:
        """What is to be kept is saved before it is deleted."""
        thing = self._cloud.get(view.physical_id)
        row = self.snapshots[view.stack_id].by_id.get(view.resource_id)
        if verb is not Action.DELETE or thing is None or row is None:
            return
        kept = row.definition.get("deletion_policy") == "Snapshot"
        known = row.physical_id == thing.id  # or a create that was never seen to end
        if not (kept and known and self._cloud.is_whole(thing)):
            return
        if row.type != SimulatedType.name:
            return
        copy = self._cloud.copy_named(view.copy_name)
        if copy is None or copy.thing_id != thing.id or not self._cloud.is_past(copy.up_at_s):
            self.say(5, f"{thing.id} is being deleted before it is saved")

    def _mind_users(self, before: Snapshot | None, after: Snapshot) -> None:
        """No signal is lost, and what was called ill does not serve the next goal."""
        stack, users = after.stack, self._users
        ended = before is not None and before.stack.in_progress
        healed = ended and stack.status is Status.COMPLETE and stack.action in _HEALS
        for row in after.rows:
            if row.data.get(RUNG, 0) < users.rung[row.id]:
                self.say(1, f"{row.name} ({row.id}) has lost a signal")
            marked = users.marked.get(row.id)
            if marked is None or marked >= stack.version or NESTED in row.definition:
                continue  # a nest that is called ill is mended
            if row.job not in (None, Verb.CONVERGE):
                del users.marked[row.id]  # it gets another state, by another verb
            elif healed and row.desired is Desired.PRESENT:
                self.say(7, f"{row.name} ({row.id}) was called ill and is still there")

    def _expected(self, after: Snapshot) -> Mapping[str, Mapping[str, Any] | None] | None:
        stack = after.stack
        if stack.status is not Status.COMPLETE or stack.action not in _REACHES_GOAL:
            return None
        nothing = stack.action is Action.ROLLBACK and stack.complete_goal_id is None
        if stack.action is Action.DELETE or nothing:
            return {}
        text = self._goal_text(stack)
        if text is None:
            return None
        ids = ids_of(after)

        def inside(name: str) -> Callable[[str], str | None]:
            below = self.snapshots.get(ids.get(name) or "")
            return ids_of(below).get if below is not None else lambda _name: None

        return trees.expected(goals.parse(text), ids.get, inside)

    def _goal_text(self, stack: Stack) -> str | None:
        with self._store.transaction() as tx:
            goal = tx.lean_goal(stack.goal_id)
            if goal is None:
                return None
            return tx.get_contents([goal.template_hash])[goal.template_hash]

    def _count(self, before: Snapshot | None, after: Snapshot) -> None:
        nested = after.stack.owner_id is not None
        was = None if before is None else before.stack
        if nested and was is None:
            self._happened["nest made"] += 1
        elif nested and was is not None and was.in_progress and not after.stack.in_progress:
            gone = after.stack.deleted_at is not None
            failed = after.stack.status is Status.FAILED
            self._happened[f"nest {'deleted' if gone else 'failed' if failed else 'ended'}"] += 1
        known = {} if before is None else before.by_id
        for row in after.rows:
            new = row.id not in known or known[row.id].job_state is not JobState.HELD
            if row.job_state is JobState.HELD and new:
                self._happened["held below" if nested else "held"] += 1

    def _mind_nests(self, before: Snapshot | None, after: Snapshot) -> None:
        """A stack is COMPLETE when those behind its resources are, with its goal for
        them."""
        stack = after.stack
        self._count(before, after)
        ended = before is None or before.stack.in_progress
        if ended and stack.status is Status.FAILED:
            self._failed_at[stack.id] = self._now()
        elif stack.in_progress:
            self._failed_at.pop(stack.id, None)
        if stack.status is not Status.COMPLETE or not ended or stack.action not in _HEALS:
            return
        text = self._goal_text(stack)
        template = {} if text is None else goals.parse(text)
        for name, physical_id in ids_of(after).items():
            if name in template and template[name].kind in goals.BEHIND:
                below = self.snapshots.get(physical_id or "")
                wrong = self._wrong(template, name, stack, None if below is None else below.stack)
                if wrong:
                    self.say(7, f"stack {stack.name} is COMPLETE, and {wrong}")

    def _wrong(
        self, template: goals.Template, name: str, above: Stack, below: Stack | None
    ) -> str:
        """What is wrong with the stack behind a resource of one that is COMPLETE."""
        if below is not None and below.deleted_at is not None and _begun_after(below, above):
            return ""  # its user has deleted it meanwhile
        if below is None or below.deleted_at is not None:
            return f"there is no {name}"
        if below.status is not Status.COMPLETE:
            # A lever scales it, in which the stack above takes no part; or a user's request
            # is about it alone.
            scaled = template[name].kind == goals.FLEET and self._later(below, above)
            alone = below.at_goal and below.action not in _REACHES_GOAL
            return "" if scaled or alone else f"{name} is not"
        if not below.at_goal:
            return f"{name} was left before its goal"
        return "" if self._has_goal(template, name, below) else f"{name} has another goal"

    def _later(self, below: Stack, above: Stack) -> bool:
        """Whether the one below was still at work when the other's traversal began, or has
        begun after it."""
        failed_at = self._failed_at.get(below.id)
        return failed_at is None or above.begun_at is None or failed_at > above.begun_at

    def _has_goal(self, template: goals.Template, name: str, below: Stack) -> bool:
        """Whether the stack behind has the goal that the template sets; of a fleet only
        the flavor of its members, whose number is that of its levers, too."""
        found, spec = goals.parse(self._goal_text(below) or ""), template[name]
        if spec.kind == goals.NEST:
            return goals.text_of(found) == trees.text_inside(template, name)
        right = spec.kind == goals.FLEET or len(found) == spec.size
        return right and {each.flavor for each in found.values()} <= {spec.flavor}


def _begun_after(one: Stack, other: Stack) -> bool:
    known = one.begun_at is not None and other.begun_at is not None
    return known and one.begun_at > other.begun_at


def ids_of(snapshot: Snapshot) -> dict[str, str | None]:
    """Name → physical id, of what the goal wants."""
    return {
        row.name: row.physical_id for row in snapshot.rows if row.desired is Desired.PRESENT
    }
