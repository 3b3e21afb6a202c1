"""What the observer does with what it has seen, in one transaction.

Marks resources ready, finds and posts the next leaves, makes replacements,
passes on failures and ends the traversal.  Called by ``observer``; everything
happens under the stack's lock, so that of two resources that together free a
third one never both miss it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from heat_convergence.convergence import (
    breakpoints,
    dispatch,
    ending,
    failing,
    insight,
    owners,
    replacing,
)
from heat_convergence.convergence.dispatch import Posting
from heat_convergence.convergence.failing import Sighting
from heat_convergence.convergence.model import (
    STEP,
    Action,
    Desired,
    JobState,
    Observed,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Means


@dataclass(frozen=True, slots=True)
class Advanced:
    """What to cast after the commit, and what became of the stack.

    ``roll_back`` is the reason why a rollback has to begin in the same transaction,
    ``next_look_at`` when the first of what was passed over is due again.
    """

    stack: Stack | None
    postings: tuple[Posting, ...] = ()
    next_look_at: datetime | None = None
    roll_back: str | None = None

    @property
    def posted(self) -> tuple[str, ...]:
        """The stack's own jobs among those to cast."""
        return () if self.stack is None else dispatch.own(self.postings, self.stack)


def advance(
    tx: Transaction,
    stack_id: str,
    resource_ids: Sequence[str],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> Advanced:
    """Takes note of ``resource_ids``.

    ``sightings`` has those that were looked at just now; the others stand as the
    engine recorded them.  Rows whose job is void or done are passed over, and so is
    what was seen of a job that has given way to another one meanwhile.
    """
    stack = tx.lock_stack(stack_id)
    if stack is None or stack.deleted_at is not None:
        return Advanced(None)
    found = tx.lock_jobs(resource_ids)
    told = insight.refresh(tx, stack, [row for row in found if row.job is None], means)
    rows = [row for row in found if _concerns(row, stack)]
    sightings = _still_true(rows, sightings)
    sightings = {**sightings, **insight.look_inside(tx, rows, sightings, means)}
    sorted_out = _SortedOut(rows, sightings)
    sorted_out.later += _wait_on(tx, sorted_out.waiting, sightings, means)
    _pause(tx, sorted_out.paused, sightings, means)
    _learn(tx, rows, sightings)
    _wake(tx, sorted_out.woken, means)
    sorted_out.again += sorted_out.woken
    if not stack.in_progress:
        _settle(tx, sorted_out.done, means)
        return Advanced(stack, told)
    failing.give_chances(tx, stack, sorted_out.failed, sorted_out.replaced, sightings, means)
    failed = _fail(tx, stack, sorted_out.failed, sightings, means)
    broken = [row.id for row in sorted_out.replaced if failing.is_broken(row, sightings)]
    replacing.replace(tx, stack, sorted_out.replaced, broken, means)
    held = breakpoints.hold_after(tx, stack, sorted_out.done, means.now, means.ids)
    sorted_out.done = [row for row in sorted_out.done if row.id not in held]
    _settle(tx, sorted_out.done, means)
    leaves = _free(tx, stack, sorted_out.done, means)
    advanced = _go_on(tx, stack, sorted_out, leaves, failed, means)
    return replace(advanced, postings=(*told, *advanced.postings))


def _still_true(
    rows: Sequence[Resource], sightings: Mapping[str, Sighting]
) -> dict[str, Sighting]:
    jobs = {row.id: failing.job_of(row) for row in rows}
    return {key: seen for key, seen in sightings.items() if jobs.get(key) == seen.job}


def _concerns(row: Resource, stack: Stack) -> bool:
    return row.job is not None and row.version == stack.version and row.stack_id == stack.id


class _SortedOut:
    """Rows by what is to be done with them."""

    def __init__(self, rows: Sequence[Resource], sightings: Mapping[str, Sighting]) -> None:
        self.done: list[Resource] = []
        self.failed: list[Resource] = []
        self.replaced: list[Resource] = []
        self.again: list[Resource] = []
        self.woken: list[Resource] = []
        self.waiting: list[Resource] = []
        self.paused: list[Resource] = []
        self.later: list[datetime] = []
        for row in rows:
            seen = sightings[row.id].observed if row.id in sightings else row.observed
            if row.job_state is JobState.REPLACE:
                self.replaced.append(row)
            elif row.id in sightings and sightings[row.id].more:
                self._further(row, sightings[row.id].again_s)
            elif row.job_state is JobState.RETRY:
                self._retry(row, due=row.id in sightings)
            elif row.job_state is not JobState.WATCHED or not _looked_for(row):
                continue
            elif seen is _end_of(row):
                (self.woken if row.waking else self.done).append(row)
            elif seen in (Observed.FAILED, Observed.ABSENT, Observed.SPARED):
                self.failed.append(row)
            elif row.id in sightings:
                self.waiting.append(row)
            elif row.observe_at is not None:
                self.later.append(row.observe_at)

    def _further(self, row: Resource, pause_s: float | None) -> None:
        """Its job has another step to take, at once or after a pause."""
        if pause_s:
            self.paused.append(row)
        else:
            self.again.append(row)

    def _retry(self, row: Resource, *, due: bool) -> None:
        if due:
            self.again.append(row)
        elif row.observe_at is not None:
            self.later.append(row.observe_at)


def _looked_for(row: Resource) -> bool:
    return row.observe_at is not None or row.awaits_stack


def _end_of(row: Resource) -> Observed:
    return Observed.READY if row.desired is Desired.PRESENT else Observed.ABSENT


def _wait_on(
    tx: Transaction, rows: Sequence[Resource], sightings: Mapping[str, Sighting], means: Means
) -> list[datetime]:
    """The times when they are due again."""
    again_at = {row.id: _again_at(row, sightings[row.id], means) for row in rows}
    tx.save_resources(
        {
            row.id: {
                "observed": sightings[row.id].observed,
                "observed_at": means.now,
                "observe_at": again_at[row.id],
            }
            for row in rows
        }
    )
    return [at for at in again_at.values() if at is not None]


def _again_at(row: Resource, seen: Sighting, means: Means) -> datetime | None:
    """Whoever looks pushes the time on first; if it has come all the same, a signal
    came during the look, and the look may not have seen what it changed.  Stacks
    behind resources are looked at under the rows' locks."""
    if seen.again_s is None:
        return None
    if row.observe_at is not None and row.observe_at <= means.now:
        return row.observe_at
    return _next_look(seen, means)


def _pause(
    tx: Transaction, rows: Sequence[Resource], sightings: Mapping[str, Sighting], means: Means
) -> None:
    tx.save_resources(
        {
            row.id: {
                "job_state": JobState.RETRY,
                "observed": None,
                "observe_at": _next_look(sightings[row.id], means),
            }
            for row in rows
        }
    )


def _next_look(seen: Sighting, means: Means) -> datetime | None:
    return None if seen.again_s is None else means.now + timedelta(seconds=seen.again_s)


def _learn(
    tx: Transaction, rows: Sequence[Resource], sightings: Mapping[str, Sighting]
) -> None:
    """Attributes and data that came with the look, before anyone draws on them."""
    for column in ("attributes", "data"):
        found = ((row, getattr(sightings.get(row.id), column, None)) for row in rows)
        tx.save_resources(
            {
                row.id: {column: new, "sensitive": row.sensitive}
                for row, new in found
                if new is not None
            }
        )


def _wake(tx: Transaction, rows: Sequence[Resource], means: Means) -> None:
    """What was suspended is not any more; its job goes on with the rest."""
    tx.update_resources([row.id for row in rows], paused=False)
    tx.insert_events(
        [
            ending.resource_event(
                row, row.action, Status.COMPLETE, row.status_reason, means.now, means.ids
            )
            for row in rows
        ]
    )


def _settle(tx: Transaction, rows: Sequence[Resource], means: Means) -> None:
    if not rows:
        return
    tx.settle([row.id for row in rows], means.now)
    # What a user has called ill meanwhile stays so, and the next goal replaces it.
    ill = [row.id for row in rows if ending.called_ill(row)]
    tx.update_resources(ill, status=Status.FAILED)
    tx.insert_events(
        [
            ending.resource_event(
                row, row.action, Status.COMPLETE, row.status_reason, means.now, means.ids
            )
            for row in rows
            if row.status is not Status.COMPLETE and row.id not in ill
        ]
    )


def _fail(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    sightings: Mapping[str, Sighting],
    means: Means,
) -> str | None:
    """Marks the rows FAILED; the stack's cause if it now has its first."""
    if not rows:
        return stack.first_cause
    cause, changes, events = stack.first_cause, {}, []
    for row in rows:
        seen = sightings.get(row.id)
        reason = told = seen.reason if seen is not None else row.status_reason
        status, action = Status.FAILED, row.action
        if seen is None and row.observed is Observed.SPARED:
            # Nothing was done, and the resource is what it was.
            status, action, told = row.status, Action.UPDATE, reason.rsplit(": ", 1)[-1]
        changes[row.id] = {
            "status": status,
            "status_reason": told,
            "job_state": JobState.HALTED,
            "observe_at": None,
        }
        events.append(
            ending.resource_event(row, action, Status.FAILED, told, means.now, means.ids)
        )
        cause = cause or f"Resource {action} failed: {reason}"
    tx.save_resources(changes)
    tx.insert_events(events)
    return cause


def _free(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], means: Means
) -> list[str]:
    """Marks ready; the BLOCKED jobs that nothing holds up any more.

    A freed resource that would run only because of what it draws on, of which
    nothing was touched, is ready without a job; so its own dependents are next.
    """
    leaves: list[str] = []
    done = [row.id for row in rows]
    stepping = any(STEP in row.guards for row in rows)
    while done:
        tx.mark_ready(stack.version, done)
        freed = tx.freed_by(stack.version, done)
        idle_maybe = [row.id for row in freed if not row.must_run]
        touched = tx.touched_needs(stack.version, idle_maybe) if idle_maybe else frozenset()
        ready = [row for row in freed if row.must_run or row.id in touched]
        held = breakpoints.hold_before(
            tx, stack, ready, means.now, means.ids, stepping=stepping
        )
        leaves.extend(row.id for row in ready if row.id not in held)
        done = [row_id for row_id in idle_maybe if row_id not in touched]
        if done:
            tx.settle(done, means.now)
    return leaves


