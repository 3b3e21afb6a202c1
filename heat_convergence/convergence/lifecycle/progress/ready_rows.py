"""Resources whose jobs are done: they are complete, and may let others start.

Called by ``advances`` and ``observed_stacks`` under the locks of the stacks, whose rows share
statements.  Must not dispatch what may start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heat_convergence.convergence.lifecycle import breakpoints, completion
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.observations import (
    Observations,
    with_observation_mark,
)
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.resource import SINGLE_STEP, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark


@dataclass(frozen=True, slots=True)
class ReadyRows:
    """Resources of a traversal that others may have waited for.

    Attributes:
        stack: the stack, locked.
        done: the resources whose jobs are done.
        early: resources under way whose edges are marked already.
        leaves: receives the jobs that nothing stands before any more: id of the resource → the
            mark of what has unblocked it.
    """

    stack: Stack
    done: Sequence[Resource]
    early: Sequence[Resource] = ()
    leaves: dict[str, str] = field(default_factory=dict)

    @property
    def single_step(self) -> bool:
        """True if each job that one of them unblocks waits for the user."""
        rows = (*self.done, *self.early)
        return any(SINGLE_STEP in row.desired.hooks_and_restrictions for row in rows)


def settle(
    tx: Transaction,
    rows: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> None:
    """Mark resources complete whose jobs are done."""
    if not rows:
        return
    tx.jobs.mark_complete([row.id for row in rows], context.now)
    # A resource that a user has marked unhealthy meanwhile is replaced by the next goal.
    unhealthy = [row.id for row in rows if completion.is_marked_unhealthy(row)]
    tx.resources.update(unhealthy, status=Status.FAILED)
    tx.events.insert(
        [
            context.resource_event(
                with_observation_mark(row, observations.get(row.id)),
                row.state.action,
                Status.COMPLETE,
                row.state.reason,
            )
            for row in rows
            if row.state.status is not Status.COMPLETE and row.id not in unhealthy
        ]
    )


def unblock(tx: Transaction, groups: Sequence[ReadyRows], context: TraversalContext) -> None:
    """Mark resources ready, and add the leaves that this makes to those of their stacks.

    Statements name one version: most stacks that end together have the same.
    """
    by_version: dict[int, dict[str, ReadyRows]] = {}
    for group in groups:
        by_version.setdefault(group.stack.version, {})[group.stack.id] = group
    for version, by_stack in sorted(by_version.items()):
        _unblock_version(tx, version, by_stack, context)


def _unblock_version(
    tx: Transaction,
    version: int,
    by_stack: Mapping[str, ReadyRows],
    context: TraversalContext,
) -> None:
    """Unblock what waits for the rows of stacks with the same version.

    An unblocked resource that would run only because of values that it reads, of which
    none has changed, is ready without a job; so its own dependents are next.
    """
    ready_ids = [row.id for group in by_stack.values() for row in group.done]
    early_ids = [row.id for group in by_stack.values() for row in group.early]
    while ready_ids or early_ids:
        tx.readiness.mark_ready(version, ready_ids)
        found = tx.readiness.find_unblocked_by(version, [*ready_ids, *early_ids])
        early_ids = []
        marks = {
            row.id: format_mark(MarkType.UNBLOCKED, context.now, cause) for row, cause in found
        }
        optional = [row.id for row, _cause in found if not row.job.must_run]
        touched = (
            tx.readiness.find_with_touched_requirements(version, optional)
            if optional
            else frozenset()
        )
        running: dict[str, list[Resource]] = {}
        for row, _cause in found:
            if row.job.must_run or row.id in touched:
                running.setdefault(row.stack_id, []).append(row)
        for stack_id, rows in running.items():
            _add_leaves(tx, by_stack[stack_id], rows, marks, context)
        ready_ids = [row_id for row_id in optional if row_id not in touched]
        if ready_ids:
            tx.jobs.mark_complete(ready_ids, context.now)


def _add_leaves(
    tx: Transaction,
    group: ReadyRows,
    rows: Sequence[Resource],
    marks: Mapping[str, str],
    context: TraversalContext,
) -> None:
    """Add unblocked resources of a stack to its leaves, unless they wait at a breakpoint."""
    held = breakpoints.pause_before_jobs(
        tx, group.stack, rows, context, single_step=group.single_step, own_marks=marks
    )
    group.leaves.update((row.id, marks[row.id]) for row in rows if row.id not in held)
