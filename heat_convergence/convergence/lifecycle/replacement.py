"""Replacement of resources while a traversal runs: the graph is rewired.

The new incarnation takes the old one's place; the old one is deleted after the new one
is ready and everything that used the old one has been updated (RULE 5).  Called by
``progress`` under the stack's lock.  Cost follows the degree of what is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from heat_convergence.convergence.lifecycle.context import Report, TraversalContext
from heat_convergence.convergence.model import job_transitions
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import physical_name
from heat_convergence.convergence.ports.store import Transaction

EdgePair = tuple[str, str | None]  # the id that must be ready, the id that starts then


@dataclass(frozen=True, slots=True)
class _Rewiring:
    """Edges around replaced rows: those there were, those to drop and those to add."""

    edges: Sequence[Edge]
    dropped: Sequence[Edge]
    added: frozenset[EdgePair]
    retry_counts: Mapping[str, int]  # successor's id → tries


def replace_resources(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    failed_ids: Collection[str],
    context: TraversalContext,
) -> None:
    """Give each row a successor, QUEUED, and make the row a deletion.

    Args:
        tx: the transaction.
        stack: the stack, locked.
        rows: the rows to replace.
        failed_ids: those of them that no later goal uses again.
        context: the time and the ids.
    """
    if not rows:
        return
    old_rows = tx.resources.get([row.id for row in rows])
    successors = {old.id: _make_successor(stack, old, context) for old in old_rows}
    tx.resources.insert(list(successors.values()))
    for old in old_rows:
        context.report(Report(old, "resource replaced", old.action, old.status_reason))
    edges = tx.graph.get_edges_at(stack.id, stack.version, list(successors))
    tries = tx.graph.get_retry_counts(stack.version, list(successors))
    kept = _find_deletion_order(tx, old_rows, edges)
    dropped, added = _rewire(edges, successors, kept)
    added |= _find_users(tx, stack, successors)
    tx.graph.delete_edges(stack.id, stack.version, dropped)
    retry_counts = {successors[old_id].id: count for old_id, count in tries.items()}
    _add_edges(tx, stack, successors, _Rewiring(edges, dropped, frozenset(added), retry_counts))
    dependencies = _save_dependencies(tx, stack, old_rows, edges)
    _save_old_rows(tx, old_rows, successors, dependencies, failed_ids)


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
        old.id: requirements.get(old.id, set()).difference(old.physical_dependencies)
        for old in old_rows
    }
    tx.graph.add_physical_dependencies(
        stack.id, [(user, used) for user, ids in new.items() for used in ids]
    )
    return {
        old.id: tuple(sorted(new[old.id].union(old.physical_dependencies))) for old in old_rows
    }


def _save_old_rows(
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


def _make_successor(stack: Stack, old: Resource, context: TraversalContext) -> Resource:
    identifier = context.ids()
    return Resource(
        id=identifier,
        stack_id=old.stack_id,
        name=old.name,
        type=old.type,
        implementation=old.implementation,
        version=stack.version,
        desired=DesiredState.PRESENT,
        definition=old.definition,
        definition_hash=old.definition_hash,
        physical_name=physical_name(stack.name, old.name, identifier),
        created_at=context.now,
        requires=old.requires,
        referenced_names=old.referenced_names,
        sensitive=old.sensitive,
        job=old.job,
        job_state=JobState.QUEUED,
        action=Action.INIT,
        replaces=old.id,
        project_id=old.project_id,
        root_id=old.root_id,
        hooks_and_restrictions=old.hooks_and_restrictions,
        hook=old.hook,
    )


def _find_deletion_order(
    tx: Transaction, old_rows: Sequence[Resource], edges: Sequence[Edge]
) -> frozenset[EdgePair]:
    """Return the edges from replaced rows to deletions of rows that they used.

    These wait for the deletion of the replaced row itself (RULE 5), all others for its
    successor.
    """
    used = {old.id: frozenset(old.physical_dependencies) for old in old_rows}
    candidates = [
        edge for edge in edges if edge.needed_by in used.get(edge.resource_id, frozenset())
    ]
    rows = tx.resources.get({edge.needed_by for edge in candidates if edge.needed_by is not None})
    deleted = {row.id for row in rows if row.desired is DesiredState.ABSENT}
    return frozenset(
        (edge.resource_id, edge.needed_by) for edge in candidates if edge.needed_by in deleted
    )


def _rewire(
    edges: Sequence[Edge], successors: Mapping[str, Resource], kept: frozenset[EdgePair]
) -> tuple[list[Edge], set[EdgePair]]:
    """Return the edges to drop, and the pairs to add, around the replaced rows."""
    dropped: list[Edge] = []
    added: set[EdgePair] = {(new.id, old_id) for old_id, new in successors.items()}
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


def _find_users(
    tx: Transaction, stack: Stack, successors: Mapping[str, Resource]
) -> set[EdgePair]:
    """Return pairs by which old rows wait for all rows that may still use them (RULE 5)."""
    return {
        (row.id, used)
        for row in tx.graph.find_physical_dependents(stack.id, list(successors))
        for used in row.physical_dependencies
        if used in successors
    }


def _add_edges(
    tx: Transaction, stack: Stack, successors: Mapping[str, Resource], rewiring: _Rewiring
) -> None:
    """Add the pairs, each as ready as its first end.

    A replaced row that nothing needs gets a row of its own.  Tries go over to the
    successor, so that they are bounded.
    """
    needed = {edge.resource_id for edge in rewiring.edges if edge not in rewiring.dropped}
    needed |= {required for required, _user in rewiring.added}
    unneeded = {(old_id, None) for old_id in successors if old_id not in needed}
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
            Edge(required, user, required in ready, counts.get(required, 0))
            for required, user in ordered
        ],
    )
