"""The state machine of jobs: every change of a job's state, by name.

A transition names the states that it may start in and sets every column that it owns.
Planning applies transitions to rows in memory; lifecycle, engine and the stores apply
them to stored rows, and stores accept no other write to ``OWNED_COLUMNS``.  Reads
neither rows nor a clock.  ``transition_rules`` has the table of them.

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
from datetime import datetime

from heat_convergence.convergence.model import transition_rules as rules
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import get_column
from heat_convergence.convergence.model.transition_rules import PLANNED_COLUMNS, JobTransition
from heat_convergence.convergence.timeline.marks import MarkType, format_mark, format_retry

_PLANNED: Mapping[str, None] = dict.fromkeys(
    name for name in PLANNED_COLUMNS if name != "job_state"
)

# -- planning -----------------------------------------------------------------


def plan_blocked() -> JobTransition:
    """Return the transition to a job of a new traversal that others stand before."""
    return rules.build_transition(rules.PLAN_BLOCKED, **_PLANNED)


def plan_queued() -> JobTransition:
    """Return the transition to a job of a new traversal that may start."""
    return rules.build_transition(rules.PLAN_QUEUED, **_PLANNED)


def set_aside() -> JobTransition:
    """Return the transition of a job that the new traversal leaves to the next goal."""
    return rules.build_transition(
        rules.SET_ASIDE, posted_at=None, observed=None, observe_at=None, timeline=None
    )


def await_earlier_worker(now: datetime) -> JobTransition:
    """Return the transition of a job that starts when an earlier worker is done."""
    transition = rules.build_transition(rules.AWAIT_PREDECESSOR, posted_at=now)
    return transition.with_marks(format_mark(MarkType.PREDECESSOR, now))


def planned(row: Resource, columns: Iterable[str] = PLANNED_COLUMNS) -> JobTransition:
    """Return the transition that stores the job of ``row`` as a traversal has planned it.

    Args:
        row: the resource with its planned job.
        columns: those of ``PLANNED_COLUMNS`` that differ from the stored row.
    """
    chosen = frozenset(columns) & frozenset(PLANNED_COLUMNS)
    return JobTransition(
        "plan", rules.ANY_STATE, {name: get_column(row, name) for name in sorted(chosen)}
    )


# -- dispatch -----------------------------------------------------------------


def queue(now: datetime) -> JobTransition:
    """Return the transition of a leaf that finds no room in flight."""
    return rules.build_transition(rules.QUEUE).with_marks(format_mark(MarkType.QUEUED, now))


def schedule(now: datetime) -> JobTransition:
    """Return the transition of a leaf that waits for its project's turn."""
    scheduled = format_mark(MarkType.SCHEDULED, now)
    return rules.build_transition(rules.SCHEDULE, posted_at=now).with_marks(scheduled)


def post(now: datetime) -> JobTransition:
    """Return the transition of a job that is sent to the engines."""
    posted = format_mark(MarkType.POSTED, now)
    return rules.build_transition(rules.POST, posted_at=now).with_marks(posted)


def repost(now: datetime) -> JobTransition:
    """Return the transition of a job that is sent to the engines once more."""
    reposted = format_mark(MarkType.REPOSTED, now)
    return rules.build_transition(rules.REPOST, posted_at=now).with_marks(reposted)


def reschedule(now: datetime) -> JobTransition:
    """Return the transition of a job whose retry or next step is due."""
    transition = rules.build_transition(
        rules.RESCHEDULE, posted_at=now, observed=None, observe_at=None
    )
    return transition.with_marks(format_mark(MarkType.SCHEDULED, now))


# -- workers ------------------------------------------------------------------


def claim(worker_id: str, token: str, expires_at: datetime) -> JobTransition:
    """Return the transition that gives a posted job and a lease to a worker (RULE 3)."""
    return rules.build_transition(
        rules.CLAIM, lease_owner=worker_id, lease_token=token, lease_expires_at=expires_at
    )


