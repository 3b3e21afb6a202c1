"""Jobs of resources that a stack is behind: begins that stack's traversal.

The nested stack's rows and its owner's are written in one transaction, so that there
is never the one without the other (RULE 4), and the job is over: whoever ends the
nested stack tells the owner.  Called by ``engine`` for such jobs instead of a pool.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import (
    ConcurrentTransaction,
    Error,
    RequestLimitExceeded,
    ResourceFailure,
    Unavailable,
)
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.lifecycle import rollback, traversal
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import OutgoingMessage
from heat_convergence.convergence.lifecycle.nested import detach
from heat_convergence.convergence.lifecycle.snapshots.stack_export import is_suspended_entry
from heat_convergence.convergence.lifecycle.traversal import AdoptedResource, Initiator
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.resource import ADOPTED_STACK, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import StateSource
from heat_convergence.convergence.planning.job_steps import JobStep
from heat_convergence.convergence.ports.settings import ConvergenceSettings
from heat_convergence.convergence.ports.store import Store, Transaction
from heat_convergence.engine import outcomes
from heat_convergence.engine.execution import Outcome
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.outcomes import RecordedOutcomes
from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.nested.template_cache import TemplateCache
from heat_convergence.resources.protocol.resource_type import VerbResult
from heat_convergence.stacks.goal.nested_builder import (
    NestedStackBuilder,
    ParentResource,
    ParentStack,
    PreparedNestedStack,
)

NESTED_STACK_NEVER_CREATED = "the nested stack was never made"
_GOALS = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE})
_LOOKING = frozenset({Action.CHECK, Action.RESUME})
_NOBODY = RecordedOutcomes((), {})


@dataclass(frozen=True, slots=True)
class NestedTreeLimits:
    """How large a tree may become; negative: without limit."""

    max_depth: int = 5
    max_resources: int = 1000


def is_nested_stack_job(job: Job) -> bool:
    """Whether the job is done here."""
    nested = (
        job.error is None and isinstance(job.resource_type, NestedType) and job.stack is not None
    )
    return nested and job.step.traits.runs_nested_stack


class NestedStackExecutor:
    def __init__(
        self,
        *,
        store: Store,
        builder: NestedStackBuilder,
        clock: Clock,
        ids: IdFactory,
        settings: ConvergenceSettings,
        limits: NestedTreeLimits,
    ) -> None:
        self._store = store
        self._children = builder
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._bounds = limits

    def execute(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Begins what the job asks for; whom to tell, and what to send."""
        try:
            if job.step is JobStep.ADOPT and job.row.job is not Verb.ADOPT:
                return self._take_over(job, token)
            if job.step.traits.creates or job.step is JobStep.ADOPT:
                return self._create(job, token)
            if job.step is JobStep.UPDATE:
                return self._update(job, token)
            if job.step is JobStep.ABANDON_PHYSICAL:
                return self._forget(job, token), ()
            return self._change(job, token, lambda tx, child: self._begin(tx, job, child))
        except (ConcurrentTransaction, Unavailable):
            raise  # the same may be tried again
        except Error as error:
            return self._record(Outcome(job, error=error), token), ()

    @property
    def builder(self) -> NestedStackBuilder:
        """What makes drafts here."""
        return self._children

    @property
    def template_cache(self) -> TemplateCache:
        """The templates of this process."""
        return self._children.services.template_cache

    # -- what there is to do

    def _create(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        parent = self._parent(job)
        resource = ParentResource(job.row, job.desired_properties, job.facade)
        draft = self._children.prepare(parent, resource, self._ids)
        look = VerbResult(ObservedState.BUSY, draft.stack.id, data=draft.data, poll_after_s=None)
        return self._make(job, token, draft, Outcome(job, result=look))

    def _take_over(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """Another goal has come before the stack was adopted: it is made as it was handed
        over, and the job's next step is that goal, or the deletion."""
        resource = ParentResource(job.row, job.desired_properties, job.facade)
        draft = self._children.prepare_adopted(
            self._parent(job), resource, _document(job.row), self._ids
        )
        look = VerbResult(ObservedState.BUSY, draft.stack.id, data=draft.data)
        return self._make(job, token, draft, Outcome(job, result=look, unfinished=True))

    def _make(
        self, job: Job, token: str, draft: PreparedNestedStack, outcome: Outcome
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """RULE 4: the stack's rows and its owner's, at once."""
        stack, handed = draft.stack, None
        if job.step is JobStep.ADOPT:
            stack, handed = replace(stack, action=Action.ADOPT), self._handed(job.row, draft)
        now = self._clock()
        with self._store.transaction() as tx:
            if not _held(tx, job, token):
                return _NOBODY, ()
            if job.row.desired is DesiredState.PRESENT:
                self._check_size(tx, job.row, draft)
            recorded = outcomes.record_outcomes(tx, [outcome], token, self._context(now))
            tx.contents.put(draft.contents)
            begun = traversal.create_stack(
                tx,
                stack=stack,
                goal=draft.goal,
                desired_resources=draft.desired_resources,
                context=self._context(now),
                adopted_resources=handed,
            )
        return (recorded if outcome.unfinished else _NOBODY), begun.outgoing_messages

    def _handed(self, row: Resource, draft: PreparedNestedStack) -> dict[str, AdoptedResource]:
        """What the nested stack takes over: by its own document, never by an id that
        somebody wrote down, which might be another's stack."""
        document = _document(row)
        handed = {}
        for name, entry in (document.get("resources") or {}).items():
            if name not in draft.desired_resources:
                continue
            kind = self._children.services.registry.find(
                draft.desired_resources[name].implementation
            )
            secret = kind is not None and bool(kind.secret_data)
            if "template" in entry:
                handed[name] = AdoptedResource(
                    None, {ADOPTED_STACK: entry}, True, is_suspended_entry(entry)
                )
            else:
                data, found = entry.get("resource_data") or {}, entry.get("resource_id")
                handed[name] = AdoptedResource(found, data, secret, is_suspended_entry(entry))
        return handed

    def _update(
        self, job: Job, token: str
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        resource = ParentResource(
            job.row,
            job.desired_properties,
            job.facade,
            load_members=lambda: self._members(job),
            load_goal=lambda: self._goal_below(job),
        )
        draft = self._children.prepare(self._parent(job), resource, self._ids)

        def begin(tx: Transaction, child: Stack) -> tuple[VerbResult, _Begin]:
            same = draft.data.get("made_of") == job.row.data.get("made_of")
            reality = _reality(job)
            noted = job.row.properties_hash is None  # something below does not stand any more
            known = (
                same and reality is StateSource.RECORDED and not job.row.suspended and not noted
            )
            if known and child.status is not Status.FAILED and _reaches_it(child):
                return VerbResult(ObservedState.BUSY, data=draft.data, poll_after_s=0.0), None
            return self._busy(draft), lambda now: self._update_child(
                tx, child, draft, now, reality
            )

        return self._change(job, token, begin)

    def _update_child(
        self,
        tx: Transaction,
        child: Stack,
        draft: PreparedNestedStack,
        now: datetime,
        reality: StateSource,
    ) -> tuple[OutgoingMessage, ...]:
        tx.contents.put(draft.contents)
        begun = traversal.start_traversal(
            tx,
            traversal.TraversalRequest(
                stack_id=child.id,
                action=Action.UPDATE,
                initiator=Initiator.PARENT,
                goal=draft.goal,
                desired_resources=draft.desired_resources,
                stack_values={"timeout_mins": draft.stack.timeout_mins},
                state_source=reality,
            ),
            self._context(now),
        )
        return begun.outgoing_messages

    @staticmethod
    def _busy(draft: PreparedNestedStack) -> VerbResult:
        return VerbResult(ObservedState.BUSY, data=draft.data, poll_after_s=None)

    def _begin(self, tx: Transaction, job: Job, child: Stack) -> tuple[VerbResult, _Begin]:
        def begin(now: datetime) -> tuple[OutgoingMessage, ...]:
            if job.action is Action.DELETE and rollback.RETAIN_CONTENTS in job.row.definition:
                rollback.retain_adopted(tx, tx.resources.lock_by_stack(child.id))
            begun = traversal.start_traversal(
                tx,
                traversal.TraversalRequest(
                    stack_id=child.id,
                    action=job.action,
                    initiator=Initiator.PARENT,
                ),
                self._context(now),
            )
            return begun.outgoing_messages

        return VerbResult(ObservedState.BUSY, poll_after_s=None), begin

    def _change(
        self,
        job: Job,
        token: str,
        decide: Callable[[Transaction, Stack], tuple[VerbResult, _Begin]],
    ) -> tuple[RecordedOutcomes, tuple[OutgoingMessage, ...]]:
        """The owner's row is written first: a traversal with nothing to do ends, and
        tells, at once."""
        now = self._clock()
        with self._store.transaction() as tx:
            child = tx.stacks.lock(job.row.physical_id or "")
            if not _held(tx, job, token):
                return _NOBODY, ()
            if child is None or child.deleted_at is not None or not _owns(job.row, child):
                return outcomes.record_outcomes(tx, [_missing(job)], token, self._context(now)), ()
            look, begin = decide(tx, child)
            recorded = outcomes.record_outcomes(
                tx, [Outcome(job, result=look)], token, self._context(now)
            )
            if begin is None:
                return recorded, ()
            return _NOBODY, begin(now)

    def _forget(self, job: Job, token: str) -> RecordedOutcomes:
        """What is behind it is retained: a stack of its own from now on, or still this
        one's, as the record says."""
        now = self._clock()
        with self._store.transaction() as tx:
            tree = detach.lock_nested_tree(tx, job.row.physical_id or "")
            if not _held(tx, job, token):
                return _NOBODY
            if tree and _owns(job.row, tree[-1][0]):
                detach.promote_to_root(tx, tree)
            gone = Outcome(job, result=VerbResult(ObservedState.ABSENT))
            return outcomes.record_outcomes(tx, [gone], token, self._context(now))

    # -- helpers

    def _parent(self, job: Job) -> ParentStack:
        assert job.stack is not None
        parent = self._children.load_parent(job.stack, self._load_goal, self._load)
        if job.stack.action is Action.ROLLBACK:  # which stops nowhere, at no depth
            parent = parent.without_hooks()
        return parent

    def _members(self, job: Job) -> list[Resource]:
        with self._store.transaction() as tx:
            rows = tx.resources.get_by_stack(job.row.physical_id or "")
        return [row for row in rows if row.desired is DesiredState.PRESENT]

    def _goal_below(self, job: Job) -> Goal | None:
        with self._store.transaction() as tx:
            child = tx.stacks.get(job.row.physical_id or "")
            return None if child is None else tx.goals.get_row(child.goal_id)

    def _load_goal(self, goal_id: str) -> Goal | None:
        with self._store.transaction() as tx:
            return tx.goals.get_row(goal_id)

    def _load(self, hashes: Collection[str]) -> Mapping[str, str]:
        with self._store.transaction() as tx:
            return tx.contents.get(hashes)

    def _check_size(self, tx: Transaction, row: Resource, draft: PreparedNestedStack) -> None:
        path = f"resources.{row.name}"
        if 0 <= self._bounds.max_depth < draft.stack.depth:
            raise RequestLimitExceeded(
                f"Stacks are nested at most {self._bounds.max_depth} deep", path=path
            )
        most = self._bounds.max_resources
        if most < 0:
            return
        number = tx.tree.count_resources(row.root_id) + len(draft.desired_resources)
        if number > most:
            raise RequestLimitExceeded(
                f"Maximum resources per stack exceeded: {number}, {most} are allowed", path=path
            )

    def _record(self, outcome: Outcome, token: str) -> RecordedOutcomes:
        with self._store.transaction() as tx:
            if not _held(tx, outcome.job, token):
                return _NOBODY
            return outcomes.record_outcomes(tx, [outcome], token, self._context(self._clock()))

    def _context(self, now: datetime) -> TraversalContext:
        return TraversalContext(now, self._ids, self._settings)


_Begin = Callable[[datetime], tuple[OutgoingMessage, ...]] | None


def _reaches_it(child: Stack) -> bool:
    """Whether it has reached its goal, or is on its way; not if it was left before."""
    return child.action in _GOALS or (child.action in _LOOKING and child.goal_reached)


def _owns(row: Resource, child: Stack) -> bool:
    return child.owner_resource_id == row.id


def _document(row: Resource) -> Mapping[str, Any]:
    found = row.data.get(ADOPTED_STACK)
    if not isinstance(found, Mapping):
        raise ResourceFailure("adopt_stack_data has no document of the stack behind it")
    return found


def _reality(job: Job) -> StateSource:
    """Of an owner that is to be looked at, the stack behind is: said by its row, so that
    whoever takes up the job of a dead worker knows it, too."""
    made = job.action is Action.UPDATE and job.row.applied_hash is None
    return StateSource.OBSERVED if made else StateSource.RECORDED


def _missing(job: Job) -> Outcome:
    """The nested stack was deleted behind the owner's back."""
    if job.action is Action.DELETE:
        return Outcome(job, result=VerbResult(ObservedState.ABSENT))
    if job.step is JobStep.UPDATE:
        return Outcome(job, needs_replacement=True)
    made = job.row.physical_id is not None
    if job.row.job is Verb.SNAPSHOT and not made:
        return Outcome(
            job, result=VerbResult(ObservedState.READY)
        )  # as anything else that is not there
    reason = "the nested stack is gone" if made else NESTED_STACK_NEVER_CREATED
    return Outcome(job, result=VerbResult(ObservedState.FAILED, reason=reason))


def _held(tx: Transaction, job: Job, token: str) -> bool:
    """RULE 3 and 6: whether the job is still this worker's and still wanted; a lease
    that is not is given back.  Of a tree that was set free meanwhile nothing is made on
    what was read before: a sweep posts the job again."""
    for row in tx.resources.lock([job.row.id]):
        if row.lease_token != token:
            return False
        same = row.version == job.row.version and row.root_id == job.row.root_id
        if same and row.job_state is JobState.RUNNING:
            return True
        tx.jobs.apply([row.id], job_transitions.drop_lease())
    return False
