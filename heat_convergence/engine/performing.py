"""A job's one call to its resource type, and what came of it.

Called by ``engine`` between the claim and the record, perhaps in a thread of its
own; touches no row.  Every way a call can end becomes an ``Outcome``.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from heat_convergence.common.errors import (
    Error,
    NotSupported,
    ResourceFailure,
    ResourceGone,
    Retry,
)
from heat_convergence.convergence.deciding import REMOVING, Step, external_id
from heat_convergence.convergence.ending import NO_CHECK
from heat_convergence.convergence.model import Action, Observed, Status, Verb
from heat_convergence.engine.jobs import Job
from heat_convergence.resources.plugin import Look, NeedsReplacement, ResourceType, View

LOG = logging.getLogger(__name__)
Held = Callable[[], bool]


class NotSaved(Exception):
    """The copy that has to be there before the deletion is still being made."""

    def __init__(self, look: Look) -> None:
        super().__init__("not saved yet")
        self.look = look


class LeaseLost(Exception):
    """The lease may have run out: somebody else may be at work on the resource."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job's call led to.

    ``look`` (reality after the call), ``replace`` or ``error`` says it; a look beside
    ``replace`` is what makes a successor necessary; an error with a retry is tried
    again after ``after_s``.  What is ``unfinished`` is to be gone on with, which is no
    failure and counts no try.  Nothing is said of a job that was ``lost``: its call was
    not begun, and whoever has it now does it.
    """

    job: Job
    look: Look | None = None
    replace: bool = False
    error: Error | None = None
    lost: bool = False
    unfinished: bool = False

    def refused(self, error: Error) -> Outcome:
        """The same call, as a failure: what it gave can't be stored.  The physical id
        alone is kept, so that the resource can be found and deleted."""
        look = self.look
        kept = None if look is None else Look(Observed.FAILED, physical_id=look.physical_id)
        return Outcome(
            replace(self.job, after=self.job.row.properties or {}),
            look=kept,
            error=ResourceFailure(f"its values can't be stored: {error}"),
        )

    @property
    def retry(self) -> bool:
        """Whether the same may be tried again: a deletion always, for nothing else
        gets rid of what is there."""
        deleting = self.job.action is Action.DELETE
        if self.error is not None:
            return deleting or self.error.retry is not Retry.NEVER
        return deleting and self._failed

    @property
    def another(self) -> bool:
        """Whether another incarnation may turn out better than this one."""
        return self._failed and self.look is not None and self.look.retry

    @property
    def _failed(self) -> bool:
        return self.look is not None and self.look.observed is Observed.FAILED


def perform(job: Job, held: Held) -> Outcome:
    """Does the job's step, as long as the job's lease is ``held``."""
    outcome = _performed(job, held)
    restricted = job.action is Action.UPDATE and "replace" in job.row.guards
    if not outcome.replace or not restricted:
        return outcome
    # It turned out only now: what can be told before was refused with the job.
    look = outcome.look
    why = "it cannot be changed in place" if look is None else look.reason or "it is gone"
    return Outcome(job, error=ResourceFailure(f"{why}; the environment restricts replace"))


def _performed(job: Job, held: Held) -> Outcome:
    if job.error is not None or job.type is None or job.view is None:
        return Outcome(job, error=job.error or ResourceFailure("the job has no type"))
    try:
        look = _call(job, job.type, job.view, held)
        went_well = look.observed in (Observed.READY, Observed.BUSY)
        return _inherited(Outcome(job, look=look, unfinished=job.more and went_well))
    except LeaseLost:
        LOG.warning("lease lost: resource %(resource)s", {"resource": job.row.id})
        return Outcome(job, lost=True)
    except NeedsReplacement:
        return Outcome(job, replace=True)
    except NotSaved as waits:
        return Outcome(job, look=waits.look, unfinished=True)
    except ResourceGone as error:
        return _gone(job, error)
    except Error as error:
        return Outcome(job, error=error)
    except Exception as error:
        # The outermost edge towards third-party code: whatever it raises fails this
        # resource with its name and text, and never the worker.
        if job.row.sensitive:
            _log_place(job, error)
        else:
            LOG.exception("resource type raised: resource %(resource)s",
                          {"resource": job.row.id})
        return Outcome(job, error=ResourceFailure(f"{type(error).__name__}: {error}"))


def _log_place(job: Job, error: Exception) -> None:
    """Without the text, which may quote a secret."""
    where = "".join(traceback.format_tb(error.__traceback__))
    LOG.error("resource type raised: resource %(resource)s, %(kind)s at\n%(where)s",
              {"resource": job.row.id, "kind": type(error).__name__, "where": where})


def _gone(job: Job, error: ResourceGone) -> Outcome:
    """What is to be deleted and is not there is deleted; what is to be changed and
    is not there needs a successor."""
    if job.step in REMOVING:
        return Outcome(job, look=Look(Observed.ABSENT))
    gone = Look(Observed.ABSENT, reason="it is not there")
    if job.step in (Step.UPDATE, Step.WAKE):
        return Outcome(job, look=gone, replace=True)
    if job.step is Step.OBSERVE:
        return _inherited(Outcome(job, look=gone))
    return Outcome(job, error=error)


def _inherited(outcome: Outcome) -> Outcome:
    """What came to nothing in an earlier traversal, and no update has mended, is no
    failure of this one: it needs a successor."""
    job, look = outcome.job, outcome.look
    goes_on = job.step in (Step.OBSERVE, Step.FIND_OR_CREATE)
    whole = job.row.status is Status.COMPLETE and job.row.applied_hash is not None
    mends = job.step is Step.UPDATE and not whole
    lost = look is not None and look.observed in (Observed.FAILED, Observed.ABSENT)
    begun_before = job.inherited and (goes_on or mends)
    handed = job.step is Step.ADOPT and job.row.job is Verb.CONVERGE
    woken = job.step is Step.WAKE  # and turns out to be no more
    successor = lost and (begun_before or _unseen(job) or handed or woken)
    return replace(outcome, replace=successor)


def _unseen(job: Job) -> bool:
    """Whether it was there, and is to be looked at because nobody knows how it is now:
    nothing that this traversal did can be to blame."""
    looked = job.step is Step.OBSERVE and job.action is Action.UPDATE
    return looked and job.row.applied_hash is None


def _call(job: Job, kind: ResourceType, view: View, held: Held) -> Look:
    """RULE 3: no call begins without the lease, the second of two no more than the
    first."""
    _require(held)
    if job.step is Step.SAVE_AND_DELETE:
        _save(kind, view)
        _require(held)
        return _delete(job, kind, view)
    if _unseen(job):
        return _converged(job, kind, view, held)
    if job.step is Step.UPDATE and job.row.applied_hash is None:
        return _update(_with_others(job, kind, view), kind, view, held)
    if job.step is Step.UPDATE:
        return _update(job, kind, view, held)
    if job.step not in _FINDING:
        return _CALLS[job.step](job, kind, view)
    found = kind.find(view)
    _require(held)
    return _FINDING[job.step](job, kind, view, found)


def _require(held: Held) -> None:
    if not held():
        raise LeaseLost


def _converged(job: Job, kind: ResourceType, view: View, held: Held) -> Look:
    """Looks, and sets right what others have changed."""
    look = kind.observe(view)
    if look.observed is not Observed.READY:
        return look
    other = kind.differs(view, look)
    if not other:
        return look
    if "update" in job.row.guards:
        names = ", ".join(sorted(other))
        raise ResourceFailure(f"others have changed {names}; the environment restricts update")
    _require(held)
    return kind.update(view, job.after, other)


def _found_or_create(job: Job, kind: ResourceType, view: View, found: str | None) -> Look:
    """RULE 4: what a lost create has made is taken on, not made again."""
    if found is None:
        return kind.create(view)
    look = kind.found(replace(view, physical_id=found))
    return replace(look, physical_id=found)


def _found_and_delete(job: Job, kind: ResourceType, view: View, found: str | None) -> Look:
    if found is None:
        return Look(Observed.ABSENT)
    return _delete(job, kind, replace(view, physical_id=found))


def _save(kind: ResourceType, view: View) -> None:
    """Returns when a copy is there, or there is nothing that is worth one.  A type that
    has no way to save was told apart when the template was validated."""
    look = kind.snapshot(view) if kind.snapshots_on_delete else None
    if look is not None and look.observed is Observed.BUSY:
        raise NotSaved(look)
    if look is not None and look.observed is not Observed.READY:
        raise ResourceFailure(look.reason or "it could not be saved")


def _delete(job: Job, kind: ResourceType, view: View) -> Look:
    look = kind.delete(view)
    # Whatever its health: what is still there is not deleted yet.
    observed = Observed.BUSY if look.observed is Observed.READY else look.observed
    return replace(look, observed=observed, physical_id=look.physical_id or view.physical_id)


def _with_others(job: Job, kind: ResourceType, view: View) -> Job:
    """What others have changed meanwhile is changed along."""
    look = kind.observe(view)
    if look.observed is Observed.ABSENT:
        raise ResourceGone(look.reason or f"{view.physical_id} is gone")
    if look.observed is not Observed.READY:
        return job
    wanted = replace(view, properties=job.after)
    return replace(job, changed=job.changed | kind.differs(wanted, look))


def _update(job: Job, kind: ResourceType, view: View, held: Held) -> Look:
    """What has failed is looked at first: only what lives can be mended."""
    _require(held)
    if job.row.status is Status.FAILED and kind.mended_when_failed:
        look = kind.observe(view)
        if look.observed in (Observed.FAILED, Observed.ABSENT):
            raise NeedsReplacement
    return kind.update(view, job.after, job.changed)


def _verb(job: Job, kind: ResourceType, view: View) -> Look:
    calls = {
        Verb.SUSPEND: kind.suspend,
        Verb.RESUME: kind.resume,
        Verb.CHECK: kind.check,
        Verb.SNAPSHOT: kind.snapshot,
    }
    if external_id(job.row) is not None and job.row.job is not Verb.CHECK:
        return Look(Observed.READY)  # it is not ours to stop or to save
    call = calls.get(job.row.job) if job.row.job is not None else None
    look = None if call is None else call(view)
    if look is None and job.row.job is Verb.CHECK:
        return Look(Observed.READY, reason=f"{NO_CHECK}{view.type}")
    return look or Look(Observed.READY)


def _adopt(job: Job, kind: ResourceType, view: View) -> Look:
    if view.physical_id is None:
        raise ResourceFailure("adopt_stack_data names no resource_id for it")
    try:
        return _existing(kind, view, view.physical_id)
    except ResourceFailure:
        if job.row.job is Verb.ADOPT:
            raise
        raise NeedsReplacement from None  # another goal came before it was adopted


def _external(job: Job, kind: ResourceType, view: View) -> Look:
    physical_id = external_id(job.row)
    if physical_id is None:
        raise ResourceFailure("it has no external_id")
    return _existing(kind, replace(view, physical_id=physical_id), physical_id)


def _existing(kind: ResourceType, view: View, physical_id: str) -> Look:
    """Reality is looked at and nothing else; what is not there is a failure."""
    try:
        look = kind.observe(view)
    except ResourceGone:
        look = Look(Observed.ABSENT)
    if look.observed is Observed.ABSENT:
        raise ResourceFailure(f"there is no physical resource {physical_id}")
    return replace(look, physical_id=physical_id)


def _replace(job: Job, kind: ResourceType, view: View) -> Look:
    raise NeedsReplacement


def _refuse(job: Job, kind: ResourceType, view: View) -> Look:
    names = ", ".join(sorted(name for name in job.changed if kind.schema.immutable(name)))
    raise NotSupported(
        f"Update to properties {names} of {view.name} ({view.type}) is not supported"
    )


_CALLS: Mapping[Step, Callable[[Job, ResourceType, View], Look]] = {
    Step.NOTHING: lambda job, kind, view: Look(Observed.READY),
    Step.FORGET: lambda job, kind, view: Look(Observed.ABSENT),
    Step.CREATE: lambda job, kind, view: kind.create(view),
    Step.OBSERVE: lambda job, kind, view: kind.observe(view),
    Step.DELETE: _delete,
    Step.VERB: _verb,
    Step.WAKE: lambda job, kind, view: kind.resume(view) or Look(Observed.READY),
    Step.ADOPT: _adopt,
    Step.EXTERNAL: _external,
    Step.REPLACE: _replace,
    Step.REFUSE: _refuse,
}

_FINDING: Mapping[Step, Callable[[Job, ResourceType, View, str | None], Look]] = {
    Step.FIND_OR_CREATE: _found_or_create,
    Step.FIND_AND_DELETE: _found_and_delete,
}