def await_observation(
    observed: ObservedState | None, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records a call's outcome for the observer.

    Args:
        observed: what the call has shown of the resource.
        observe_at: when to observe it; None where the end of a nested stack says when.
    """
    return rules.build_transition(
        rules.AWAIT_OBSERVATION, observed=observed, observe_at=observe_at, **rules.NO_LEASE
    )


def retry_call(observe_at: datetime | None, now: datetime) -> JobTransition:
    """Return the transition that records a call to be made again at ``observe_at``."""
    transition = rules.build_transition(
        rules.RETRY_CALL, observed=None, observe_at=observe_at, **rules.NO_LEASE
    )
    return transition.with_marks(format_retry(now, observe_at))


def request_replacement(
    observed: ObservedState | None, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records that the resource takes a new incarnation.

    Args:
        observed: FAILED where a failure is the cause.
        observe_at: when a sweep looks for it, should the message be lost.
    """
    return rules.build_transition(
        rules.REQUEST_REPLACEMENT, observed=observed, observe_at=observe_at, **rules.NO_LEASE
    )


def return_lease() -> JobTransition:
    """Return the transition that ends the lease of a worker that a newer version overtook."""
    return rules.build_transition(
        rules.RETURN_LEASE, observed=None, observe_at=None, **rules.NO_LEASE
    )


def drop_lease() -> JobTransition:
    """Return the transition that ends a lease and changes nothing else."""
    return rules.build_transition(rules.DROP_LEASE, **rules.NO_LEASE)


def extend_lease(expires_at: datetime) -> JobTransition:
    """Return the transition that puts off the end of a lease."""
    return rules.build_transition(rules.EXTEND_LEASE, lease_expires_at=expires_at)


def end_lease(now: datetime) -> JobTransition:
    """Return the transition that ends the lease of a worker whose process has ended."""
    return rules.build_transition(rules.END_LEASE, lease_expires_at=now)


# -- observation --------------------------------------------------------------


def keep_waiting(
    observed: ObservedState, observed_at: datetime, observe_at: datetime | None
) -> JobTransition:
    """Return the transition that records an observation after which the job goes on."""
    return rules.build_transition(
        rules.KEEP_WAITING, observed=observed, observed_at=observed_at, observe_at=observe_at
    )


def request_observation(at: datetime) -> JobTransition:
    """Return the transition that has a resource observed at a given time."""
    return rules.build_transition(rules.REQUEST_OBSERVATION, observe_at=at)


def postpone_observation(until: datetime) -> JobTransition:
    """Return the transition that keeps a due observation from a second observer."""
    return rules.build_transition(rules.POSTPONE_OBSERVATION, observe_at=until)


def end_observation() -> JobTransition:
    """Return the transition that ends the observation of a resource at rest."""
    return rules.build_transition(rules.END_OBSERVATION, observe_at=None)


def read_at_rest(observed: ObservedState, at: datetime | None) -> JobTransition:
    """Return the transition of a resource without a job whose health its stack waits for.

    Args:
        observed: READY if it was seen healthy, BUSY if not yet.
        at: when to read it; None if it need not be read any more.
    """
    return rules.build_transition(rules.READ_AT_REST, observed=observed, observe_at=at)


def forget_nested_stack() -> JobTransition:
    """Return the transition after which nobody waits for the resource's nested stack."""
    return rules.build_transition(rules.FORGET_NESTED_STACK, observed=None)


def retry_later(observe_at: datetime | None, now: datetime) -> JobTransition:
    """Return the transition of an observed job that is done again at ``observe_at``."""
    transition = rules.build_transition(rules.RETRY_LATER, observed=None, observe_at=observe_at)
    return transition.with_marks(format_retry(now, observe_at))


def replace_with_successor() -> JobTransition:
    """Return the transition of an incarnation that becomes a deletion."""
    return rules.build_transition(rules.REPLACE, observed=None, observe_at=None)


def remove_failed(observe_at: datetime, now: datetime) -> JobTransition:
    """Return the transition of a failed new incarnation that is deleted from ``observe_at`` on."""
    transition = rules.build_transition(rules.REMOVE_FAILED, observed=None, observe_at=observe_at)
    return transition.with_marks(format_retry(now, observe_at))


# -- breakpoints --------------------------------------------------------------


def hold_at_breakpoint(hook: str, now: datetime) -> JobTransition:
    """Return the transition of a job that stops at the hook."""
    transition = rules.build_transition(
        rules.HOLD, hook=hook, posted_at=None, observed=None, observe_at=None
    )
    return transition.with_marks(format_mark(MarkType.HELD, now, hook))


def release(observed: ObservedState, now: datetime) -> JobTransition:
    """Return the transition of a done job whose hook was cleared.

    Args:
        observed: the state that the job was to reach.
        now: when it is observed.
    """
    transition = rules.build_transition(rules.RELEASE, observed=observed, observe_at=now)
    return transition.with_marks(format_mark(MarkType.RELEASED, now))


# -- the end ------------------------------------------------------------------


def fail() -> JobTransition:
    """Return the transition of a job that has failed for good."""
    return rules.build_transition(rules.FAIL, observe_at=None)


def cancel() -> JobTransition:
    """Return the transition of a job whose traversal has ended."""
    return rules.build_transition(rules.CANCEL, observed=None, observe_at=None)


def cancel_unstarted() -> JobTransition:
    """Return the transition of a job that does not start after another one's failure."""
    return rules.build_transition(rules.CANCEL_UNSTARTED)


def cancel_nested_stack() -> JobTransition:
    """Return the transition of a job whose nested stack is to stop."""
    return rules.build_transition(rules.CANCEL_NESTED_STACK)


def settle(now: datetime) -> JobTransition:
    """Return the transition to a resource without a job."""
    return rules.build_transition(rules.SETTLE, observed_at=now, observe_at=None)
