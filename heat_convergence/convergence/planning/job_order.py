"""Which job of a traversal goes before which, and what reality still uses.

Called by ``plan``.  Knows rows and names; decides nothing about what a row is to become.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource

EdgePair = tuple[str, str]  # what must be ready, what it lets start
_WAITING = frozenset({JobState.BLOCKED, JobState.QUEUED})


def physical_dependencies_of(
    row: Resource, current_ids: Mapping[str, str], unattempted: Collection[str]
) -> tuple[str, ...]:
    """Ids of the rows that reality behind this one may use (RULE 5).

    ``current_ids`` has, by name, the row that served the last traversal.  A definition that
    was applied, or tried, uses those that serve what it requires; what it used before
    goes on until it was applied.  ``unattempted`` are rows whose job never came to its turn.

    So there are no rings: whoever was tried had what it needs ready, and what is ready
    uses just what its definition says, which has none.
    """
    if row.desired is DesiredState.ABSENT:
        return row.physical_dependencies
    uses = {current_ids[name] for name in row.requires if name in current_ids}
    if row.job is None:
        return (
            tuple(sorted(uses))
            if row.applied_hash == row.definition_hash
            else row.physical_dependencies
        )
    waiting = row.job_state in _WAITING or row.id in unattempted
    if row.job is Verb.ADOPT or (row.job is Verb.CONVERGE and not waiting):
        return tuple(sorted(uses.union(row.physical_dependencies)))
    return row.physical_dependencies


def traversal_edges(
    present: Mapping[str, Resource],
    absent: Sequence[Resource],
    requires: Mapping[str, Collection[str]],
) -> set[EdgePair]:
    """All edges of a traversal to a goal; ``present`` and ``requires`` are by name."""
    edges = {
        (present[need].id, row.id)
        for name, row in present.items()
        for need in requires[name]
        if need in present
    }
    leaving = {row.id for row in absent}
    namesakes: dict[str, list[str]] = {}
    for row in absent:
        namesakes.setdefault(row.name, []).append(row.id)
    for row in present.values():
        # What replaces it is there before it goes.
        if row.job is not None:
            edges.update((row.id, old) for old in namesakes.get(row.name, ()))
    for row in (*present.values(), *absent):
        # RULE 5: deleted only after all that used it was updated or deleted.
        if row.job is not None:
            edges.update((row.id, used) for used in row.physical_dependencies if used in leaving)
    return edges


def with_job_states(rows: Sequence[Resource], edges: set[EdgePair]) -> list[Resource]:
    """QUEUED where nothing unready stands before a job, else BLOCKED."""
    unready = {row.id for row in rows if row.job is not None}
    blocked = {then for first, then in edges if first in unready}
    return [
        row
        if row.job is None
        else replace(row, job_state=JobState.BLOCKED if row.id in blocked else JobState.QUEUED)
        for row in rows
    ]


def to_graph_rows(
    edges: set[EdgePair], nodes: Sequence[str], ready: Collection[str]
) -> tuple[Edge, ...]:
    """The graph as rows: every edge, and a row for each node that nothing needs."""
    needed = {first for first, _then in edges}
    rows = [Edge(first, then, first in ready) for first, then in sorted(edges)]
    rows.extend(Edge(node, None, node in ready) for node in sorted(nodes) if node not in needed)
    return tuple(rows)
