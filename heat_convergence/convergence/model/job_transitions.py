"""The state machine of jobs: every change of a job's state, by name.

A transition names the states that it may start in and sets every column that it owns.
Planning applies transitions to rows in memory; lifecycle, engine and the stores apply
them to stored rows, and stores accept no other write to ``OWNED_COLUMNS``.  Reads
neither rows nor a clock.  ``docs/job-states.rst`` is generated from ``RULES``.

A transaction has three ways to apply one, each of which takes further columns of the
row along in the same statement:

- ``jobs.apply(ids, transition, **columns)``: the same for all of ``ids``;
- ``jobs.apply_each({id: (transition, columns)})``: one statement for rows whose
  transitions and columns have the same names;
- ``jobs.apply_leased(id, token, version, transition, columns)``: only if the row is still
  leased under ``token`` and of that version; returns whether it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from heat_convergence.convergence.model.job import JobState, ObservedState
from heat_convergence.convergence.model.resource import Resource

OWNED_COLUMNS = frozenset(
    {
        "job_state",
        "posted_at",
        "observed",
        "observed_at",
        "observe_at",
        "lease_owner",
        "lease_token",
        "lease_expires_at",
        "hook",
    }
)
"""Columns of a resource that transitions alone may set."""

PLANNED_COLUMNS = ("job_state", "posted_at", "observed", "observe_at", "hook")
"""Those of them that a new traversal sets; a lease stays with the worker that holds it."""

_LEASE = ("lease_owner", "lease_token", "lease_expires_at")
_NO_LEASE: Mapping[str, None] = dict.fromkeys(_LEASE)
_WITH_JOB: frozenset[JobState | None] = frozenset(JobState)
_ANY = _WITH_JOB | {None}
_STARTABLE = frozenset({JobState.BLOCKED, JobState.QUEUED, JobState.AT_BREAKPOINT})
_CALLING = frozenset({JobState.RUNNING, JobState.POSTED, JobState.CANCELLED})
"""States of a job whose worker still holds the lease when its call ends: the job may have
been posted again, or cancelled, in the meantime."""


def reject_owned_columns(columns: Iterable[str]) -> None:
    """Raise ``ValueError`` if transitions alone may set one of the columns."""
    owned = OWNED_COLUMNS.intersection(columns)
    if owned:
        raise ValueError(f"only job transitions set {', '.join(sorted(owned))}")


class IllegalTransition(Exception):
    """A transition was applied to a job in a state that it does not start in."""


@dataclass(frozen=True, slots=True)
class TransitionRule:
    """A kind of transition: where it starts, where it leads and which columns it sets.

    ``target`` None stands for a resource without a job; where ``keeps_state`` is true the
    job stays in the state that it has.
    """

    name: str
    sources: frozenset[JobState | None]
    target: JobState | None
    columns: frozenset[str]
    purpose: str
    keeps_state: bool = False


@dataclass(frozen=True, slots=True)
class JobTransition:
    """A transition with its values: all columns of its rule, no others."""

    name: str
    sources: frozenset[JobState | None]
    values: Mapping[str, object]

    def check(self, state: JobState | None) -> None:
        """Raise ``IllegalTransition`` unless the transition may start in ``state``."""
        if state not in self.sources:
            raise IllegalTransition(f"a job in state {state} cannot {self.name}")

    def apply_to(self, row: Resource) -> Resource:
        """Return the row with the columns of the transition set.

        Raises:
            IllegalTransition: the row's job is in another state.
        """
        self.check(row.job_state)
        return replace(row, **dict(self.values))  # type: ignore[arg-type]  # columns of the row


def _rule(
    name: str,
    sources: Iterable[JobState | None],
    target: JobState | None,
    columns: Iterable[str],
    purpose: str,
) -> TransitionRule:
    return TransitionRule(
        name, frozenset(sources), target, frozenset(columns) | {"job_state"}, purpose
    )


def _keeping(
    name: str, sources: Iterable[JobState | None], columns: Iterable[str], purpose: str
) -> TransitionRule:
    return TransitionRule(
        name, frozenset(sources), None, frozenset(columns), purpose, keeps_state=True
    )


_PLAN_BLOCKED = _rule(
    "plan blocked",
    _ANY,
    JobState.BLOCKED,
    PLANNED_COLUMNS,
    "a new traversal has a job for the resource, which needs others that are not ready",
)
_PLAN_QUEUED = _rule(
    "plan queued",
    _ANY,
    JobState.QUEUED,
    PLANNED_COLUMNS,
    "a new traversal has a job for the resource, and nothing that it needs is unready",
)
_SET_ASIDE = _rule(
    "set aside",
    _WITH_JOB,
    JobState.CANCELLED,
    ("posted_at", "observed", "observe_at"),
    "the action does not concern the resource; the next goal plans its job again",
)
_AWAIT_PREDECESSOR = _rule(
    "await earlier worker",
    {JobState.QUEUED},
    JobState.RUNNING,
    ("posted_at",),
    "a worker of an earlier version still holds the lease; it posts the job when it is done",
)
_QUEUE = _rule(
    "queue",
    _STARTABLE,
    JobState.QUEUED,
    (),
    "the stack has as many jobs in flight as it may have",
)
_SCHEDULE = _rule(
    "schedule",
    _STARTABLE,
    JobState.SCHEDULABLE,
    ("posted_at",),
    "the job counts as in flight and waits for its project's turn on the bus",
)
_POST = _rule(
    "post",
    _STARTABLE | {JobState.SCHEDULABLE},
    JobState.POSTED,
    ("posted_at",),
    "a message tells the engines of the job after the commit",
)
_REPOST = _rule(
    "repost",
    {JobState.POSTED, JobState.RUNNING},
    JobState.POSTED,
    ("posted_at",),
    "the message or the worker was lost, or a worker of an earlier version is done",
)
_CLAIM = _rule(
    "claim",
    {JobState.POSTED},
    JobState.RUNNING,
    _LEASE,
    "a worker takes the job and a lease on the resource",
)
_AWAIT_OBSERVATION = _rule(
    "await observation",
    _CALLING,
    JobState.AWAITING_OBSERVATION,
    ("observed", "observe_at", *_LEASE),
    "the worker has recorded the outcome of its call; the observer decides what follows",
)
_RETRY_CALL = _rule(
    "retry call",
    _CALLING,
    JobState.RETRY,
    ("observed", "observe_at", *_LEASE),
    "the worker's call failed for now, or has another step to take after a pause",
)
_REQUEST_REPLACEMENT = _rule(
    "request replacement",
    _CALLING,
    JobState.REPLACE,
    ("observed", "observe_at", *_LEASE),
    "the worker found that only a new incarnation will do",
)
_RETURN_LEASE = _keeping(
    "return lease",
    _ANY,
    ("observed", "observe_at", *_LEASE),
    "a newer traversal has started while the worker made its call",
)
_DROP_LEASE = _keeping(
    "drop lease",
    _ANY,
    _LEASE,
    "the worker gives up the job before its call",
)
_EXTEND_LEASE = _keeping(
    "extend lease",
    _ANY,
    ("lease_expires_at",),
    "the worker is alive and its call takes long",
)
_KEEP_WAITING = _keeping(
    "keep waiting",
    {JobState.AWAITING_OBSERVATION},
    ("observed", "observed_at", "observe_at"),
    "the resource was observed and is not done yet",
)
_REQUEST_OBSERVATION = _keeping(
    "request observation",
    {JobState.AWAITING_OBSERVATION, None},
    ("observe_at",),
    "a nested stack has ended or a signal has arrived",
)
_POSTPONE_OBSERVATION = _keeping(
    "postpone observation",
    _ANY,
    ("observe_at",),
    "an observer has taken the observation that was due; no other takes it meanwhile",
)
_END_OBSERVATION = _keeping(
    "end observation",
    {None},
    ("observe_at",),
    "the attributes of a resource at rest were read again from its nested stack",
)
_FORGET_NESTED_STACK = _keeping(
    "forget nested stack",
    {JobState.CANCELLED, JobState.AWAITING_OBSERVATION},
    ("observed",),
    "the nested stack has ended, or goes on, without its parent waiting for it",
)
_RETRY_LATER = _rule(
    "retry later",
    {JobState.AWAITING_OBSERVATION, JobState.RETRY},
    JobState.RETRY,
    ("observed", "observe_at"),
    "the observed deletion failed, or the job's next step starts after a pause",
)
_RESCHEDULE = _rule(
    "reschedule",
    {JobState.AWAITING_OBSERVATION, JobState.RETRY},
    JobState.SCHEDULABLE,
    ("posted_at", "observed", "observe_at"),
    "the time of the retry or of the next step has come; it keeps its place in flight",
)
_REPLACE = _rule(
    "replace",
    {JobState.REPLACE, JobState.AWAITING_OBSERVATION},
    JobState.BLOCKED,
    ("observed", "observe_at"),
    "a successor has the job; this incarnation is deleted after it",
)
_HOLD = _rule(
    "hold at breakpoint",
    {
        JobState.BLOCKED,
        JobState.QUEUED,
        JobState.SCHEDULABLE,
        JobState.RUNNING,
        JobState.AWAITING_OBSERVATION,
    },
    JobState.AT_BREAKPOINT,
    ("hook", "posted_at", "observed", "observe_at"),
    "the user has set a hook before or after the job",
)
_RELEASE = _rule(
    "release",
    {JobState.AT_BREAKPOINT},
    JobState.AWAITING_OBSERVATION,
    ("observed", "observe_at"),
    "the user has cleared the hook after the job; a hook before it leads to queue or schedule",
)
_FAIL = _rule(
    "fail",
    {JobState.AWAITING_OBSERVATION},
    JobState.CANCELLED,
    ("observe_at",),
    "the observed failure is final",
)
_CANCEL = _rule(
    "cancel",
    _WITH_JOB,
    JobState.CANCELLED,
    ("observed", "observe_at"),
    "the traversal has ended before the job",
)
_CANCEL_UNSTARTED = _rule(
    "cancel unstarted",
    _WITH_JOB,
    JobState.CANCELLED,
    (),
    "another resource has failed: what has not started does not start",
)
_CANCEL_NESTED_STACK = _rule(
    "cancel nested stack",
    {JobState.AWAITING_OBSERVATION},
    JobState.CANCELLED,
    (),
    "the traversal has ended before its nested stack, which is still observed busy and stops, too",
)
_SETTLE = _rule(
    "settle",
    {JobState.AWAITING_OBSERVATION, JobState.BLOCKED},
    None,
    ("observed_at", "observe_at"),
    "the resource is observed as the goal wants it, or the job turned out to have nothing to do",
)

RULES: tuple[TransitionRule, ...] = (
    _PLAN_BLOCKED,
    _PLAN_QUEUED,
    _SET_ASIDE,
    _AWAIT_PREDECESSOR,
    _QUEUE,
    _SCHEDULE,
    _POST,
    _REPOST,
    _CLAIM,
    _AWAIT_OBSERVATION,
    _RETRY_CALL,
    _REQUEST_REPLACEMENT,
    _RETURN_LEASE,
    _DROP_LEASE,
    _EXTEND_LEASE,
    _KEEP_WAITING,
    _REQUEST_OBSERVATION,
    _POSTPONE_OBSERVATION,
    _END_OBSERVATION,
    _FORGET_NESTED_STACK,
    _RETRY_LATER,
    _RESCHEDULE,
    _REPLACE,
    _HOLD,
    _RELEASE,
    _FAIL,
    _CANCEL,
    _CANCEL_UNSTARTED,
    _CANCEL_NESTED_STACK,
    _SETTLE,
)
"""The table of transitions, in the order of a job's life."""


