"""The state machine of jobs: its transitions, and the columns that each sets.

A transition names the states that it may start in and sets every column that it owns.
``job_transitions`` has a function for each of them; ``docs/reference/job-states.rst`` is generated
from ``RULES``.  Reads neither rows nor a clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_values
from heat_convergence.convergence.timeline.marks import append_marks

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
        "timeline",
    }
)
"""Columns of a resource that transitions alone may set."""

PLANNED_COLUMNS = ("job_state", "posted_at", "observed", "observe_at", "hook", "timeline")
"""The owned columns that a new traversal sets; a lease stays with the worker that holds it."""

_LEASE = ("lease_owner", "lease_token", "lease_expires_at")
NO_LEASE: Mapping[str, None] = dict.fromkeys(_LEASE)
_WITH_JOB: frozenset[JobState | None] = frozenset(JobState)
ANY_STATE = _WITH_JOB | {None}
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
    """A transition with its values: all columns of its rule, no others.

    Attributes:
        marks: what is appended to the timeline of each row.
        own_marks: what is appended before that, by the id of the row.
    """

    name: str
    sources: frozenset[JobState | None]
    values: Mapping[str, object]
    marks: str = ""
    own_marks: Mapping[str, str] = field(default_factory=dict)

    def check(self, state: JobState | None) -> None:
        """Raise ``IllegalTransition`` unless the transition may start in ``state``."""
        if state not in self.sources:
            raise IllegalTransition(f"a job in state {state} cannot {self.name}")

    def apply_to(self, row: Resource) -> Resource:
        """Return the row with the columns of the transition set.

        Raises:
            IllegalTransition: the row's job is in another state.
        """
        self.check(row.job.state)
        return with_values(row, {**self.values, **self.marked_timeline(row)})

    def with_marks(
        self, marks: str = "", own_marks: Mapping[str, str] | None = None
    ) -> JobTransition:
        """Return the transition with further marks, before its own."""
        own = self.own_marks if own_marks is None else own_marks
        return replace(self, marks=marks + self.marks, own_marks=own)

    def get_marks(self, row_id: str) -> str:
        """Return what is appended to the timeline of a row."""
        return self.own_marks.get(row_id, "") + self.marks

    def marked_timeline(self, row: Resource) -> Mapping[str, str]:
        """Return the column with the marked timeline of a row; empty without marks."""
        marks = self.get_marks(row.id)
        return {"timeline": append_marks(row.job.timeline, marks)} if marks else {}


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


PLAN_BLOCKED = _rule(
    "plan blocked",
    ANY_STATE,
    JobState.BLOCKED,
    PLANNED_COLUMNS,
    "a new traversal has a job for the resource, which needs others that are not ready",
)
PLAN_QUEUED = _rule(
    "plan queued",
    ANY_STATE,
    JobState.QUEUED,
    PLANNED_COLUMNS,
    "a new traversal has a job for the resource, and nothing that it needs is unready",
)
SET_ASIDE = _rule(
    "set aside",
    _WITH_JOB,
    JobState.CANCELLED,
    ("posted_at", "observed", "observe_at", "timeline"),
    "the action does not concern the resource; the next goal plans its job again",
)
AWAIT_PREDECESSOR = _rule(
    "await earlier worker",
    {JobState.QUEUED},
    JobState.RUNNING,
    ("posted_at",),
    "a worker of an earlier version still holds the lease; it posts the job when it is done",
)
QUEUE = _rule(
    "queue",
    _STARTABLE,
    JobState.QUEUED,
    (),
    "the stack has as many jobs in flight as it may have",
)
SCHEDULE = _rule(
    "schedule",
    _STARTABLE,
    JobState.SCHEDULABLE,
    ("posted_at",),
    "the job counts as in flight and waits for its project's turn on the bus",
)
POST = _rule(
    "post",
    _STARTABLE | {JobState.SCHEDULABLE},
    JobState.POSTED,
    ("posted_at",),
    "a message tells the engines of the job after the commit",
)
REPOST = _rule(
    "repost",
    {JobState.POSTED, JobState.RUNNING},
    JobState.POSTED,
    ("posted_at",),
    "the message or the worker was lost, or a worker of an earlier version is done",
)
CLAIM = _rule(
    "claim",
    {JobState.POSTED},
    JobState.RUNNING,
    _LEASE,
    "a worker takes the job and a lease on the resource",
)
AWAIT_OBSERVATION = _rule(
    "await observation",
    _CALLING,
    JobState.AWAITING_OBSERVATION,
    ("observed", "observe_at", *_LEASE),
    "the worker has recorded the outcome of its call; the observer decides what follows",
)
RETRY_CALL = _rule(
    "retry call",
    _CALLING,
    JobState.RETRY,
    ("observed", "observe_at", *_LEASE),
    "the worker's call failed for now, or has another step to take after a pause",
)
REQUEST_REPLACEMENT = _rule(
    "request replacement",
    _CALLING,
    JobState.REPLACE,
    ("observed", "observe_at", *_LEASE),
    "the worker found that only a new incarnation will do",
)
RETURN_LEASE = _keeping(
    "return lease",
    ANY_STATE,
    ("observed", "observe_at", *_LEASE),
    "a newer traversal has started while the worker made its call",
)
DROP_LEASE = _keeping(
    "drop lease",
    ANY_STATE,
    _LEASE,
    "the worker gives up the job before its call",
)
EXTEND_LEASE = _keeping(
    "extend lease",
    ANY_STATE,
    ("lease_expires_at",),
    "the worker is alive and its call takes long",
)
END_LEASE = _keeping(
    "end lease",
    ANY_STATE,
    ("lease_expires_at",),
    "the process of the worker has ended",
)
KEEP_WAITING = _keeping(
    "keep waiting",
    {JobState.AWAITING_OBSERVATION},
    ("observed", "observed_at", "observe_at"),
    "the resource was observed and is not done yet",
)
REQUEST_OBSERVATION = _keeping(
    "request observation",
    {JobState.AWAITING_OBSERVATION, None},
    ("observe_at",),
    "a nested stack has ended or a signal has arrived",
)
POSTPONE_OBSERVATION = _keeping(
    "postpone observation",
    ANY_STATE,
    ("observe_at",),
    "an observer has taken the observation that was due; no other takes it meanwhile",
)
END_OBSERVATION = _keeping(
    "end observation",
    {None},
    ("observe_at",),
    "the attributes of a resource at rest were read again from its nested stack",
)
READ_AT_REST = _keeping(
    "read at rest",
    {None},
    ("observed", "observe_at"),
    "the stack waits until its resources have been healthy for a while",
)
FORGET_NESTED_STACK = _keeping(
    "forget nested stack",
    {JobState.CANCELLED, JobState.AWAITING_OBSERVATION},
    ("observed",),
    "the nested stack has ended, or goes on, without its parent waiting for it",
)
RETRY_LATER = _rule(
    "retry later",
    {JobState.AWAITING_OBSERVATION, JobState.RETRY},
    JobState.RETRY,
    ("observed", "observe_at"),
    "the observed deletion failed, or the job's next step starts after a pause",
)
RESCHEDULE = _rule(
    "reschedule",
    {JobState.AWAITING_OBSERVATION, JobState.RETRY},
    JobState.SCHEDULABLE,
    ("posted_at", "observed", "observe_at"),
    "the time of the retry or of the next step has come; it keeps its place in flight",
)
REPLACE = _rule(
    "replace",
    {JobState.REPLACE, JobState.AWAITING_OBSERVATION},
    JobState.BLOCKED,
    ("observed", "observe_at"),
    "a successor has the job; this incarnation is deleted after it",
)
REMOVE_FAILED = _rule(
    "remove failed",
    {JobState.REPLACE, JobState.AWAITING_OBSERVATION},
    JobState.RETRY,
    ("observed", "observe_at"),
    "a new resource failed; it is deleted after a pause, and its successor is created after that",
)
HOLD = _rule(
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
RELEASE = _rule(
    "release",
    {JobState.AT_BREAKPOINT},
    JobState.AWAITING_OBSERVATION,
    ("observed", "observe_at"),
    "the user has cleared the hook after the job; a hook before it leads to queue or schedule",
)
FAIL = _rule(
    "fail",
    {JobState.AWAITING_OBSERVATION},
    JobState.CANCELLED,
    ("observe_at",),
    "the observed failure is final",
)
CANCEL = _rule(
    "cancel",
    _WITH_JOB,
    JobState.CANCELLED,
    ("observed", "observe_at"),
    "the traversal has ended before the job",
)
CANCEL_UNSTARTED = _rule(
    "cancel unstarted",
    _WITH_JOB,
    JobState.CANCELLED,
    (),
    "another resource has failed: what has not started does not start",
)
CANCEL_NESTED_STACK = _rule(
    "cancel nested stack",
    {JobState.AWAITING_OBSERVATION},
    JobState.CANCELLED,
    (),
    "the traversal has ended before its nested stack, which is still observed busy and stops, too",
)
SETTLE = _rule(
    "settle",
    {JobState.AWAITING_OBSERVATION, JobState.BLOCKED},
    None,
    ("observed_at", "observe_at"),
    "the resource is observed as the goal wants it, or the job turned out to have nothing to do",
)

RULES: tuple[TransitionRule, ...] = tuple(
    each for each in list(globals().values()) if isinstance(each, TransitionRule)
)
"""The table of transitions, in the order of a job's life."""


def build_transition(rule: TransitionRule, **values: object) -> JobTransition:
    """Return the transition with its values.

    Raises:
        ValueError: the values are not exactly the columns of the rule.
    """
    if not rule.keeps_state:
        values["job_state"] = rule.target
    if values.keys() != rule.columns:
        raise ValueError(f"{rule.name} sets {sorted(rule.columns)}, not {sorted(values)}")
    return JobTransition(rule.name, rule.sources, values)
