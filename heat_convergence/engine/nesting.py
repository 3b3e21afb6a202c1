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
from heat_convergence.convergence import retaining, rollback, traversal
from heat_convergence.convergence.deciding import Step
from heat_convergence.convergence.dispatch import Posting
from heat_convergence.convergence.document import is_paused
from heat_convergence.convergence.model import (
    ADOPTED,
    Action,
    Desired,
    Goal,
    JobState,
    Observed,
    Resource,
    Stack,
    Status,
    Verb,
)
from heat_convergence.convergence.ports import Settings, Store, Transaction
from heat_convergence.convergence.traversal import Asker, Handed, Means
from heat_convergence.convergence.wanted import Reality
from heat_convergence.engine import recording
from heat_convergence.engine.jobs import Job
from heat_convergence.engine.performing import Outcome
from heat_convergence.engine.recording import Recorded
from heat_convergence.resources.nesting.child import Children, Draft, Parent
from heat_convergence.resources.nesting.kinds import NestedType
from heat_convergence.resources.nesting.parsed import Parsed
from heat_convergence.resources.plugin import Look

NEVER_MADE = "the nested stack was never made"
_MAKING = (Step.CREATE, Step.FIND_OR_CREATE)
_STEPS = frozenset({*_MAKING, Step.ADOPT, Step.UPDATE, Step.DELETE, Step.VERB, Step.FORGET})
_ACTIONS = {
    Verb.SUSPEND: Action.SUSPEND,
    Verb.RESUME: Action.RESUME,
    Verb.CHECK: Action.CHECK,
    Verb.SNAPSHOT: Action.SNAPSHOT,
}
_GOALS = frozenset({Action.CREATE, Action.ADOPT, Action.UPDATE})
_LOOKING = frozenset({Action.CHECK, Action.RESUME})
_NOBODY = Recorded((), {})


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large a tree may become; negative: without limit."""

    depth: int = 5
    resources: int = 1000


def is_nested(job: Job) -> bool:
    """Whether the job is done here."""
    nested = job.error is None and isinstance(job.type, NestedType) and job.stack is not None
    return nested and job.step in _STEPS


class Nester:
    def __init__(
        self,
        *,
        store: Store,
        children: Children,
        clock: Clock,
        ids: IdFactory,
        settings: Settings,
        bounds: Bounds,
    ) -> None:
        self._store = store
        self._children = children
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._bounds = bounds

    def do(self, job: Job, token: str) -> tuple[Recorded, tuple[Posting, ...]]:
        """Begins what the job asks for; whom to tell, and what to send."""
        try:
            if job.step is Step.ADOPT and job.row.job is not Verb.ADOPT:
                return self._take_over(job, token)
            if job.step in _MAKING or job.step is Step.ADOPT:
                return self._create(job, token)
            if job.step is Step.UPDATE:
                return self._update(job, token)
            if job.step is Step.FORGET:
                return self._forget(job, token), ()
            action = Action.DELETE
            if job.step is Step.VERB and job.row.job is not None:
                action = _ACTIONS[job.row.job]
            return self._change(job, token, lambda tx, child: self._begin(tx, job, child, action))
        except (ConcurrentTransaction, Unavailable):
            raise  # the same may be tried again
        except Error as error:
            return self._record(Outcome(job, error=error), token), ()

    @property
    def children(self) -> Children:
        """What makes drafts here."""
        return self._children

    @property
    def parsed(self) -> Parsed:
        """The templates of this process."""
        return self._children.parsed

    # -- what there is to do

    def _create(self, job: Job, token: str) -> tuple[Recorded, tuple[Posting, ...]]:
        parent = self._parent(job)
        draft = self._children.draft(parent, job.row, job.after, self._ids, facade=job.facade)
        look = Look(Observed.BUSY, draft.stack.id, data=draft.data, again_s=None)
        return self._make(job, token, draft, Outcome(job, look=look))

    def _take_over(self, job: Job, token: str) -> tuple[Recorded, tuple[Posting, ...]]:
        """Another goal has come before the stack was adopted: it is made as it was handed
        over, and the job's next step is that goal, or the deletion."""
        draft = self._children.handed(
            self._parent(job), job.row, _document(job.row), self._ids, facade=job.facade
        )
        look = Look(Observed.BUSY, draft.stack.id, data=draft.data)
        return self._make(job, token, draft, Outcome(job, look=look, unfinished=True))

    def _make(
        self, job: Job, token: str, draft: Draft, outcome: Outcome
    ) -> tuple[Recorded, tuple[Posting, ...]]:
        """RULE 4: the stack's rows and its owner's, at once."""
        stack, handed = draft.stack, None
        if job.step is Step.ADOPT:
            stack, handed = replace(stack, action=Action.ADOPT), self._handed(job.row, draft)
        now = self._clock()
        with self._store.transaction() as tx:
            if not _held(tx, job, token):
                return _NOBODY, ()
            if job.row.desired is Desired.PRESENT:
                self._check_size(tx, job.row, draft)
            recorded = recording.record(tx, [outcome], token, now, self._settings)
            tx.put_contents(draft.contents)
            begun = traversal.create(
                tx,
                stack=stack,
                goal=draft.goal,
                wanted=draft.wanted,
                means=self._means(now),
                handed=handed,
            )
        return (recorded if outcome.unfinished else _NOBODY), begun.postings

    def _handed(self, row: Resource, draft: Draft) -> dict[str, Handed]:
        """What the nested stack takes over: by its own document, never by an id that
        somebody wrote down, which might be another's stack."""
        document = _document(row)
        handed = {}
        for name, entry in (document.get("resources") or {}).items():
            if name not in draft.wanted:
                continue
            kind = self._children.registry.find(draft.wanted[name].implementation)
            secret = kind is not None and bool(kind.secret_data)
            if "template" in entry:
                handed[name] = Handed(None, {ADOPTED: entry}, True, is_paused(entry))
            else:
                data, found = entry.get("resource_data") or {}, entry.get("resource_id")
                handed[name] = Handed(found, data, secret, is_paused(entry))
        return handed

    def _update(self, job: Job, token: str) -> tuple[Recorded, tuple[Posting, ...]]:
        draft = self._children.draft(
            self._parent(job),
            job.row,
            job.after,
            self._ids,
            facade=job.facade,
            members=lambda: self._members(job),
            goal=lambda: self._goal_below(job),
        )

        def begin(tx: Transaction, child: Stack) -> tuple[Look, _Begin]:
            same = draft.data.get("made_of") == job.row.data.get("made_of")
            reality = _reality(job)
            noted = job.row.properties_hash is None  # something below does not stand any more
            known = same and reality is Reality.RECORDED and not job.row.paused and not noted
            if known and child.status is not Status.FAILED and _reaches_it(child):
                return Look(Observed.BUSY, data=draft.data, again_s=0.0), None
            return self._busy(draft), lambda now: self._update_child(
                tx, child, draft, now, reality
            )

        return self._change(job, token, begin)

    def _update_child(
        self, tx: Transaction, child: Stack, draft: Draft, now: datetime, reality: Reality
    ) -> tuple[Posting, ...]:
        tx.put_contents(draft.contents)
        begun = traversal.start(
            tx,
            stack_id=child.id,
            action=Action.UPDATE,
            asker=Asker.OWNER,
            goal=draft.goal,
            wanted=draft.wanted,
            values={"timeout_mins": draft.stack.timeout_mins},
            means=self._means(now),
            reality=reality,
        )
        return begun.postings

    @staticmethod
    def _busy(draft: Draft) -> Look:
        return Look(Observed.BUSY, data=draft.data, again_s=None)

    def _begin(
        self, tx: Transaction, job: Job, child: Stack, action: Action
    ) -> tuple[Look, _Begin]:
        def begin(now: datetime) -> tuple[Posting, ...]:
            if action is Action.DELETE and rollback.GIVEN_BACK in job.row.definition:
                rollback.give_back(tx, tx.lock_stack_resources(child.id))
            begun = traversal.start(
                tx,
                stack_id=child.id,
                action=action,
                asker=Asker.OWNER,
                means=self._means(now),
            )
            return begun.postings

        return Look(Observed.BUSY, again_s=None), begin

    def _change(
        self,
        job: Job,
        token: str,
        decide: Callable[[Transaction, Stack], tuple[Look, _Begin]],
    ) -> tuple[Recorded, tuple[Posting, ...]]:
        """The owner's row is written first: a traversal with nothing to do ends, and
        tells, at once."""
        now = self._clock()
        with self._store.transaction() as tx:
            child = tx.lock_stack(job.row.physical_id or "")
            if not _held(tx, job, token):
                return _NOBODY, ()
            if child is None or child.deleted_at is not None or not _owns(job.row, child):
                return recording.record(tx, [_missing(job)], token, now, self._settings), ()
            look, begin = decide(tx, child)
            recorded = recording.record(
                tx, [Outcome(job, look=look)], token, now, self._settings
            )
            if begin is None:
                return recorded, ()
            return _NOBODY, begin(now)

    def _forget(self, job: Job, token: str) -> Recorded:
        """What is behind it is retained: a stack of its own from now on, or still this
        one's, as the record says."""
        now = self._clock()
        with self._store.transaction() as tx:
            tree = retaining.lock_tree(tx, job.row.physical_id or "")
            if not _held(tx, job, token):
                return _NOBODY
            if tree and _owns(job.row, tree[-1][0]):
                retaining.set_free(tx, tree)
            gone = Outcome(job, look=Look(Observed.ABSENT))
            return recording.record(tx, [gone], token, now, self._settings)

    # -- helpers

    def _parent(self, job: Job) -> Parent:
        assert job.stack is not None
        parent = self._children.parent(job.stack, self._load_goal, self._load)
        if job.stack.action is Action.ROLLBACK:  # which stops nowhere, at no depth
            parent = parent.without_hooks()
        return parent

    def _members(self, job: Job) -> list[Resource]:
        with self._store.transaction() as tx:
            rows = tx.stack_resources(job.row.physical_id or "")
        return [row for row in rows if row.desired is Desired.PRESENT]

    def _goal_below(self, job: Job) -> Goal | None:
        with self._store.transaction() as tx:
            child = tx.get_stack(job.row.physical_id or "")
            return None if child is None else tx.lean_goal(child.goal_id)

    def _load_goal(self, goal_id: str) -> object:
        with self._store.transaction() as tx:
            return tx.lean_goal(goal_id)

    def _load(self, hashes: Collection[str]) -> Mapping[str, str]:
        with self._store.transaction() as tx:
            return tx.get_contents(hashes)

    def _check_size(self, tx: Transaction, row: Resource, draft: Draft) -> None:
        path = f"resources.{row.name}"
        if 0 <= self._bounds.depth < draft.stack.depth:
            raise RequestLimitExceeded(
                f"Stacks are nested at most {self._bounds.depth} deep", path=path
            )
        most = self._bounds.resources
        if most < 0:
            return
        number = tx.count_tree(row.root_id) + len(draft.wanted)
        if number > most:
            raise RequestLimitExceeded(
                f"Maximum resources per stack exceeded: {number}, {most} are allowed", path=path
            )

    def _record(self, outcome: Outcome, token: str) -> Recorded:
        with self._store.transaction() as tx:
            if not _held(tx, outcome.job, token):
                return _NOBODY
            return recording.record(tx, [outcome], token, self._clock(), self._settings)

    def _means(self, now: datetime) -> Means:
        return Means(now, self._ids, self._settings)


