"""The next steps of traversals after the rows of a pass were classified.

Called by ``observed_stacks`` under the locks of the stacks.  What most stacks need shares
statements; failures, replacements and breakpoints are a matter of each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from heat_convergence.convergence.lifecycle import (
    breakpoints,
    dispatch,
    replacement,
    retries,
)
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import ClassifiedRows, Observations
from heat_convergence.convergence.lifecycle.outgoing_messages import OutgoingMessage
from heat_convergence.convergence.lifecycle.progress.failures import (
    fail_rows,
    record_failed_check,
    stop_after_failure,
)
from heat_convergence.convergence.lifecycle.progress.ready_rows import (
    ReadyRows,
    settle,
    unblock,
)
from heat_convergence.convergence.lifecycle.progress.result import ProgressResult
from heat_convergence.convergence.lifecycle.quarantine import failed_deletions
from heat_convergence.convergence.lifecycle.readiness.early_release import release_dependents
from heat_convergence.convergence.lifecycle.stabilization import window
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import Workload
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class Advance:
    """A traversal in progress, whose rows of a pass are recorded.

    Attributes:
        stack: the stack, locked.
        rows: the rows by what was done with them.
        ready: those that others may have waited for, and the leaves that this has made.
        cause: why the stack fails, None if it does not.
        quarantined: whether a deletion goes on without rows that have failed.
    """

    stack: Stack
    rows: ClassifiedRows
    ready: ReadyRows
    cause: str | None
    quarantined: bool

    @property
    def has_ended_jobs(self) -> bool:
        """True if there may be room for other jobs."""
        rows = self.rows
        return bool(self.ready.done or rows.replaced or rows.failed or self.ready.leaves)

    @property
    def is_plain(self) -> bool:
        """True if jobs are done and nothing else has happened."""
        rows = self.rows
        others = (rows.replaced, rows.failed, rows.repeated, rows.resumed, self.ready.leaves)
        return bool(self.ready.done) and self.cause is None and not any(others)


def advance_traversals(
    tx: Transaction,
    classified: Sequence[tuple[Stack, ClassifiedRows]],
    observations: Observations,
    context: TraversalContext,
) -> dict[str, ProgressResult]:
    """Let traversals in progress go on; return their results by stack."""
    advances = [_record(tx, stack, rows, observations, context) for stack, rows in classified]
    done = [row for each in advances for row in each.ready.done]
    settle(tx, done, observations, context)
    unblock(tx, [each.ready for each in advances], context)
    loads = _get_workloads_of_plain(tx, advances)
    quiet = [each for each in advances if _is_quiet(each, loads)]
    results, ending = _dispatch_others(tx, quiet, loads, context)
    # What was read before is out of date once jobs of another stack are posted.
    known = loads if len(advances) == 1 else {}
    for each in advances:
        if each.stack.id not in results:
            result, may_end = _go_on(tx, each, context, known.get(each.stack.id))
            results[each.stack.id] = result
            ending += [each.stack] if may_end else []
    return results | _end(tx, ending, results, context)


def _record(
    tx: Transaction,
    stack: Stack,
    rows: ClassifiedRows,
    observations: Observations,
    context: TraversalContext,
) -> Advance:
    """Record what has failed, what is tried again, and what waits at a breakpoint."""
    rows = retries.schedule_retries(tx, stack, rows, observations, context)
    rows, observations = failed_deletions.fail_unfinished_nested(tx, stack, rows, observations)
    cause = fail_rows(tx, stack, rows.failed, observations, context)
    quarantined = failed_deletions.quarantine_failed(tx, stack, rows.failed, observations, context)
    if quarantined:
        cause = stack.first_failure_reason
    failures = retries.failure_reasons(rows.replaced, observations)
    replacement.replace_resources(tx, stack, rows.replaced, failures, context)
    if rows.replaced:
        # After a failure of the stack, no successor is created any more.
        cause = cause or stack.first_failure_reason
    held = breakpoints.pause_after_jobs(tx, stack, rows.done, context)
    done = tuple(row for row in rows.done if row.id not in held)
    early = release_dependents(tx, stack, (*rows.waiting, *rows.later), observations)
    return Advance(stack, rows, ReadyRows(stack, done, early), cause, quarantined)


def _get_workloads_of_plain(tx: Transaction, advances: Sequence[Advance]) -> dict[str, Workload]:
    """Return the workloads of traversals in which jobs are done and nothing else has happened."""
    by_project: dict[str, list[str]] = {}
    for each in advances:
        if each.is_plain:
            by_project.setdefault(each.stack.project_id, []).append(each.stack.id)
    loads: dict[str, Workload] = {}
    for project_id, stack_ids in sorted(by_project.items()):
        loads |= tx.jobs.get_workloads(project_id, stack_ids)
    return loads


def _is_quiet(advance: Advance, loads: Mapping[str, Workload]) -> bool:
    """Return whether the stack has no job to start now."""
    load = loads.get(advance.stack.id)
    return load is not None and not load.has_queued


def _dispatch_others(
    tx: Transaction,
    quiet: Sequence[Advance],
    loads: Mapping[str, Workload],
    context: TraversalContext,
) -> tuple[dict[str, ProgressResult], list[Stack]]:
    """Post jobs of other stacks in the places of those that are done, once for each project.

    Returns:
        The results by stack, and the stacks in which no job is under way.
    """
    results: dict[str, ProgressResult] = {}
    ending: list[Stack] = []
    projects: set[str] = set()
    for each in quiet:
        stack = each.stack
        messages: tuple[OutgoingMessage, ...] = ()
        if stack.project_id not in projects:
            messages = dispatch.dispatch_next(tx, stack, context, loads[stack.id])
            projects.add(stack.project_id)
        next_poll_at = min(each.rows.poll_times, default=None)
        results[stack.id] = ProgressResult(stack, messages, next_poll_at)
        # The resource of a job under way is not ready: that need not be read.
        if not loads[stack.id].is_stack_busy:
            ending.append(stack)
    return results, ending


def _go_on(
    tx: Transaction, advance: Advance, context: TraversalContext, load: Workload | None
) -> tuple[ProgressResult, bool]:
    """Post jobs of a traversal, or stop it after a failure.

    Args:
        tx: the transaction.
        advance: the traversal.
        context: the time and the settings.
        load: the workload of the stack and its project, if it is known already.

    Returns:
        The result, and whether the traversal may have ended.
    """
    stack, rows, leaves = advance.stack, advance.rows, advance.ready.leaves
    # A job that is posted again has its place in flight already.
    repeated = [row.id for row in (*rows.repeated, *rows.resumed)]
    tx.jobs.apply(repeated, job_transitions.reschedule(context.now))
    next_poll_at = min(rows.poll_times, default=None)
    if advance.cause is not None and stack.action is not Action.CHECK:
        stopped = stop_after_failure(tx, stack, advance.cause, context)
        return replace(stopped, next_poll_at=next_poll_at), False
    if advance.has_ended_jobs:
        load = load or tx.jobs.get_workload(stack.project_id, stack.id)
        messages = dispatch.schedule_leaves(tx, stack, list(leaves), context, leaves, load)
    else:
        messages = dispatch.dispatch_next(tx, stack, context)
    result = ProgressResult(stack, messages, next_poll_at)
    if leaves and load is not None and load.in_flight == 0 and not result.own_job_ids:
        result = replace(result, waits_for_bus=True)
    if advance.cause is not None:
        ended = record_failed_check(tx, stack, advance.cause, context)
        return replace(result, outgoing_messages=(*messages, *ended)), False
    is_busy = load is not None and load.is_stack_busy
    may_end = bool(advance.ready.done or advance.quarantined)
    return result, may_end and not (leaves or is_busy or result.own_job_ids)


def _end(
    tx: Transaction,
    stacks: Sequence[Stack],
    results: Mapping[str, ProgressResult],
    context: TraversalContext,
) -> dict[str, ProgressResult]:
    """End those of the traversals in whose graphs nothing is unready; return their results."""
    unready = tx.readiness.find_unready_stacks([stack.id for stack in stacks])
    ended = [stack for stack in stacks if stack.id not in unready]
    ends = window.complete_when_stable(tx, ended, context)
    return {stack_id: results[stack_id].with_end(end) for stack_id, end in ends.items()}