def _go_on(
    tx: Transaction,
    stack: Stack,
    rows: _SortedOut,
    leaves: Sequence[str],
    cause: str | None,
    means: Means,
) -> Advanced:
    # What is to be tried again has its room among the jobs in flight already.
    again = [row.id for row in rows.again]
    tx.update_resources(
        again, job_state=JobState.DUE, posted_at=means.now, observed=None, observe_at=None
    )
    if cause is not None:
        later = min(rows.later, default=None)
        return replace(_stop(tx, stack, cause, means), next_look_at=later)
    if rows.done or rows.replaced:
        postings = dispatch.post_leaves(tx, stack, leaves, means.settings, means.now)
    else:
        postings = _take_turns(tx, stack, means)
    advanced = Advanced(stack, postings, min(rows.later, default=None))
    at_rest = rows.done and not leaves and not advanced.posted
    if at_rest and not tx.any_unready(stack.id, stack.version):
        told = ending.complete(tx, stack, means.now, means.ids)
        return replace(advanced, postings=(*postings, *told))
    return advanced


def _stop(tx: Transaction, stack: Stack, cause: str, means: Means) -> Advanced:
    """After a failure nothing new starts, what runs may finish; then the stack is
    FAILED with the first cause, or rolls back."""
    first = stack.first_cause is None
    if first and ending.rolls_back(stack):
        return Advanced(stack, roll_back=cause)
    if ending.halt_waiting(tx, stack, means.now, means.ids) == 0:
        return Advanced(stack, ending.fail(tx, stack, cause, means.now, means.ids))
    if first:
        limit = means.now + timedelta(seconds=means.settings.error_wait_s)
        deadline = min(stack.deadline_at or limit, limit)
        tx.update_stack(stack.id, first_cause=cause, deadline_at=deadline)
    return Advanced(stack, _take_turns(tx, stack, means))


