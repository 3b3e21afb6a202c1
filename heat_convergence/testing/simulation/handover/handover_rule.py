"""RULE 4 for hand-overs: nothing in the cloud changes, and each object has exactly one owner.

Checked at each commit and before each call, by the rows and the cloud's own account.  Gives the
cloud's objects to the resources that own them now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from heat_convergence.convergence.invariants.transition import StackState, Transition, Violation
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.handover import IMPORTED
from heat_convergence.testing.simulation.cloud import SimulatedCloud

HANDOVER_RULE = 4
MOVED, RENAMED, IMPORTED_OBJECT = "resource moved", "resource renamed", "object imported"
ChangedStacks = Sequence[tuple[str, StackState]]
Owners = Mapping[str, tuple[str, ...]]  # object → resources of one stack


@dataclass(slots=True)
class _Commit:
    """The resources that one commit hands over.

    Attributes:
        stack_ids: the stacks that resources leave or enter.
        imported_ids: the objects that resources have imported.
    """

    stack_ids: set[str] = field(default_factory=set)
    imported_ids: list[str] = field(default_factory=list)


class HandoverRule:
    """The rule, with the places of all resources at the last commit.

    Args:
        cloud: the cloud.
        occurrences: counts the resources that were handed over.

    Attributes:
        on_move: called with the ids of the stacks that a resource leaves and enters.
    """

    def __init__(self, cloud: SimulatedCloud, occurrences: Counter[str]) -> None:
        self.on_move: list[Callable[[str, str], None]] = []
        self._cloud = cloud
        self._occurrences = occurrences
        self._places: dict[str, tuple[str, str]] = {}  # resource → its stack and its name
        self._owners: dict[str, Owners] = {}  # by stack
        self._versions: set[tuple[str, int]] = set()  # stacks that have handed over, in which

    def stack_of(self, resource_id: str) -> str | None:
        """Return the id of the last stack that had a resource."""
        return self._places.get(resource_id, (None, ""))[0]

    def check_commit(
        self, changed: ChangedStacks, known: Mapping[str, StackState]
    ) -> Iterator[Violation]:
        """Yield the violations of a commit, and give objects to their new owners.

        Args:
            changed: the stacks that the commit has changed, as they are now.
            known: all stacks as they were before.
        """
        commit, owners = _Commit(), dict(self._owners)
        for stack_id, after in changed:
            for row in after.resources:
                self._note_row(stack_id, row, commit)
            self._owners[stack_id] = _owners(after)
        yield from self._shared_objects(changed)
        if not commit.stack_ids:
            return
        states = {key: after for key, after in changed if key in commit.stack_ids}
        yield from self._changed_owners(commit, owners)
        for stack_id, after in states.items():
            self._versions.add((stack_id, after.stack.version))
            yield from _not_at_rest(after, known.get(stack_id))

    def check_call(self, step: Transition) -> Iterator[Violation]:
        """Yield the violation of a call that a hand-over has caused."""
        call, stack = step.call, step.after.stack
        if call is not None and (stack.id, call.version) in self._versions:
            message = f"{call.action} of {call.physical_id} is called by the hand-over"
            yield Violation(HANDOVER_RULE, f"{message} of stack {stack.name}")

    def _note_row(self, stack_id: str, row: Resource, commit: _Commit) -> None:
        """Note the place of a resource, and a hand-over if it had another place or none."""
        known = self._places.get(row.id)
        place = (stack_id, row.name)
        self._places[row.id] = place
        if known is None and (row.state.action, row.state.reason) == (Action.ADOPT, IMPORTED):
            self._cloud.assign_owner(row.physical.id, stack_id, row.id)
            commit.imported_ids.append(row.physical.id or "")
            commit.stack_ids.add(stack_id)
            self._occurrences[IMPORTED_OBJECT] += 1
        if known in (None, place):
            return
        commit.stack_ids |= {stack_id, known[0]}
        self._occurrences[RENAMED if known[0] == stack_id else MOVED] += 1
        if known[0] != stack_id:
            for notify in self.on_move:
                notify(known[0], stack_id)
            for each in self._cloud.objects.values():
                if each.resource_id == row.id and each.stack_id:
                    each.stack_id = stack_id

    def _shared_objects(self, changed: ChangedStacks) -> Iterator[Violation]:
        """Yield the objects of changed stacks that more than one resource owns."""
        for stack_id, _after in changed:
            for physical_id in self._owners[stack_id]:
                found = [
                    row_id
                    for owners in self._owners.values()
                    for row_id in owners.get(physical_id, ())
                ]
                if len(found) > 1:
                    message = f"{physical_id} has {len(found)} owners: {', '.join(found)}"
                    yield Violation(HANDOVER_RULE, message)

    def _changed_owners(
        self, commit: _Commit, before: Mapping[str, Owners]
    ) -> Iterator[Violation]:
        """Yield a violation if stacks together do not own what they owned and have imported."""
        owned = Counter(commit.imported_ids)
        for stack_id in commit.stack_ids:
            owned.update(before.get(stack_id, {}).keys())
        found: Counter[str] = Counter()
        for stack_id in commit.stack_ids:
            found.update(self._owners.get(stack_id, {}).keys())
        if found != owned:
            message = f"{sorted(owned)} were owned before a hand-over, {sorted(found)} after it"
            yield Violation(HANDOVER_RULE, message)


def _owners(state: StackState) -> Owners:
    """Return the objects that the resources of a stack own."""
    found: dict[str, tuple[str, ...]] = {}
    for row in state.resources if state.stack.deleted_at is None else ():
        if row.physical.id is not None:
            found[row.physical.id] = (*found.get(row.physical.id, ()), row.id)
    return found


def _not_at_rest(after: StackState, before: StackState | None) -> Iterator[Violation]:
    """Yield the violation of a stack that a hand-over has left with something to do."""
    stack, problem = after.stack, ""
    jobs = sorted(row.name for row in after.resources if row.job.verb is not None)
    if jobs:
        problem = f"gives {', '.join(jobs)} a job"
    elif stack.status is not Status.COMPLETE:
        problem = f"leaves the stack {stack.action}_{stack.status}"
    elif stack.complete_goal_id != stack.goal_id:
        problem = "leaves the goal before as that of a rollback"
    elif before is not None and stack.version != before.stack.version + 1:
        problem = f"takes version {before.stack.version} to {stack.version}"
    if problem:
        yield Violation(HANDOVER_RULE, f"a hand-over of stack {stack.name} {problem}")
