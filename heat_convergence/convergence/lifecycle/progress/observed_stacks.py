"""The progress of traversals after observations, those of several stacks in one transaction.

Marks resources ready, dispatches the next leaves, replaces resources, records failures
and ends traversals.  Called by ``observer``; everything happens under the stacks' locks, so
that of two resources that together unblock a third one never both miss it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.lifecycle import nested_status
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import (
    Observation,
    Observations,
    classify_rows,
    job_key,
)
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.progress.advances import advance_traversals
from heat_convergence.convergence.lifecycle.progress.failures import stop_after_failure
from heat_convergence.convergence.lifecycle.progress.ready_rows import settle
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.readiness.pending_jobs import record_pending
from heat_convergence.convergence.lifecycle.stabilization import window
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class _StackWithJobs:
    """A stack and those of its locked resources that have a current job.

    Attributes:
        messages: what the other resources have made to be sent.
    """

    stack: Stack
    rows: Sequence[Resource]
    messages: tuple[OutgoingMessage, ...]


def process_observations(
    tx: Transaction,
    named: Mapping[str, Collection[str]],
    observations: Observations,
    context: TraversalContext,
) -> dict[str, ProgressResult]:
    """Record the state of resources and let the traversals go on.

    Rows whose job is void or done are passed over, and so are observations of a job that
    another one has superseded meanwhile.  A stack is processed before its nested stacks: their
    ends change its rows, as they would in a later transaction.

    Args:
        tx: the transaction.
        named: resources by stack; those without an observation are as an engine has
            recorded them. They come from messages, so those of other stacks are ignored.
        observations: the resources that were just observed.
        context: the time, the ids and the settings.

    Returns:
        The results by stack.
    """
    by_depth: dict[int, list[tuple[Stack, Sequence[Resource]]]] = {}
    for stack, rows in tx.stacks.lock_with_resources(named):
        if stack.deleted_at is None:
            by_depth.setdefault(stack.depth, []).append((stack, rows))
    results = {stack_id: ProgressResult(None) for stack_id in named}
    for _depth, found in sorted(by_depth.items()):
        results |= _process_level(tx, found, observations, context)
    return results


def _process_level(
    tx: Transaction,
    found: Sequence[tuple[Stack, Sequence[Resource]]],
    observations: Observations,
    context: TraversalContext,
) -> dict[str, ProgressResult]:
    """Process stacks of which none is nested in another one."""
    results, with_jobs = {}, []
    for stack, rows in found:
        at_rest = [row for row in rows if row.job.verb is None]
        watched, idle = window.split_watched(stack, at_rest)
        messages = nested_status.refresh_attributes(tx, stack, idle, context)
        if window.is_open(stack):
            ended = _advance_window(tx, stack, watched, observations, context)
            results[stack.id] = ended.with_messages_first(messages)
        else:
            current = [row for row in rows if _is_current(row, stack)]
            with_jobs.append(_StackWithJobs(stack, current, messages))
    return results | _process_jobs(tx, with_jobs, observations, context)


def _process_jobs(
    tx: Transaction,
    stacks: Sequence[_StackWithJobs],
    observations: Observations,
    context: TraversalContext,
) -> dict[str, ProgressResult]:
    """Record the state of resources with jobs, and let the traversals in progress go on."""
    rows = [row for each in stacks for row in each.rows]
    observations = _drop_superseded(rows, observations)
    nested = nested_status.observe_nested_stacks(tx, rows, observations, context)
    observations = {**observations, **nested}
    classified = [
        (
            each.stack,
            record_pending(tx, classify_rows(each.rows, observations), observations, context),
        )
        for each in stacks
    ]
    nested_status.save_values(tx, rows, observations)
    _record_resumed(tx, [row for _stack, of in classified for row in of.resumed], context)
    at_rest = [row for stack, of in classified if not stack.in_progress for row in of.done]
    settle(tx, at_rest, observations, context)
    going_on = [(stack, of) for stack, of in classified if stack.in_progress]
    advanced = advance_traversals(tx, going_on, observations, context)
    return {
        each.stack.id: advanced.get(each.stack.id, ProgressResult(each.stack)).with_messages_first(
            each.messages
        )
        for each in stacks
    }


def _is_current(row: Resource, stack: Stack) -> bool:
    return row.job.verb is not None and row.job.version == stack.version


def _drop_superseded(
    rows: Sequence[Resource], observations: Observations
) -> dict[str, Observation]:
    jobs = {row.id: job_key(row) for row in rows}
    return {
        row_id: observation
        for row_id, observation in observations.items()
        if jobs.get(row_id) == observation.job
    }


def _record_resumed(tx: Transaction, rows: Sequence[Resource], context: TraversalContext) -> None:
    """Record that suspended resources were resumed; their jobs have another step."""
    tx.resources.update([row.id for row in rows], suspended=False)
    tx.events.insert(
        [
            context.resource_event(row, row.state.action, Status.COMPLETE, row.state.reason)
            for row in rows
        ]
    )


def _advance_window(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> ProgressResult:
    """Go on with a stabilization window after reads of resources; fail as after any failure."""
    observations = _drop_superseded(rows, observations)
    end = window.record_reads(tx, stack, rows, observations, context)
    if end.failure is not None:
        return stop_after_failure(tx, stack, end.failure, context)
    return ProgressResult(stack).with_end(end)
