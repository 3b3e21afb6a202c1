"""Replacement found out while a traversal runs: the graph is bent round.

The new incarnation takes the old one's place; the old one is deleted after the
new is ready and all that used the old has moved on (RULE 5).  Called by
``advance`` under the stack's lock.  Cost follows the degree of what is replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from heat_convergence.convergence.model import (
    Action,
    Desired,
    Edge,
    JobState,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.plan import physical_name
from heat_convergence.convergence.ports import Transaction
from heat_convergence.convergence.traversal import Means
from heat_convergence.graph.graph import Graph

Pair = tuple[str, str | None]  # what must be ready, what it lets start


def replace(
    tx: Transaction,
    stack: Stack,
    rows: Sequence[Resource],
    broken: Collection[str],
    means: Means,
) -> list[str]:
    """Gives each of ``rows`` a successor, QUEUED, and makes it a deletion.  No goal
    takes up again those whose ids are among the ``broken``.  The deletions that
    nothing holds up any more are returned."""
    if not rows:
        return []
    old_rows = tx.get_resources([row.id for row in rows])
    successors = {old.id: _successor(stack, old, means) for old in old_rows}
    tx.insert_resources(list(successors.values()))
    edges = tx.edges_at(stack.id, stack.version, list(successors))
    tries = tx.retry_counts(stack.version, list(successors))
    inherited = {successors[old_id].id: number for old_id, number in tries.items()}
    dropped, added = _bend(edges, successors, _deletions(tx, edges, successors))
    held, leaving = _held(tx, stack, successors)
    added |= held
    tx.drop_edges(stack.id, stack.version, dropped)
    loose: set[Pair] = set()
    if leaving:
        # Deletions let nothing but deletions start: without one there is no ring, and
        # no need to read the whole graph.
        there = {
            (edge.resource_id, edge.needed_by)
            for edge in tx.unready_edges(stack.id, stack.version)
        }
        cut = _rings_cut(there | added)
        loose = there & cut
        added -= cut
        added |= _last_rows(tx, stack, loose, (there | added) - cut)
    _add(tx, stack, edges, dropped, added, successors, inherited)
    tx.drop_edges(stack.id, stack.version, [Edge(need, then) for need, then in loose])
    _save(tx, old_rows, successors, broken)
    freed = {then for _need, then in loose if then is not None}
    return sorted(freed - tx.unready_needs(stack.version, freed))


def _save(
    tx: Transaction,
    old_rows: Sequence[Resource],
    successors: Mapping[str, Resource],
    broken: Collection[str],
) -> None:
    tx.save_resources(
        {
            old.id: {
                "desired": Desired.ABSENT,
                "job_state": JobState.BLOCKED,
                "status": Status.FAILED if old.id in broken else Status.COMPLETE,
                "replaced_by": successors[old.id].id,
                "held_requires": tuple(sorted({*old.held_requires, *old.requires})),
                "observed": None,
                "observe_at": None,
            }
            for old in old_rows
        }
    )


def _successor(stack: Stack, old: Resource, means: Means) -> Resource:
    identifier = means.ids()
    return Resource(
        id=identifier,
        stack_id=old.stack_id,
        name=old.name,
        type=old.type,
        implementation=old.implementation,
        version=stack.version,
        desired=Desired.PRESENT,
        definition=old.definition,
        definition_hash=old.definition_hash,
        physical_name=physical_name(stack.name, old.name, identifier),
        created_at=means.now,
        requires=old.requires,
        draws_on=old.draws_on,
        held_requires=old.requires,
        sensitive=old.sensitive,
        job=old.job,
        job_state=JobState.QUEUED,
        action=Action.INIT,
        replaces=old.id,
        project_id=old.project_id,
        root_id=old.root_id,
        guards=old.guards,
        hook=old.hook,
    )


def _deletions(
    tx: Transaction, edges: Sequence[Edge], successors: Mapping[str, Resource]
) -> frozenset[str]:
    """Which of those that wait for what is replaced are deletions."""
    waiting = {edge.needed_by for edge in edges if edge.resource_id in successors}
    rows = tx.get_resources([row_id for row_id in waiting if row_id is not None])
    return frozenset(row.id for row in rows if row.desired is Desired.ABSENT)


def _bend(
    edges: Sequence[Edge],
    successors: Mapping[str, Resource],
    deletions: frozenset[str],
) -> tuple[list[Edge], set[Pair]]:
    """Edges to drop, and pairs to add, around the replaced nodes."""
    dropped: list[Edge] = []
    added: set[Pair] = {(new.id, old_id) for old_id, new in successors.items()}
    for edge in edges:
        need, then = edge.resource_id, edge.needed_by
        if then is not None and then in successors:
            # What the old one needed, its successor needs.
            dropped.append(edge)
            added.add((need, successors[then].id))
        elif need in successors and then not in deletions:
            # Who waited for the old one waits for the new.
            dropped.append(edge)
            if then is not None:
                added.add((successors[need].id, then))
    return dropped, added


def _held(
    tx: Transaction, stack: Stack, successors: Mapping[str, Resource]
) -> tuple[set[Pair], bool]:
    """RULE 5: the old one waits for all whose reality may still use it, whether the
    goal wants them changed or gone; and whether it wants any of them gone."""
    by_name = {new.name: old_id for old_id, new in successors.items()}
    holders = tx.holding(stack.id, list(by_name))
    pairs: set[Pair] = {
        (row.id, by_name[name])
        for row in holders
        for name in row.held_requires
        if name in by_name and by_name[name] != row.id
    }
    # Those that are replaced now become deletions, too.
    gone = {row.id for row in holders if row.desired is Desired.ABSENT or row.id in successors}
    return pairs, not gone.isdisjoint(holder for holder, _old in pairs)


def _rings_cut(pairs: set[Pair]) -> set[Pair]:
    """What has to go for ``pairs`` to be without rings.  They are deletions all round,
    and as in the plan it is the older that can't use the newer: names stand for
    several incarnations."""
    cut: set[Pair] = set()
    while True:
        needs: dict[str, set[str]] = {}
        for need, then in pairs - cut:
            if then is not None:
                needs.setdefault(then, set()).add(need)
        ring = Graph.from_requirements(needs).cycle()
        if ring is None:
            return cut
        members = {*ring}
        cut |= {
            (need, then)
            for need, then in pairs
            if then is not None and need < then and members.issuperset((need, then))
        }


def _last_rows(
    tx: Transaction, stack: Stack, loose: set[Pair], left: set[Pair]
) -> set[Pair]:
    """A row for each node that nothing needs any more."""
    needed = {need for need, _then in left}
    lost = {need for need, _then in loose} - needed
    known = {
        edge.resource_id
        for edge in tx.edges_at(stack.id, stack.version, sorted(lost))
        if edge.needed_by is None
    }
    return {(need, None) for need in lost - known}


def _add(
    tx: Transaction,
    stack: Stack,
    edges: Sequence[Edge],
    dropped: Sequence[Edge],
    added: set[Pair],
    successors: Mapping[str, Resource],
    tries: Mapping[str, int],
) -> None:
    """Writes the pairs, each as ready as its first end, and a row for each replaced
    node that nothing needs.  Tries go over to the successor: there is an end to them."""
    needed = {edge.resource_id for edge in edges if edge not in dropped}
    needed |= {need for need, _then in added}
    pairs: set[Pair] = added | {(old_id, None) for old_id in successors if old_id not in needed}
    known = {need for need, _then in pairs}
    known -= {*successors, *(new.id for new in successors.values())}  # about to run
    ready = known - tx.unready(stack.version, known)
    ordered = sorted(pairs, key=lambda pair: (pair[0], pair[1] or ""))
    tx.add_edges(
        stack.id,
        stack.version,
        [Edge(need, then, need in ready, tries.get(need, 0)) for need, then in ordered],
    )
