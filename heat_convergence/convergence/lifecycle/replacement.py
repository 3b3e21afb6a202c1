"""Replacement found out while a traversal runs: the graph is bent round.

The new incarnation takes the old one's place; the old one is deleted after the
new is ready and all that used the old has moved on (RULE 5).  Called by
``advance`` under the stack's lock.  Cost follows the degree of what is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from heat_convergence.convergence.lifecycle.traversal import TraversalContext
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.incarnations import physical_name
from heat_convergence.convergence.ports.store import Transaction

EdgePair = tuple[str, str | None]  # what must be ready, what it lets start


def replace_resources(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    failed_ids: Collection[str],
    context: TraversalContext,
) -> None:
    """Gives each of ``rows`` a successor, QUEUED, and makes it a deletion.  No goal
    takes up again those whose ids are among the ``broken``."""
    if not rows:
        return
    old_rows = tx.resources.get([row.id for row in rows])
    successors = {old.id: _successor(stack, old, context) for old in old_rows}
    tx.resources.insert(list(successors.values()))
    edges = tx.graph.get_edges_at(stack.id, stack.version, list(successors))
    tries = tx.graph.get_retry_counts(stack.version, list(successors))
    inherited = {successors[old_id].id: number for old_id, number in tries.items()}
    dropped, added = _bend(edges, successors, _holding(tx, old_rows, edges))
    added |= _held(tx, stack, successors)
    tx.graph.delete_edges(stack.id, stack.version, dropped)
    _add(tx, stack, edges, dropped, added, successors, inherited)
    _save(tx, stack, old_rows, edges, successors, failed_ids)


def _save(
    tx: Transaction,
    stack: Stack,
    old_rows: Sequence[Resource],
    edges: Sequence[Edge],
    successors: Mapping[str, Resource],
    broken: Collection[str],
) -> None:
    """RULE 5: what was tried may use all that it needed, beside what it used before."""
    needs: dict[str | None, set[str]] = {}
    for edge in edges:
        needs.setdefault(edge.needed_by, set()).add(edge.resource_id)
    more = {
        old.id: needs.get(old.id, set()).difference(old.physical_dependencies) for old in old_rows
    }
    tx.graph.add_physical_dependencies(
        stack.id, [(holder, used) for holder, new in more.items() for used in new]
    )
    tx.resources.update_each(
        {
            old.id: {
                "desired": DesiredState.ABSENT,
                "job_state": JobState.BLOCKED,
                "status": Status.FAILED if old.id in broken else Status.COMPLETE,
                "replaced_by": successors[old.id].id,
                "physical_dependencies": tuple(
                    sorted(more[old.id].union(old.physical_dependencies))
                ),
                "observed": None,
                "observe_at": None,
            }
            for old in old_rows
        }
    )


def _successor(stack: Stack, old: Resource, means: TraversalContext) -> Resource:
    identifier = means.ids()
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
        created_at=means.now,
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


def _holding(
    tx: Transaction, old_rows: Sequence[Resource], edges: Sequence[Edge]
) -> frozenset[EdgePair]:
    """Of the edges out of what is replaced, those to deletions of what it used: they wait
    for its own deletion (RULE 5), all others for its successor."""
    holds = {old.id: frozenset(old.physical_dependencies) for old in old_rows}
    used = [edge for edge in edges if edge.needed_by in holds.get(edge.resource_id, frozenset())]
    rows = tx.resources.get({edge.needed_by for edge in used if edge.needed_by is not None})
    leaving = {row.id for row in rows if row.desired is DesiredState.ABSENT}
    return frozenset(
        (edge.resource_id, edge.needed_by) for edge in used if edge.needed_by in leaving
    )


def _bend(
    edges: Sequence[Edge],
    successors: Mapping[str, Resource],
    held: frozenset[EdgePair],
) -> tuple[list[Edge], set[EdgePair]]:
    """Edges to drop, and pairs to add, around the replaced nodes."""
    dropped: list[Edge] = []
    added: set[EdgePair] = {(new.id, old_id) for old_id, new in successors.items()}
    for edge in edges:
        need, then = edge.resource_id, edge.needed_by
        if then is not None and then in successors:
            # What the old one needed, its successor needs.
            dropped.append(edge)
            added.add((need, successors[then].id))
        elif need in successors and (need, then) not in held:
            # Who waited for the old one waits for the new.
            dropped.append(edge)
            if then is not None:
                added.add((successors[need].id, then))
    return dropped, added


def _held(tx: Transaction, stack: Stack, successors: Mapping[str, Resource]) -> set[EdgePair]:
    """RULE 5: the old one waits for all whose reality may still use it, whether the
    goal wants them changed or gone."""
    return {
        (row.id, used)
        for row in tx.graph.find_physical_dependents(stack.id, list(successors))
        for used in row.physical_dependencies
        if used in successors
    }


def _add(
    tx: Transaction,
    stack: Stack,
    edges: Sequence[Edge],
    dropped: Sequence[Edge],
    added: set[EdgePair],
    successors: Mapping[str, Resource],
    tries: Mapping[str, int],
) -> None:
    """Writes the pairs, each as ready as its first end, and a row for each replaced
    node that nothing needs.  Tries go over to the successor: there is an end to them."""
    needed = {edge.resource_id for edge in edges if edge not in dropped}
    needed |= {need for need, _then in added}
    pairs: set[EdgePair] = added | {
        (old_id, None) for old_id in successors if old_id not in needed
    }
    known = {need for need, _then in pairs}
    known -= {*successors, *(new.id for new in successors.values())}  # about to run
    ready = known - tx.readiness.find_unready(stack.version, known)
    ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1] or ""))
    tx.graph.add_edges(
        stack.id,
        stack.version,
        [Edge(need, then, need in ready, tries.get(need, 0)) for need, then in ordered],
    )
