"""Replacement of resources while a traversal runs: the graph is rewired.

The new incarnation takes the old one's place; the old one is deleted after the new one
is ready and everything that used the old one has been updated (RULE 5).  One that failed
before it was ever ready is deleted first, after a pause that grows with the tries: it may
hold a name, an address or quota that the new one needs.  Called by ``progress`` under the
stack's lock.  Cost follows the degree of what is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import ActionState, Resource, ResourceJob
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import physical_name
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.convergence.timeline.marks import MarkType, format_mark

EdgePair = tuple[str, str | None]  # the id that must be ready, the id that starts then


@dataclass(frozen=True, slots=True)
class _Rewiring:
    """Edges around replaced rows: those there were, those to drop and those to add."""

    edges: Sequence[Edge]
    dropped: Sequence[Edge]
    added: frozenset[EdgePair]
    deleted_first: frozenset[str]
    retry_counts: Mapping[str, int]  # successor's id → tries


def replace_resources(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    failures: Mapping[str, str],
    context: TraversalContext,
) -> None:
    """Give each row a successor, and make the row a deletion.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: the rows to replace.
        failures: the reasons of those that have failed, which no later goal uses again.
        context: the time and the ids.
    """
    if not rows:
        return
    old_rows = [
        with_columns(old, status_reason=failures.get(old.id, old.state.reason))
        for old in tx.resources.get([row.id for row in rows])
    ]
    users = _find_users(tx, stack, old_rows)
    deleted_first = _find_deleted_first(old_rows, failures, users)
    successors = {
        old.id: _make_successor(stack, old, context, blocked=old.id in deleted_first)
        for old in old_rows
    }
    tx.resources.insert(list(successors.values()))
    for old in old_rows:
        change = "resource action retried" if old.id in deleted_first else "resource replaced"
        context.report(Report(old, change, old.state.action, old.state.reason))
    edges = tx.graph.get_edges_at(stack.id, list(successors))
    tries = tx.graph.get_retry_counts(stack.version, list(successors))
    kept = _find_deletion_order(tx, old_rows, edges)
    dropped, added = _rewire(edges, successors, kept, deleted_first)
    tx.graph.delete_edges(stack.id, stack.version, dropped)
    retry_counts = {successors[old_id].id: count for old_id, count in tries.items()}
    _add_edges(
        tx,
        stack,
        successors,
        _Rewiring(edges, dropped, frozenset(added | users), deleted_first, retry_counts),
    )
    dependencies = _save_dependencies(tx, stack, old_rows, edges)
    replaced = [old for old in old_rows if old.id not in deleted_first]
    _save_replaced(tx, replaced, successors, dependencies, failures)
    failed = [old for old in old_rows if old.id in deleted_first]
    _save_failed(tx, failed, successors, dependencies, (tries, context))


def _find_deleted_first(
    old_rows: Sequence[Resource], failures: Mapping[str, str], users: Collection[EdgePair]
) -> frozenset[str]:
    """Return the ids of rows to delete before their successors are created.

    They have failed before they were ever ready, and no physical resource may use them.
    """
    used = {old_id for _user, old_id in users}
    return frozenset(
        old.id
        for old in old_rows
        if old.id in failures
        and old.id not in used
        and old.state.action is Action.CREATE
        and old.physical.applied_hash is None
    )


def _save_dependencies(
    tx: Transaction, stack: Stack, old_rows: Sequence[Resource], edges: Sequence[Edge]
) -> Mapping[str, tuple[str, ...]]:
    """Record that what was tried may use all of its requirements (RULE 5).

    Returns:
        Id of the old row → ids of all rows that its physical resource may use.
    """
    requirements: dict[str | None, set[str]] = {}
    for edge in edges:
        requirements.setdefault(edge.needed_by, set()).add(edge.resource_id)
    new = {
        old.id: requirements.get(old.id, set()).difference(old.physical.dependencies)
        for old in old_rows
    }
    tx.graph.add_physical_dependencies(
        stack.id, [(user, used) for user, ids in new.items() for used in ids]
    )
    return {
        old.id: tuple(sorted(new[old.id].union(old.physical.dependencies))) for old in old_rows
    }


def _save_replaced(
    tx: Transaction,
    old_rows: Sequence[Resource],
    successors: Mapping[str, Resource],
    dependencies: Mapping[str, tuple[str, ...]],
    failed_ids: Collection[str],
) -> None:
    tx.jobs.apply_each(
        {
            old.id: (
                job_transitions.replace_with_successor(),
                {
                    "desired": DesiredState.ABSENT,
                    "status": Status.FAILED if old.id in failed_ids else Status.COMPLETE,
                    "replaced_by": successors[old.id].id,
                    "physical_dependencies": dependencies[old.id],
                },
            )
            for old in old_rows
        }
    )


def _save_failed(
    tx: Transaction,
    old_rows: Sequence[Resource],
    successors: Mapping[str, Resource],
    dependencies: Mapping[str, tuple[str, ...]],
    timing: tuple[Mapping[str, int], TraversalContext],
) -> None:
    """Let failed rows be deleted after a pause, whatever their deletion policy.

    What was never ready has nothing to retain or to save.

    Args:
        tx: the transaction.
        old_rows: the rows.
        successors: id of an old row → its successor.
        dependencies: id of an old row → ids of rows that it may use.
        timing: id of an old row → tries so far, and the context with the time.
    """
    tries, context = timing
    changes = {}
    for old in old_rows:
        pause_s = context.settings.backoff_s(max(tries.get(old.id, 0) - 1, 0))
        changes[old.id] = (
            job_transitions.remove_failed(context.now + timedelta(seconds=pause_s), context.now),
            {
                "desired": DesiredState.ABSENT,
                "status": Status.FAILED,
                "status_reason": old.state.reason,
                "replaced_by": successors[old.id].id,
                "physical_dependencies": dependencies[old.id],
                "definition": {**old.desired.definition, "deletion_policy": "Delete"},
            },
        )
    tx.jobs.apply_each(changes)


def _make_successor(
    stack: Stack, old: Resource, context: TraversalContext, *, blocked: bool
) -> Resource:
    identifier = context.ids()
    identity = replace(
        old.identity,
        id=identifier,
        physical_name=physical_name(stack.name, old.name, identifier),
        created_at=context.now,
        replaces=old.id,
        replaced_by=None,
    )
    desired = replace(old.desired, state=DesiredState.PRESENT)
    job_state = JobState.BLOCKED if blocked else JobState.QUEUED
    start = format_mark(MarkType.UNBLOCKED, context.now, old.id)
    job = ResourceJob(
        stack.version,
        old.job.verb,
        job_state,
        hook=old.job.hook,
        timeline=None if blocked else start,
    )
    return Resource(
        identity, desired, job, state=ActionState(reason=old.state.reason if blocked else "")
    )


def _find_deletion_order(
    tx: Transaction, old_rows: Sequence[Resource], edges: Sequence[Edge]
) -> frozenset[EdgePair]:
    """Return the edges from replaced rows to deletions of rows that they used.

    These wait for the deletion of the replaced row itself (RULE 5), all others for its
    successor.
    """
    used = {old.id: frozenset(old.physical.dependencies) for old in old_rows}
    candidates = [
        edge for edge in edges if edge.needed_by in used.get(edge.resource_id, frozenset())
    ]
    rows = tx.resources.get({edge.needed_by for edge in candidates if edge.needed_by is not None})
    deleted = {row.id for row in rows if row.desired.state is DesiredState.ABSENT}
    return frozenset(
        (edge.resource_id, edge.needed_by) for edge in candidates if edge.needed_by in deleted
    )


def _rewire(
    edges: Sequence[Edge],
    successors: Mapping[str, Resource],
    kept: frozenset[EdgePair],
    deleted_first: frozenset[str],
) -> tuple[list[Edge], set[EdgePair]]:
    """Return the edges to drop, and the pairs to add, around the replaced rows."""
    dropped: list[Edge] = []
    added: set[EdgePair] = {
        (old_id, new.id) if old_id in deleted_first else (new.id, old_id)
        for old_id, new in successors.items()
    }
    for edge in edges:
        required, user = edge.resource_id, edge.needed_by
        if user is not None and user in successors:
            # The successor needs what the old row needed.
            dropped.append(edge)
            added.add((required, successors[user].id))
        elif required in successors and (required, user) not in kept:
            # What waited for the old row waits for its successor.
            dropped.append(edge)
            if user is not None:
                added.add((successors[required].id, user))
    return dropped, added


def _find_users(tx: Transaction, stack: Stack, old_rows: Sequence[Resource]) -> set[EdgePair]:
    """Return pairs by which old rows wait for all rows that may still use them (RULE 5)."""
    old_ids = {old.id for old in old_rows}
    return {
        (row.id, used)
        for row in tx.graph.find_physical_dependents(stack.id, sorted(old_ids))
        for used in row.physical.dependencies
        if used in old_ids
    }


def _add_edges(
    tx: Transaction, stack: Stack, successors: Mapping[str, Resource], rewiring: _Rewiring
) -> None:
    """Add the pairs, each as ready as its first end.

    Of a row and its successor, the one that nothing awaits until it is done gets a row of
    its own.  Tries go over to the successor, so that they are bounded.
    """
    early = _rewire_levels(rewiring.edges, successors)
    kept = (edge for edge in rewiring.edges if edge not in rewiring.dropped)
    needed = {edge.resource_id for edge in kept if edge.level is None}
    needed |= {pair[0] for pair in rewiring.added if pair not in early}
    last = {
        new.id if old_id in rewiring.deleted_first else old_id
        for old_id, new in successors.items()
    }
    unneeded = {(row_id, None) for row_id in last - needed}
    pairs: set[EdgePair] = {*rewiring.added, *unneeded}
    stored = {required for required, _user in pairs}
    stored -= {*successors, *(new.id for new in successors.values())}  # about to run
    ready = stored - tx.readiness.find_unready(stack.version, stored)
    ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1] or ""))
    counts = rewiring.retry_counts
    tx.graph.add_edges(
        stack.id,
        stack.version,
        [
            replace(
                early.get((required, user), Edge(required, user, required in ready)),
                retry_count=counts.get(required, 0),
            )
            for required, user in ordered
        ],
    )


def _rewire_levels(
    edges: Sequence[Edge], successors: Mapping[str, Resource]
) -> dict[EdgePair, Edge]:
    """Return, by their new ends, the edges that wait for a level.

    What an old row has reached its successor has not.
    """
    found: dict[EdgePair, Edge] = {}
    for edge in edges:
        required, user = edge.resource_id, edge.needed_by
        if edge.level is None or user is None:
            continue
        ready = edge.observed_ready and required not in successors
        ends = [successors[each].id if each in successors else each for each in (required, user)]
        found[ends[0], ends[1]] = Edge(ends[0], ends[1], ready, level=edge.level)
    return found