_Begin = Callable[[datetime], tuple[Posting, ...]] | None


def _reaches_it(child: Stack) -> bool:
    """Whether it has reached its goal, or is on its way; not if it was left before."""
    return child.action in _GOALS or (child.action in _LOOKING and child.at_goal)


def _owns(row: Resource, child: Stack) -> bool:
    return child.owner_resource_id == row.id


def _document(row: Resource) -> Mapping[str, Any]:
    found = row.data.get(ADOPTED)
    if not isinstance(found, Mapping):
        raise ResourceFailure("adopt_stack_data has no document of the stack behind it")
    return found


def _reality(job: Job) -> Reality:
    """Of an owner that is to be looked at, the stack behind is: said by its row, so that
    whoever takes up the job of a dead worker knows it, too."""
    made = job.action is Action.UPDATE and job.row.applied_hash is None
    return Reality.OBSERVED if made else Reality.RECORDED


def _missing(job: Job) -> Outcome:
    """The nested stack was deleted behind the owner's back."""
    if job.action is Action.DELETE:
        return Outcome(job, look=Look(Observed.ABSENT))
    if job.step is Step.UPDATE:
        return Outcome(job, replace=True)
    made = job.row.physical_id is not None
    if job.row.job is Verb.SNAPSHOT and not made:
        return Outcome(job, look=Look(Observed.READY))  # as anything else that is not there
    reason = "the nested stack is gone" if made else NEVER_MADE
    return Outcome(job, look=Look(Observed.FAILED, reason=reason))


def _held(tx: Transaction, job: Job, token: str) -> bool:
    """RULE 3 and 6: whether the job is still this worker's and still wanted; a lease
    that is not is given back.  Of a tree that was set free meanwhile nothing is made on
    what was read before: a sweep posts the job again."""
    for row in tx.lock_jobs([job.row.id]):
        if row.lease_token != token:
            return False
        same = row.version == job.row.version and row.root_id == job.row.root_id
        if same and row.job_state is JobState.BEGUN:
            return True
        free = {"lease_owner": None, "lease_token": None, "lease_expires_at": None}
        tx.update_resources([row.id], **free)
    return False
