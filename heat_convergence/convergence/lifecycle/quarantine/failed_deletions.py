"""The move of resources that cannot be deleted into quarantine, so that their stack can go.

Called by ``progress`` and ``sweeps`` under the stack's lock, for stacks whose deletion was asked
to quarantine. What a quarantined resource may still use is quarantined with it, and not tried
(RULE 5). Must not send or call anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.lifecycle.observations import (
    ClassifiedRows,
    Observation,
    Observations,
)
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.job_steps import has_nested_stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.quarantine.entry import QuarantineEntry

NESTED_REASON = "Its nested stack has resources in quarantine"
WAITING_REASON = "Not tried: a resource in quarantine may use it"


def is_requested(stack: Stack) -> bool:
    """Return whether the stack is being deleted and quarantines what it cannot delete."""
    return stack.quarantines and stack.action is Action.DELETE


def fail_unfinished_nested(
    tx: Transaction, stack: Stack, rows: ClassifiedRows, observations: Observations
) -> tuple[ClassifiedRows, Observations]:
    """Move resources from done to failed whose nested stacks have left something in quarantine.

    What they use may be in use by that.
    """
    nested_ids = [row.physical.id for row in rows.done if row.physical.id is not None]
    if not is_requested(stack) or not nested_ids:
        return rows, observations
    unfinished = tx.quarantine.find_blockers([stack.tree_id], nested_ids)
    moved = tuple(row for row in rows.done if row.physical.id in unfinished)
    failed = Observation(ObservedState.FAILED, NESTED_REASON, is_permanent=True)
    return (
        replace(
            rows,
            done=tuple(row for row in rows.done if row.physical.id not in unfinished),
            failed=(*rows.failed, *moved),
        ),
        {**observations, **{row.id: failed for row in moved}},
    )


def quarantine_failed(
    tx: Transaction,
    stack: Stack,
    failed: Sequence[Resource],
    observations: Observations,
    context: TraversalContext,
) -> bool:
    """Quarantine resources whose deletions have failed for good, and what they may use.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        failed: the resources, which are marked FAILED.
        observations: the observations that have the reasons; others are in the rows.
        context: the time.

    Returns:
        Whether the deletion of the stack goes on without them.
    """
    if not failed or not is_requested(stack):
        return False
    causes = {
        row.id: observations[row.id].reason if row.id in observations else row.state.reason
        for row in failed
    }
    waits_for = _find_dependents(tx, stack, causes)
    rows = tx.resources.get([*causes, *waits_for])
    if any(row.physical.awaits_stack_adoption for row in rows):
        return False  # nothing knows yet what its nested stack has
    entries = [
        _entry(row, stack, causes.get(row.id, WAITING_REASON), waits_for, context) for row in rows
    ]
    tx.quarantine.add(entries)
    tx.jobs.apply(sorted(waits_for.keys() - causes.keys()), job_transitions.cancel())
    tx.readiness.mark_ready(stack.version, [row.id for row in rows])
    for row in rows:
        if row.id in causes:
            change = "resource quarantined"
            context.report(Report(row, change, Action.DELETE, causes[row.id]))
    return True


def _find_dependents(
    tx: Transaction, stack: Stack, failed: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Return the resources that wait for failed ones, directly or not, each with all it awaits."""
    unready = [
        (edge.resource_id, edge.needed_by)
        for edge in tx.graph.get_unready_edges(stack.id, stack.version)
        if edge.needed_by is not None
    ]
    following: dict[str, list[str]] = {}
    awaited: dict[str, list[str]] = {}
    for resource_id, needed_by in unready:
        following.setdefault(resource_id, []).append(needed_by)
        awaited.setdefault(needed_by, []).append(resource_id)
    found: dict[str, tuple[str, ...]] = {}
    left = list(failed)
    while left:
        for dependent in following.get(left.pop(), ()):
            if dependent not in found:
                found[dependent] = tuple(sorted(awaited[dependent]))
                left.append(dependent)
    return found


def _entry(
    row: Resource,
    stack: Stack,
    reason: str,
    waits_for: Mapping[str, tuple[str, ...]],
    context: TraversalContext,
) -> QuarantineEntry:
    nested = (row.physical.id,) if row.physical.id is not None and has_nested_stack(row) else ()
    return QuarantineEntry(
        resource_id=row.id,
        stack_id=stack.id,
        root_id=stack.tree_id,
        project_id=stack.project_id,
        stack_name=stack.name,
        resource_name=row.name,
        resource_type=row.identity.type,
        physical_id=row.physical.id,
        reason=reason,
        since=context.now,
        waits_for=(*waits_for.get(row.id, ()), *nested),
    )
