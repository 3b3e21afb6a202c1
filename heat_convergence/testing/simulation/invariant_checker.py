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

from heat_convergence.convergence.invariants.checker import find_violations
from heat_convergence.convergence.invariants.transition import (
    CloudCall,
    StackState,
    Transition,
    Violation,
)
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import ADOPTED_STACK
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY
from heat_convergence.convergence.ports.store import Store
from heat_convergence.resources.protocol.resource_type import ResourceContext
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.resource_types import SIGNAL_COUNT, SimulatedType
from heat_convergence.testing.simulation.store_reader import reader_for
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.user_requests import SimulatedUsers

_REACHES_GOAL = {
    Action.CREATE,
    Action.UPDATE,
    Action.ROLLBACK,
    Action.DELETE,
    Action.RESTORE,
    Action.ADOPT,
}
_HEALS = _REACHES_GOAL - {Action.DELETE}


@dataclass(slots=True)
class TaskClaims:
    """What one running piece of work holds: resource id → (token, version)."""

    lease_owner: str | None = None
    claims: dict[str, tuple[str, int]] = field(default_factory=dict)
    abandoned_stack_id: str | None = None  # the stack that its next transaction forgets

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token, _version in self.claims.values())


class InvariantChecker:
    """Snapshots and violations."""

    def __init__(
        self,
        store: Store,
        cloud: SimulatedCloud,
        now: Callable[[], datetime],
        happened: Counter[str],
        users: SimulatedUsers,
        excuse: Callable[[str, str], None],
    ) -> None:
        self.abandoned_stack_ids: set[str] = set()
        self.promoted_from: dict[str, str] = {}  # id of a root → of the tree that it was of before
        self._users = users
        self._excuse = excuse
        self._failed_at: dict[str, datetime] = {}  # when a stack failed last
        self.violations: list[Violation] = []
        self.stack_states: dict[str, StackState] = {}
        self._happened = happened
        self._store = store
        self._reader = reader_for(store)
        self._cloud = cloud
        self._now = now

    def on_commit(self, work: TaskClaims | None) -> None:
        """A transaction was committed by ``work``."""
        changed = self._reader.changed_stacks()
        for _stack_id, after in changed:
            self._note_adopted(after)
        for stack_id, after in changed:
            before = self.stack_states.get(stack_id)
            self.stack_states[stack_id] = after
            if before is not None and work is not None:
                self._note_claims(before, after, work)
                self._note_retained(before, after)
                self._note_freed(before.stack, after.stack)
                self._note_abandoned(after, work)
            self._mind_users(before, after)
            self._mind_nests(before, after)
            self._check(self._step(after, before=before, work=work))

    def on_call(self, verb: Action, view: ResourceContext, work: TaskClaims) -> None:
        """A job is about to call."""
        if view.stack_id in self.abandoned_stack_ids:
            self._call_too_late(verb, view, work)
            return
        self._mind_copies(verb, view)
        token, version = work.claims.get(view.resource_id, ("", 0))
        call = CloudCall(verb, view.resource_id, version, token, view.physical_id)
        self._check(self._step(self.stack_states[view.stack_id], work=work, call=call))

    def on_refusal(self, stack_id: str, name: str) -> None:
        snapshot = self.stack_states.get(stack_id)
        if snapshot is not None:
            self._check(self._step(snapshot, rejection=name, before=snapshot))

    def report_violation(self, rule: int, message: str) -> None:
        self.violations.append(Violation(rule, message))

    # -- helpers

    def _step(self, after: StackState, **more: Any) -> Transition:
        work = more.pop("work", None)
        return Transition(
            now=self._now(),
            after=after,
            engine_id=None if work is None else work.lease_owner,
            lease_tokens=frozenset() if work is None else work.tokens,
            actual_resources=self._cloud.inventory(),
            expected_properties=self._expected(after),
            **more,
        )

    def _check(self, step: Transition) -> None:
        self.violations.extend(find_violations(step))

    def _note_claims(self, before: StackState, after: StackState, work: TaskClaims) -> None:
        known = before.by_id
        for row in after.resources:
            was = known.get(row.id)
            taken = was is not None and was.lease_token != row.lease_token
            if work.lease_owner is not None and taken and row.lease_token is not None:
                work.claims[row.id] = (row.lease_token, row.version)
                if was is not None and was.lease_token is not None:
                    self._happened["lease expired"] += 1

    def _note_retained(self, before: StackState, after: StackState) -> None:
        """What is retained is nobody's any more."""
        left = after.by_id
        for row in before.resources:
            now = left.get(row.id)
            gone = now is None or (now.action is Action.DELETE and now.job is None)
            if gone and row.definition.get("deletion_policy") == "Retain":
                self._cloud.release_object(row.id)

    def _note_freed(self, before: Stack, after: Stack) -> None:
        if before.owner_id is not None and after.owner_id is None:
            self.promoted_from[after.id] = before.tree_id
            self._happened["nest set free"] += 1

    def _note_abandoned(self, after: StackState, work: TaskClaims) -> None:
        """Of stacks below that had gone before, copies may be there yet."""
        if work.abandoned_stack_id != after.stack.tree_id or after.stack.deleted_at is None:
            return
        for stack_id, known in self.stack_states.items():
            if (
                known.stack.tree_id == work.abandoned_stack_id
                and stack_id not in self.abandoned_stack_ids
            ):
                self._cloud.release_stack_objects(stack_id)
                self.abandoned_stack_ids.add(stack_id)

    def _note_adopted(self, after: StackState) -> None:
        for row in after.resources:
            if row.awaits_stack_adoption:
                for _name, entry in template_notation.exported_resources(row.data[ADOPTED_STACK]):
                    self._cloud.reserve_for_owner(entry["resource_id"], row.stack_id, row.id)
            elif row.job is Verb.ADOPT:
                self._cloud.assign_owner(row.physical_id, row.stack_id, row.id)

    def _call_too_late(self, verb: Action, view: ResourceContext, work: TaskClaims) -> None:
        """Of a stack that was abandoned nothing is touched any more, but for what was
        begun (RULE 6); whoever has adopted it meanwhile may find it changed."""
        if view.resource_id not in work.claims:
            self.report_violation(6, f"{verb} of {view.name} is called, whose stack was abandoned")
        thing = self._cloud.objects.get(view.physical_id or "")
        if thing is not None:
            self._cloud.mark_state_unknown(thing)
            self._excuse(thing.stack_id, f"{thing.id} was still in another's hands")

    def _mind_copies(self, verb: Action, view: ResourceContext) -> None:
        """What is to be kept is saved before it is deleted."""
        thing = self._cloud.get(view.physical_id)
        row = self.stack_states[view.stack_id].by_id.get(view.resource_id)
        if verb is not Action.DELETE or thing is None or row is None:
            return
        kept = row.definition.get("deletion_policy") == "Snapshot"
        known = row.physical_id == thing.id  # or a create that was never seen to end
        if not (kept and known and self._cloud.can_be_snapshotted(thing)):
            return
        if row.type != SimulatedType.name:
            return
        copy = self._cloud.find_snapshot(view.resource_snapshot_name)
        if (
            copy is None
            or copy.source_id != thing.id
            or not self._cloud.has_passed(copy.ready_at_s)
        ):
            self.report_violation(5, f"{thing.id} is being deleted before it is saved")

    def _mind_users(self, before: StackState | None, after: StackState) -> None:
        """No signal is lost, and what was called ill does not serve the next goal."""
        stack, users = after.stack, self._users
        ended = before is not None and before.stack.in_progress
        healed = ended and stack.status is Status.COMPLETE and stack.action in _HEALS
        for row in after.resources:
            if row.data.get(SIGNAL_COUNT, 0) < users.signal_counts[row.id]:
                self.report_violation(1, f"{row.name} ({row.id}) has lost a signal")
            marked = users.marked_unhealthy.get(row.id)
            if marked is None or marked >= stack.version or NESTED_STACK_KEY in row.definition:
                continue  # a nest that is called ill is mended
            if row.job not in (None, Verb.CONVERGE):
                del users.marked_unhealthy[row.id]  # it gets another state, by another verb
            elif healed and row.desired is DesiredState.PRESENT:
                self.report_violation(
                    7, f"{row.name} ({row.id}) was called ill and is still there"
                )

    def _expected(self, after: StackState) -> Mapping[str, Mapping[str, Any] | None] | None:
        stack = after.stack
        if stack.status is not Status.COMPLETE or stack.action not in _REACHES_GOAL:
            return None
        nothing = stack.action is Action.ROLLBACK and stack.complete_goal_id is None
        if stack.action is Action.DELETE or nothing:
            return {}
        text = self._goal_text(stack)
        if text is None:
            return None
        ids = physical_ids(after)

        def inside(name: str) -> Callable[[str], str | None]:
            below = self.stack_states.get(ids.get(name) or "")
            return physical_ids(below).get if below is not None else lambda _name: None

        return nested_templates.expected_properties(
            template_notation.parse_template(text), ids.get, inside
        )

    def _goal_text(self, stack: Stack) -> str | None:
        with self._store.transaction() as tx:
            goal = tx.goals.get_row(stack.goal_id)
            if goal is None:
                return None
            return tx.contents.get([goal.template_hash])[goal.template_hash]

    def _count(self, before: StackState | None, after: StackState) -> None:
        nested = after.stack.owner_id is not None
        was = None if before is None else before.stack
        if nested and was is None:
            self._happened["nest made"] += 1
        elif nested and was is not None and was.in_progress and not after.stack.in_progress:
            gone = after.stack.deleted_at is not None
            failed = after.stack.status is Status.FAILED
            self._happened[f"nest {'deleted' if gone else 'failed' if failed else 'ended'}"] += 1
        known = {} if before is None else before.by_id
        for row in after.resources:
            new = row.id not in known or known[row.id].job_state is not JobState.AT_BREAKPOINT
            if row.job_state is JobState.AT_BREAKPOINT and new:
                self._happened["held below" if nested else "held"] += 1

    def _mind_nests(self, before: StackState | None, after: StackState) -> None:
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
        template = {} if text is None else template_notation.parse_template(text)
        for name, physical_id in physical_ids(after).items():
            if (
                name in template
                and template[name].type_alias in template_notation.NESTED_STACK_ALIASES
            ):
                below = self.stack_states.get(physical_id or "")
                wrong = self._wrong(template, name, stack, None if below is None else below.stack)
                if wrong:
                    self.report_violation(7, f"stack {stack.name} is COMPLETE, and {wrong}")

    def _wrong(
        self,
        template: template_notation.TemplateSpec,
        name: str,
        above: Stack,
        below: Stack | None,
    ) -> str:
        """What is wrong with the stack behind a resource of one that is COMPLETE."""
        if below is not None and below.deleted_at is not None and _begun_after(below, above):
            return ""  # its user has deleted it meanwhile
        if below is None or below.deleted_at is not None:
            return f"there is no {name}"
        if below.status is not Status.COMPLETE:
            # A lever scales it, in which the stack above takes no part; or a user's request
            # is about it alone.
            scaled = template[name].type_alias == template_notation.SCALING_GROUP and self._later(
                below, above
            )
            alone = below.goal_reached and below.action not in _REACHES_GOAL
            return "" if scaled or alone else f"{name} is not"
        if not below.goal_reached:
            return f"{name} was left before its goal"
        return "" if self._has_goal(template, name, below) else f"{name} has another goal"

    def _later(self, below: Stack, above: Stack) -> bool:
        """Whether the one below was still at work when the other's traversal began, or has
        begun after it."""
        failed_at = self._failed_at.get(below.id)
        return failed_at is None or above.started_at is None or failed_at > above.started_at

    def _has_goal(self, template: template_notation.TemplateSpec, name: str, below: Stack) -> bool:
        """Whether the stack behind has the goal that the template sets; of a fleet only
        the flavor of its members, whose number is that of its levers, too."""
        found, spec = (
            template_notation.parse_template(self._goal_text(below) or ""),
            template[name],
        )
        if spec.type_alias == template_notation.NESTED_STACK:
            return template_notation.format_template(
                found
            ) == nested_templates.nested_template_text(template, name)
        right = spec.type_alias == template_notation.SCALING_GROUP or len(found) == spec.size
        return right and {each.flavor for each in found.values()} <= {spec.flavor}


def _begun_after(one: Stack, other: Stack) -> bool:
    known = one.started_at is not None and other.started_at is not None
    return known and one.started_at > other.started_at


def physical_ids(snapshot: StackState) -> dict[str, str | None]:
    """Name → physical id, of what the goal wants."""
    return {
        row.name: row.physical_id
        for row in snapshot.resources
        if row.desired is DesiredState.PRESENT
    }
