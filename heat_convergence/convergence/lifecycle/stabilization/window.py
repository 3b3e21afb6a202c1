"""The stabilization window: a stack is complete when its resources have been healthy for a while.

Decides when the window opens, which reads of resources end it, and which fail the action.  Called
by ``progress`` and ``sweeps`` under the stack's lock.  That the window is open, since when all
are healthy and when each resource is read next stands in rows, so that a crash loses nothing
(RULE 9).  Must not end the traversal of a stack that has failed: ``progress`` does.

Source: docs/use/readiness.rst, "Stabilization window".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from heat_convergence.convergence.lifecycle import completion
from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.lifecycle.observations import Observation, Observations
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.readiness.window_reads import (
    request_reads,
    window_of,
)
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.template.environment.readiness import ReadinessLevel

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 60.0  # between two reads of a healthy resource
_READS_PER_WINDOW = 60
_NOT_HEALTHY = "it is not healthy any more"


@dataclass(frozen=True, slots=True)
class WindowResult:
    """The consequence of reads of resources, or of their readiness.

    Attributes:
        outgoing_messages: those of the traversal's end.
        next_read_at: when a resource is to be read.
        failure: why the action has failed.
    """

    outgoing_messages: tuple[OutgoingMessage, ...] = ()
    next_read_at: datetime | None = None
    failure: str | None = None


def is_open(stack: Stack) -> bool:
    """Return whether the stack waits for nothing but the health of its resources."""
    return stack.in_progress and stack.stabilizing


def split_watched(
    stack: Stack, rows: Sequence[Resource]
) -> tuple[Sequence[Resource], Sequence[Resource]]:
    """Return the resources at rest whose health the stack waits for, and the others."""
    if not is_open(stack):
        return (), rows
    watched = [row for row in rows if window_of(row)]
    return watched, [row for row in rows if not window_of(row)]


def complete_when_stable(
    tx: Transaction, stacks: Sequence[Stack], context: TraversalContext
) -> dict[str, WindowResult]:
    """Open the windows of traversals in whose graphs no row is unready, or complete them (RULE 7).

    A window that no read would end, as code without windows has dropped them, is opened anew.

    Returns:
        What follows, by stack.
    """
    results: dict[str, WindowResult] = {}
    stable: list[Stack] = []
    for stack in stacks:
        rows: list[Resource] = []
        if stack.stabilization_s is not None and not _has_passed(stack, context.now):
            rows = [row for row in tx.resources.lock_by_stack(stack.id) if window_of(row)]
        if rows:
            results[stack.id] = _open(tx, stack, rows, context)
        else:
            stable.append(stack)
    for stack_id, messages in completion.complete_traversals(tx, stable, context).items():
        results[stack_id] = WindowResult(messages)
    return results


def _open(
    tx: Transaction, stack: Stack, rows: Sequence[Resource], context: TraversalContext
) -> WindowResult:
    """Open the window of a stack, for these resources."""
    request_reads(tx, rows, context.now)
    reason = f"Stack {stack.action} waits until its resources are healthy"
    opened = replace(stack, stabilizing=True, stable_since=None, status_reason=reason)
    _save_window(tx, opened, context)
    return WindowResult(next_read_at=context.now)


def record_reads(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> WindowResult:
    """Record reads of resources at rest while the window is open.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: the watched resources; those without an observation are passed over.
        observations: the observations of the resources as they are now.
        context: the time and the settings.
    """
    # Another observer may have read a resource, too, that has been healthy for its window.
    due = [row for row in rows if row.observation.observe_at is not None]
    read = [row for row in due if row.id in observations]
    if not read:
        return WindowResult()
    failures = dict(_find_failures(read, observations))
    if failures:
        return WindowResult(failure=_record_failures(tx, stack, read, failures, context))
    counts = tx.readiness.count_reads_at_rest(stack.id)
    healthy = {row.id for row in read if _is_healthy(observations[row.id])}
    new = [row for row in read if row.id in healthy and not _was_healthy(row)]
    unhealthy = sum(counts.values()) - counts.get(ObservedState.READY, 0) - len(new)
    if stack.stable_since is None and not unhealthy:
        stack = _start_window(tx, stack, context)
    times = {row.id: _next_read(stack, row, observations[row.id], context) for row in read}
    _save_reads(tx, read, healthy, times)
    if sum(at is None for at in times.values()) == sum(counts.values()):
        return WindowResult(completion.complete_traversal(tx, stack, context))
    return WindowResult(next_read_at=min((at for at in times.values() if at), default=None))


# -- health


def _is_healthy(observation: Observation) -> bool:
    is_ready = observation.observed is ObservedState.READY
    return is_ready and observation.level is ReadinessLevel.HEALTHY


def _was_healthy(row: Resource) -> bool:
    """Return whether the resource was seen healthy in this window."""
    return row.observation.state is ObservedState.READY


def _find_failures(
    rows: Sequence[Resource], observations: Observations
) -> Iterator[tuple[str, str]]:
    """Yield id and reason of the resources that fail the action.

    An observation that shows nothing, or that a service works on the resource, fails nothing.
    """
    for row in rows:
        observation = observations[row.id]
        unhealthy = f"ResourceUnhealthy: resources.{row.name}: "
        lost = observation.observed is ObservedState.READY and not _is_healthy(observation)
        if row.state.status is Status.FAILED:  # a user has marked it unhealthy
            yield row.id, unhealthy + row.state.reason
        elif observation.observed in (ObservedState.FAILED, ObservedState.ABSENT):
            yield row.id, observation.reason
        elif lost and _was_healthy(row):
            yield row.id, unhealthy + (observation.reason or _NOT_HEALTHY)


def _record_failures(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    failures: Mapping[str, str],
    context: TraversalContext,
) -> str:
    """Mark the resources FAILED that this action has created or changed; return the cause.

    Others keep their status: what is done about them is a matter of their drift policies.
    """
    failed = [row for row in rows if row.id in failures]
    changed = [row for row in failed if _is_changed_by(stack, row)]
    tx.resources.update_each(
        {row.id: {"status": Status.FAILED, "status_reason": failures[row.id]} for row in changed}
    )
    tx.events.insert(
        [
            context.resource_event(row, row.state.action, Status.FAILED, failures[row.id])
            for row in changed
        ]
    )
    reason = failures[failed[0].id]
    return f"Resource {stack.action} failed: {reason} (in the stabilization window)"


def _is_changed_by(stack: Stack, row: Resource) -> bool:
    """Return whether the stack's current action has acted on a resource that has not failed."""
    started_at, stack_at = row.state.started_at, stack.started_at
    acted = started_at is not None and stack_at is not None and started_at >= stack_at
    return acted and row.state.status is Status.COMPLETE