def _make(rule: TransitionRule, **values: object) -> JobTransition:
    if not rule.keeps_state:
        values["job_state"] = rule.target
    if values.keys() != rule.columns:
        raise ValueError(f"{rule.name} sets {sorted(rule.columns)}, not {sorted(values)}")
    return JobTransition(rule.name, rule.sources, values)


# -- planning -----------------------------------------------------------------


def plan_blocked() -> JobTransition:
    """Return the transition to a job of a new traversal that others stand before."""
    return _make(_PLAN_BLOCKED, posted_at=None, observed=None, observe_at=None, hook=None)


def plan_queued() -> JobTransition:
    """Return the transition to a job of a new traversal that may start."""
    return _make(_PLAN_QUEUED, posted_at=None, observed=None, observe_at=None, hook=None)


def set_aside() -> JobTransition:
    """Return the transition of a job that the new traversal leaves to the next goal."""
    return _make(_SET_ASIDE, posted_at=None, observed=None, observe_at=None)


def await_earlier_worker(now: datetime) -> JobTransition:
    """Return the transition of a job that starts when an earlier worker is done."""
    return _make(_AWAIT_PREDECESSOR, posted_at=now)


def planned(row: Resource, columns: Iterable[str] = PLANNED_COLUMNS) -> JobTransition:
    """Return the transition that stores the job of ``row`` as a traversal has planned it.

    Args:
        row: the resource with its planned job.
        columns: those of ``PLANNED_COLUMNS`` that differ from the stored row.
    """
    chosen = frozenset(columns) & frozenset(PLANNED_COLUMNS)
    return JobTransition("plan", _ANY, {name: getattr(row, name) for name in sorted(chosen)})