def _take_turns(tx: Transaction, stack: Stack, means: Means) -> tuple[Posting, ...]:
    return dispatch.take_turns(
        tx, stack.project_id, stack.tree_id, means.settings, means.now
    )


def time_out(tx: Transaction, stack_id: str, means: Means) -> Advanced:
    """The stack's deadline has passed: it fails, or rolls back."""
    stack = tx.lock_stack(stack_id)
    overdue = (
        stack is not None
        and stack.in_progress
        and stack.deadline_at is not None
        and stack.deadline_at <= means.now
    )
    if stack is None or not overdue:
        return Advanced(None)
    if stack.first_cause is None and ending.rolls_back(stack):
        return Advanced(stack, roll_back="Timed out")
    reason = stack.first_cause or "Timed out"
    return Advanced(stack, ending.fail(tx, stack, reason, means.now, means.ids))


def abandon(tx: Transaction, stack_id: str, means: Means) -> Advanced:
    """For a nested stack whose owner does not wait for it any more: it stops."""
    stack = tx.lock_stack(stack_id)
    if stack is None or not stack.in_progress or stack.owner_resource_id is None:
        return Advanced(None)
    rows = tx.get_resources([stack.owner_resource_id])
    if not any(owners.given_up(row) and row.physical_id == stack.id for row in rows):
        return Advanced(None)
    reason = f"Stack {stack.action} cancelled"
    return Advanced(stack, ending.fail(tx, stack, reason, means.now, means.ids))


def unstick(tx: Transaction, stack_id: str, version: int, means: Means) -> Advanced:
    """For a stack in which nothing is in flight: finds what can go on.

    Finds nothing unless rows contradict each other; then it says so by the jobs
    that it posts, or ends the traversal.
    """
    stack = tx.lock_stack(stack_id)
    if stack is None or not stack.in_progress or stack.version != version:
        return Advanced(None)
    if stack.first_cause is not None:
        return _stop(tx, stack, stack.first_cause, means)
    found = tx.ready_but_blocked(stack_id, version)
    held = breakpoints.hold_before(tx, stack, tx.lock_jobs(found), means.now, means.ids)
    leaves = [row_id for row_id in found if row_id not in held]
    postings = dispatch.post_leaves(tx, stack, leaves, means.settings, means.now)
    told: tuple[Posting, ...] = ()
    if not leaves and not tx.any_unready(stack_id, version):
        told = ending.complete(tx, stack, means.now, means.ids)
    return Advanced(stack, (*postings, *told))


def next_turn(tx: Transaction, project_id: str, means: Means) -> Advanced:
    """For a project whose jobs are DUE for long: its next ones, if it has room."""
    return Advanced(
        None, dispatch.take_turns(tx, project_id, "", means.settings, means.now)
    )
