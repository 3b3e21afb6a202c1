"""The check of the rules after every commit, before every call and at every refusal.

Called by the simulated environment.  Keeps the last state of every stack and the leases
of every task.  Reports violations; changes neither store nor cloud, except the owners
of cloud objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
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
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.testing.simulation.cloud import SimulatedCloud
from heat_convergence.testing.simulation.handover.handover_rule import HandoverRule
from heat_convergence.testing.simulation.resource_types import SimulatedType, find_signal_mistake
from heat_convergence.testing.simulation.store_reader import reader_for
from heat_convergence.testing.simulation.workload import nested_templates, template_notation
from heat_convergence.testing.simulation.workload.simulated_users import SimulatedUsers

_REACHES_GOAL = {
    Action.CREATE,
    Action.UPDATE,
    Action.ROLLBACK,
    Action.DELETE,
    Action.RESTORE,
    Action.ADOPT,
}
_REPAIRS = _REACHES_GOAL - {Action.DELETE}


TransitionCheck = Callable[[Transition], Iterable[Violation]]


@dataclass(slots=True)
class TaskClaims:
    """The leases of a running task: resource id → (lease token, stack version)."""

    lease_owner: str | None = None
    claims: dict[str, tuple[str, int]] = field(default_factory=dict)
    abandoned_stack_id: str | None = None  # abandoned by the next transaction

    @property
    def tokens(self) -> frozenset[str]:
        """The tokens of all leases."""
        return frozenset(token for token, _version in self.claims.values())


class InvariantChecker:
    """The last states of all stacks, and the violations found so far."""

    def __init__(
        self,
        store: Store,
        cloud: SimulatedCloud,
        now: Callable[[], datetime],
        occurrences: Counter[str],
        users: SimulatedUsers,
        expect_failure: Callable[[str, str], None],
    ) -> None:
        self.handover_rule = HandoverRule(cloud, occurrences)
        self.abandoned_stack_ids: set[str] = set()
        self.promoted_from: dict[str, str] = {}  # id of a root → id of its former tree
        self.first_failures: dict[str, str] = {}  # id of a tree → reason of its first failure
        self.call_checks: list[TransitionCheck] = [self.handover_rule.check_call]
        self.commit_checks: list[TransitionCheck] = []  # further rules
        self._users = users
        self._expect_failure = expect_failure
        self._failed_at: dict[str, datetime] = {}  # time of each stack's last failure
        self.violations: list[Violation] = []
        self.stack_states: dict[str, StackState] = {}
        self.in_progress: dict[str, bool] = {}  # by the stack's id
        self._occurrences = occurrences
        self._store = store
        self._reader = reader_for(store)
        self._cloud = cloud
        self._now = now

    def on_commit(self, work: TaskClaims | None) -> None:
        """Check the stacks changed by a transaction of the task, if a task made it."""
        changed = self._reader.changed_stacks()
        for row_id in self._users.dismissed_ids:
            self._cloud.release_object(row_id)
        self.violations.extend(self.handover_rule.check_commit(changed, self.stack_states))
        for _stack_id, after in changed:
            self._note_adopted(after)
        for stack_id, after in changed:
            before = self.stack_states.get(stack_id)
            known = frozenset() if before is None else before.quarantined
            self._occurrences["quarantined"] += len(after.quarantined - known)
            self.stack_states[stack_id] = after
            self.in_progress[stack_id] = after.stack.in_progress
            if before is not None and work is not None:
                self._note_claims(before, after, work)
                self._note_retained(before, after)
                self._note_promoted(before.stack, after.stack)
                self._note_abandoned(after, work)
            self._check_user_effects(before, after)
            self._check_nested_stacks(before, after)
            step = self._transition(after, work, before=before)
            self._check_rules(step)
            for check in self.commit_checks:
                self.violations.extend(check(step))

    def on_call(self, action: Action, view: ResourceContext, work: TaskClaims) -> None:
        """Check a call to the cloud that a task is about to make."""
        if view.stack_id in self.abandoned_stack_ids:
            self._check_call_after_abandon(action, view, work)
            return
        self._check_saved_before_delete(action, view)
        token, version = work.claims.get(view.resource_id, ("", 0))
        call = CloudCall(action, view.resource_id, version, token, view.physical_id)
        step = self._transition(self.stack_states[view.stack_id], work, call=call)
        self._check_rules(step)
        for check in self.call_checks:
            self.violations.extend(check(step))

    def on_refusal(self, stack_id: str, error_name: str) -> None:
        """Check a request that the API refused."""
        state = self.stack_states.get(stack_id)
        if state is not None:
            self._check_rules(self._transition(state, None, rejection=error_name, before=state))

    def report_violation(self, rule: int, message: str) -> None:
        """Record a violation of a rule."""
        self.violations.append(Violation(rule, message))

    # -- helpers

    def _transition(
        self, after: StackState, work: TaskClaims | None, **details: Any
    ) -> Transition:
        return Transition(
            now=self._now(),
            after=after,
            engine_id=None if work is None else work.lease_owner,
            lease_tokens=frozenset() if work is None else work.tokens,
            actual_resources=self._cloud.inventory(),
            expected_properties=self._expected(after),
            **details,
        )

    def _check_rules(self, transition: Transition) -> None:
        self.violations.extend(find_violations(transition))

    def _note_claims(self, before: StackState, after: StackState, work: TaskClaims) -> None:
        for row in after.resources:
            earlier = before.by_id.get(row.id)
            if earlier is None or earlier.lease.token == row.lease.token:
                continue
            if work.lease_owner is not None and row.lease.token is not None:
                work.claims[row.id] = (row.lease.token, row.job.version)
                if earlier.lease.token is not None:
                    self._occurrences["lease expired"] += 1

    def _note_retained(self, before: StackState, after: StackState) -> None:
        """Release the objects of deleted resources that retain theirs."""
        for row in before.resources:
            current = after.by_id.get(row.id)
            deleted = (
                self.handover_rule.stack_of(row.id) == row.stack_id
                if current is None
                else current.state.action is Action.DELETE and current.job.verb is None
            )
            if deleted and row.desired.definition.get("deletion_policy") == "Retain":
                self._cloud.release_object(row.id)

    def _note_promoted(self, before: Stack, after: Stack) -> None:
        if before.owner_id is not None and after.owner_id is None:
            self.promoted_from[after.id] = before.tree_id
            self._occurrences["nested stack promoted to root"] += 1

    def _note_abandoned(self, after: StackState, work: TaskClaims) -> None:
        """Release the objects of a tree; deleted nested stacks may still have snapshots."""
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
            if row.physical.awaits_stack_adoption:
                for _name, entry in template_notation.exported_resources(
                    row.physical.data[ADOPTED_STACK]
                ):
                    self._cloud.reserve_for_owner(entry["resource_id"], row.stack_id, row.id)
            elif row.job.verb is Verb.ADOPT:
                self._cloud.assign_owner(row.physical.id, row.stack_id, row.id)

    def _check_call_after_abandon(
        self, action: Action, view: ResourceContext, work: TaskClaims
    ) -> None:
        """Report a call for an abandoned stack, unless it was claimed before (RULE 6).

        A new owner that adopted the object meanwhile may find it changed.
        """
        if view.resource_id not in work.claims:
            self.report_violation(
                6, f"{action} of {view.name} is called, whose stack was abandoned"
            )
        called = self._cloud.objects.get(view.physical_id or "")
        if called is not None:
            self._cloud.mark_state_unknown(called)
            self._expect_failure(called.stack_id, f"{called.id} was still used by another stack")

    def _check_saved_before_delete(self, action: Action, view: ResourceContext) -> None:
        """Report a deletion that precedes the snapshot its deletion policy demands."""
        deleted = self._cloud.get(view.physical_id)
        row = self.stack_states[view.stack_id].by_id.get(view.resource_id)
        if action is not Action.DELETE or deleted is None or row is None:
            return
        saves = row.desired.definition.get("deletion_policy") == "Snapshot"
        recorded = row.physical.id == deleted.id  # not so if the end of a create was lost
        if not (saves and recorded and self._cloud.can_be_snapshotted(deleted)):
            return
        if row.identity.type != SimulatedType.name:
            return
        saved = self._cloud.find_snapshot(view.resource_snapshot_name)
        complete = saved is not None and self._cloud.has_passed(saved.ready_at_s)
        if saved is None or saved.source_id != deleted.id or not complete:
            self.report_violation(5, f"{deleted.id} is being deleted before it is saved")

    def _check_user_effects(self, before: StackState | None, after: StackState) -> None:
        """Report lost signals, and resources marked unhealthy that serve the next goal."""
        stack, users = after.stack, self._users
        ended = before is not None and before.stack.in_progress
        repaired = ended and stack.status is Status.COMPLETE and stack.action in _REPAIRS
        for row in after.resources:
            sent = users.signal_counts.get(row.id, 0)
            if mistake := find_signal_mistake(row, sent, self._now()):
                self.report_violation(1, f"{row.name} ({row.id}) {mistake}")
            marked = users.marked_unhealthy.get(row.id)
            if (
                marked is None
                or marked >= stack.version
                or NESTED_STACK_KEY in row.desired.definition
            ):
                continue  # a nested stack marked unhealthy is repaired, not replaced
            if row.job.verb not in (None, Verb.CONVERGE):
                del users.marked_unhealthy[row.id]  # another job sets another state
            elif repaired and row.desired.state is DesiredState.PRESENT:
                self.report_violation(
                    7, f"{row.name} ({row.id}) was marked unhealthy and is still there"
                )

    def _expected(self, after: StackState) -> Mapping[str, Mapping[str, Any] | None] | None:
        stack = after.stack
        if stack.status is not Status.COMPLETE or stack.action not in _REACHES_GOAL:
            return None
        undone = stack.action is Action.ROLLBACK and stack.complete_goal_id is None
        if stack.action is Action.DELETE or undone:
            return {}
        text = self._goal_text(stack)
        if text is None:
            return None
        ids = physical_ids(after)

        def nested_ids(name: str) -> Callable[[str], str | None]:
            nested = self.stack_states.get(ids.get(name) or "")
            return physical_ids(nested).get if nested is not None else lambda _name: None

        return nested_templates.expected_properties(
            template_notation.parse_template(text), ids.get, nested_ids
        )

    def template_of(self, stack: Stack) -> template_notation.TemplateSpec:
        """Return the template of a stack's goal, an empty one if there is none."""
        text = self._goal_text(stack)
        return {} if text is None else template_notation.parse_template(text)

    def _goal_text(self, stack: Stack) -> str | None:
        with self._store.transaction() as tx:
            goal = tx.goals.get_row(stack.goal_id)
            if goal is None:
                return None
            return tx.contents.get([goal.template_hash])[goal.template_hash]

    def _count_nested(self, before: StackState | None, after: StackState) -> None:
        nested = after.stack.owner_id is not None
        earlier = None if before is None else before.stack
        if nested and earlier is None:
            self._occurrences["nested stack created"] += 1
        elif (
            nested and earlier is not None and earlier.in_progress and not after.stack.in_progress
        ):
            deleted = after.stack.deleted_at is not None
            failed = after.stack.status is Status.FAILED
            result = "deleted" if deleted else "failed" if failed else "ended"
            self._occurrences[f"nested stack {result}"] += 1
        known = {} if before is None else before.by_id
        for row in after.resources:
            new = row.id not in known or known[row.id].job.state is not JobState.AT_BREAKPOINT
            if row.job.state is JobState.AT_BREAKPOINT and new:
                self._occurrences["nested breakpoint" if nested else "breakpoint"] += 1

    def _check_nested_stacks(self, before: StackState | None, after: StackState) -> None:
        """Report a stack that is COMPLETE before its nested stacks reached their goals."""
        stack = after.stack
        self._count_nested(before, after)
        ended = before is None or before.stack.in_progress
        if ended and stack.status is Status.FAILED:
            self._failed_at[stack.id] = self._now()
            self.first_failures.setdefault(stack.tree_id, stack.status_reason)
        elif stack.in_progress:
            self._failed_at.pop(stack.id, None)
        if stack.status is not Status.COMPLETE or not ended or stack.action not in _REPAIRS:
            return
        template = self.template_of(stack)
        for name, physical_id in physical_ids(after).items():
            spec = template.get(name)
            if spec is None or spec.type_alias not in template_notation.NESTED_STACK_ALIASES:
                continue
            nested = self.stack_states.get(physical_id or "")
            problem = self._nested_problem(
                template, name, stack, None if nested is None else nested.stack
            )
            if problem:
                self.report_violation(7, f"stack {stack.name} is COMPLETE, and {problem}")

    def _nested_problem(
        self,
        template: template_notation.TemplateSpec,
        name: str,
        parent: Stack,
        nested: Stack | None,
    ) -> str:
        """Return why the nested stack contradicts its COMPLETE parent; "" if it does not."""
        if nested is not None and nested.deleted_at is not None and _started_after(nested, parent):
            return ""  # a user has deleted it since
        if nested is None or nested.deleted_at is not None:
            return f"there is no {name}"
        if nested.status is not Status.COMPLETE:
            # A policy scales it, without its parent; or a user's request concerns it alone.
            is_group = template[name].type_alias == template_notation.SCALING_GROUP
            scaled = is_group and self._failed_later(nested, parent)
            alone = nested.goal_reached and nested.action not in _REACHES_GOAL
            return "" if scaled or alone else f"{name} is not"
        if not nested.goal_reached:
            return f"{name} was left before its goal"
        return "" if self._has_goal(template, name, nested) else f"{name} has another goal"

    def _failed_later(self, nested: Stack, parent: Stack) -> bool:
        """Return whether the nested stack was in progress during the parent's traversal."""
        failed_at = self._failed_at.get(nested.id)
        return failed_at is None or parent.started_at is None or failed_at > parent.started_at

    def _has_goal(
        self, template: template_notation.TemplateSpec, name: str, nested: Stack
    ) -> bool:
        """Return whether the nested stack has the goal that the template sets.

        Scaling policies also change the size of a scaling group, so only the flavor of
        its members counts.
        """
        spec = template[name]
        found = template_notation.parse_template(self._goal_text(nested) or "")
        if spec.type_alias == template_notation.NESTED_STACK:
            expected = nested_templates.nested_template_text(template, name)
            return template_notation.format_template(found) == expected
        sized = spec.type_alias == template_notation.SCALING_GROUP or len(found) == spec.size
        return sized and {each.flavor for each in found.values()} <= {spec.flavor}


def _started_after(one: Stack, other: Stack) -> bool:
    if one.started_at is None or other.started_at is None:
        return False
    return one.started_at > other.started_at


def physical_ids(state: StackState) -> dict[str, str | None]:
    """Return the physical ids, by name, of the resources in the goal."""
    return {
        row.name: row.physical.id
        for row in state.resources
        if row.desired.state is DesiredState.PRESENT
    }