# -- dispatch -----------------------------------------------------------------


def queue() -> JobTransition:
    """Return the transition of a leaf that finds no room in flight."""
    return _make(_QUEUE)


def schedule(now: datetime) -> JobTransition:
    """Return the transition of a leaf that waits for its project's turn."""
    return _make(_SCHEDULE, posted_at=now)


def post(now: datetime) -> JobTransition:
    """Return the transition of a job that is sent to the engines."""
    return _make(_POST, posted_at=now)


def repost(now: datetime) -> JobTransition:
    """Return the transition of a job that is sent to the engines once more."""
    return _make(_REPOST, posted_at=now)


def reschedule(now: datetime) -> JobTransition:
    """Return the transition of a job whose retry or next step is due."""
    return _make(_RESCHEDULE, posted_at=now, observed=None, observe_at=None)


# -- workers ------------------------------------------------------------------


def claim(worker_id: str, token: str, expires_at: datetime) -> JobTransition:
    """Return the transition that gives a posted job and a lease to a worker (RULE 3)."""
    return _make(_CLAIM, lease_owner=worker_id, lease_token=token, lease_expires_at=expires_at)


def await_observation(
    observed: ObservedState | None, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records a call's outcome for the observer.

    Args:
        observed: what the call has shown of the resource.
        observe_at: when to observe it; None where the end of a nested stack says when.
    """
    return _make(_AWAIT_OBSERVATION, observed=observed, observe_at=observe_at, **_NO_LEASE)


def retry_call(observe_at: datetime | None) -> JobTransition:
    """Return the transition that records a call to be made again at ``observe_at``."""
    return _make(_RETRY_CALL, observed=None, observe_at=observe_at, **_NO_LEASE)


def request_replacement(
    observed: ObservedState | None, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records that the resource takes a new incarnation.

    Args:
        observed: FAILED where a failure is the cause.
        observe_at: when a sweep looks for it, should the message be lost.
    """
    return _make(_REQUEST_REPLACEMENT, observed=observed, observe_at=observe_at, **_NO_LEASE)


def return_lease() -> JobTransition:
    """Return the transition that ends the lease of a worker that a newer version overtook."""
    return _make(_RETURN_LEASE, observed=None, observe_at=None, **_NO_LEASE)


def drop_lease() -> JobTransition:
    """Return the transition that ends a lease and changes nothing else."""
    return _make(_DROP_LEASE, **_NO_LEASE)


def extend_lease(expires_at: datetime) -> JobTransition:
    """Return the transition that puts off the end of a lease."""
    return _make(_EXTEND_LEASE, lease_expires_at=expires_at)


# -- observation --------------------------------------------------------------


def keep_waiting(
    observed: ObservedState, observed_at: datetime, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records an observation after which the job goes on."""
    return _make(_KEEP_WAITING, observed=observed, observed_at=observed_at, observe_at=observe_at)


def request_observation(at: datetime) -> JobTransition:
    """Return the transition that has a resource observed at a given time."""
    return _make(_REQUEST_OBSERVATION, observe_at=at)


def postpone_observation(until: datetime) -> JobTransition:
    """Return the transition that keeps a due observation from a second observer."""
    return _make(_POSTPONE_OBSERVATION, observe_at=until)


def end_observation() -> JobTransition:
    """Return the transition that ends the observation of a resource at rest."""
    return _make(_END_OBSERVATION, observe_at=None)


def forget_nested_stack() -> JobTransition:
    """Return the transition after which nobody waits for the resource's nested stack."""
    return _make(_FORGET_NESTED_STACK, observed=None)


def retry_later(observe_at: datetime | None) -> JobTransition:
    """Return the transition of an observed job that is done again at ``observe_at``."""
    return _make(_RETRY_LATER, observed=None, observe_at=observe_at)


def replace_with_successor() -> JobTransition:
    """Return the transition of an incarnation that becomes a deletion."""
    return _make(_REPLACE, observed=None, observe_at=None)


# -- breakpoints --------------------------------------------------------------


def hold_at_breakpoint(hook: str) -> JobTransition:
    """Return the transition of a job that stops at the hook."""
    return _make(_HOLD, hook=hook, posted_at=None, observed=None, observe_at=None)


def release(observed: ObservedState, now: datetime) -> JobTransition:
    """Return the transition of a done job whose hook was cleared.

    Args:
        observed: the state that the job was to reach.
        now: when it is observed.
    """
    return _make(_RELEASE, observed=observed, observe_at=now)


# -- the end ------------------------------------------------------------------


def fail() -> JobTransition:
    """Return the transition of a job that has failed for good."""
    return _make(_FAIL, observe_at=None)


def cancel() -> JobTransition:
    """Return the transition of a job whose traversal has ended."""
    return _make(_CANCEL, observed=None, observe_at=None)


def cancel_unstarted() -> JobTransition:
    """Return the transition of a job that does not start after another one's failure."""
    return _make(_CANCEL_UNSTARTED)


def cancel_nested_stack() -> JobTransition:
    """Return the transition of a job whose nested stack is to stop."""
    return _make(_CANCEL_NESTED_STACK)


def settle(now: datetime) -> JobTransition:
    """Return the transition to a resource without a job."""
    return _make(_SETTLE, observed_at=now, observe_at=None)