# -- times


def _has_passed(stack: Stack, now: datetime) -> bool:
    """Return whether the longest window of the stack has passed."""
    window = timedelta(seconds=stack.stabilization_s or 0)
    since = stack.stable_since if stack.stabilizing else None
    return since is not None and since + window <= now


def _start_window(tx: Transaction, stack: Stack, context: TraversalContext) -> Stack:
    """Record that all resources are healthy from now on."""
    window_s = stack.stabilization_s or 0
    until = context.now + timedelta(seconds=window_s)
    reason = (
        f"Stack {stack.action} waits until {until:%Y-%m-%dT%H:%M:%SZ}, when its resources have"
        f" been healthy for {window_s} seconds"
    )
    started = replace(stack, stable_since=context.now, status_reason=reason)
    _save_window(tx, started, context)
    return started


def _save_window(tx: Transaction, stack: Stack, context: TraversalContext) -> None:
    tx.stacks.update(
        stack.id,
        stabilizing=stack.stabilizing,
        stable_since=stack.stable_since,
        status_reason=stack.status_reason,
    )
    context.report(Report(stack, "stack stabilizing", stack.action, stack.status_reason))


def _next_read(
    stack: Stack, row: Resource, observation: Observation, context: TraversalContext
) -> datetime | None:
    """Return when to read a resource next; None once it has been healthy for its window."""
    window_s, recheck_s = window_of(row), observation.recheck_after_s
    if not _is_healthy(observation):
        return context.now + timedelta(seconds=max(recheck_s or 0.0, _SHORTEST_PAUSE_S))
    pause_s = min(max(window_s / _READS_PER_WINDOW, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)
    next_at = context.now + timedelta(seconds=pause_s)
    if stack.stable_since is None:
        return next_at
    until = stack.stable_since + timedelta(seconds=window_s)
    if (observation.made_at or context.now) >= until:
        return None
    if recheck_s is None:  # no read can tell anything else
        return max(until, context.now)
    return max(min(until, next_at), context.now)


def _save_reads(
    tx: Transaction,
    rows: Sequence[Resource],
    healthy_ids: Collection[str],
    times: Mapping[str, datetime | None],
) -> None:
    """Save which resources were seen healthy, and when each is read next: few statements."""
    groups: dict[tuple[ObservedState, datetime | None], list[str]] = {}
    for row in rows:
        observed = (
            ObservedState.READY
            if row.id in healthy_ids or _was_healthy(row)
            else ObservedState.BUSY
        )
        groups.setdefault((observed, times[row.id]), []).append(row.id)
    for (observed, at), ids in sorted(groups.items(), key=str):
        tx.jobs.apply(ids, job_transitions.read_at_rest(observed, at))
