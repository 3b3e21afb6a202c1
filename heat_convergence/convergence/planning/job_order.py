"""The order of a traversal's jobs, and what physical resources still use.

Called by ``plan``.  Must not decide what a row is to become.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.job_transitions import plan_blocked, plan_queued
from heat_convergence.convergence.model.resource import RELEASES_EARLY, Resource
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.graph.graph import Graph
from heat_convergence.template.environment.readiness import ReadinessLevel

NO_LEVELS: Mapping[tuple[str, str], ReadinessLevel] = {}
EdgePair = tuple[str, str]  # the id that must be ready, the id that starts then
_WAITING = frozenset({JobState.BLOCKED, JobState.QUEUED})


def physical_dependencies_of(
    row: Resource, current_ids: Mapping[str, str], unattempted: Collection[str]
) -> tuple[str, ...]:
    """Return the ids of the rows that the row's physical resource may use (RULE 5).

    A definition that was applied, or tried, uses the rows that serve its requirements;
    those that it used before stay in use until it was applied.  So there are no cycles:
    a row that was tried had its requirements ready, and a ready row uses only the
    requirements of its definition, which have no cycle; one that was tried before that had
    requirements that use nothing of it (``without_reversals``).

    Args:
        row: the row before the plan.
        current_ids: name → the row that served it in the last traversal.
        unattempted: ids of rows whose job of the last traversal never started.
    """
    if row.desired.state is DesiredState.ABSENT:
        return row.physical.dependencies
    uses = {current_ids[name] for name in row.desired.requires if name in current_ids}
    if row.job.verb is None:
        return (
            tuple(sorted(uses))
            if row.physical.applied_hash == row.desired.definition_hash
            else row.physical.dependencies
        )
    waiting = row.job.state in _WAITING or row.id in unattempted
    if row.job.verb is Verb.ADOPT or (row.job.verb is Verb.CONVERGE and not waiting):
        return tuple(sorted(uses.union(row.physical.dependencies)))
    return row.physical.dependencies


def traversal_edges(
    present: Mapping[str, Resource],
    absent: Sequence[Resource],
    requires: Mapping[str, Collection[str]],
) -> set[EdgePair]:
    """Return all edges of a traversal to a goal; ``present`` and ``requires`` are by name."""
    edges = requirement_edges({name: row.id for name, row in present.items()}, requires)
    deleted_ids = {row.id for row in absent}
    namesakes: dict[str, list[str]] = {}
    for row in absent:
        namesakes.setdefault(row.name, []).append(row.id)
    for row in present.values():
        # A replacement is ready before the replaced incarnation is deleted.
        if row.job.verb is not None:
            edges.update((row.id, old) for old in namesakes.get(row.name, ()))
    for row in (*present.values(), *absent):
        # RULE 5: a row is deleted after all that used it were updated or deleted.
        if row.job.verb is not None:
            edges.update(
                (row.id, used) for used in row.physical.dependencies if used in deleted_ids
            )
    return edges


def requirement_edges(
    row_ids: Mapping[str, str], requires: Mapping[str, Collection[str]]
) -> set[EdgePair]:
    """Return the edges of a goal's requirements.

    Args:
        row_ids: name → id of the row that serves it.
        requires: name → names of what the goal requires for it.
    """
    return {
        (row_ids[need], row_ids[name])
        for name, needed in requires.items()
        for need in needed
        if need in row_ids
    }


def requirement_levels(
    row_ids: Mapping[str, str], levels: Mapping[str, Mapping[str, ReadinessLevel]]
) -> dict[EdgePair, ReadinessLevel]:
    """Return the levels of a goal's edges whose dependents start before the first is done.

    Args:
        row_ids: name → id of the row that serves it.
        levels: name → name of what it requires → the level that it waits for.
    """
    return {
        (row_ids[need], row_ids[name]): level
        for name, needed in levels.items()
        for need, level in needed.items()
        if need in row_ids
    }


def without_reversals(
    levels: Mapping[EdgePair, ReadinessLevel],
    rows: Sequence[Resource],
    requires: Mapping[str, Collection[str]],
) -> dict[EdgePair, ReadinessLevel]:
    """Return the levels of dependents that nothing they require may use any more.

    Where the goal reverses a dependency, the new requirement uses its dependent until it is
    updated. If the dependent started before that, each could use the other, and none of the two
    could be deleted first (RULE 5). What depends on the two waits, too.

    Args:
        levels: the levels.
        rows: all rows of the traversal, with what their physical resources use.
        requires: name → names of what the goal requires for it.
    """
    if not any(row.physical.dependencies for row in rows):  # as in each new stack
        return dict(levels)
    names = {row.id: row.name for row in rows}
    used = {name: set(needed) for name, needed in requires.items()}
    for row in rows:
        found = (names[each] for each in row.physical.dependencies if each in names)
        used.setdefault(row.name, set()).update(found)
    settled = set(Graph.from_requirements(used).topological_order())
    return {pair: level for pair, level in levels.items() if names[pair[1]] in settled}


def mark_early(
    present: Mapping[str, Resource], levels: Mapping[EdgePair, ReadinessLevel]
) -> dict[str, Resource]:
    """Mark the rows with a job that others start before it is done, so that it is looked for."""
    early = {first for first, _then in levels}
    return {
        name: as_early(row) if row.id in early and row.job.verb is not None else row
        for name, row in present.items()
    }


def as_early(row: Resource) -> Resource:
    """Return the row of a job before whose end others start."""
    words = (*row.desired.hooks_and_restrictions, RELEASES_EARLY)
    return with_columns(row, hooks_and_restrictions=words)


def set_job_states(rows: list[Resource], edges: set[EdgePair]) -> None:
    """Set the states of the list's jobs: QUEUED if nothing unready stands before, else BLOCKED.

    Rows are replaced one by one, so that a large goal does not have each of them twice.
    """
    unready = {row.id for row in rows if row.job.verb is not None}
    blocked = {then for first, then in edges if first in unready}
    for place, row in enumerate(rows):
        if row.job.verb is not None:
            transition = plan_blocked() if row.id in blocked else plan_queued()
            rows[place] = transition.apply_to(row)


def to_graph_rows(
    edges: set[EdgePair],
    nodes: Iterable[str],
    ready: Collection[str],
    levels: Mapping[EdgePair, ReadinessLevel] = NO_LEVELS,
) -> Iterator[Edge]:
    """Yield the graph's rows: all edges, and one row for each node that nothing else awaits.

    Args:
        edges: the pairs.
        nodes: the ids of all rows.
        ready: the ids of the rows that are ready.
        levels: the levels of pairs whose second starts before the first is done.
    """
    needed = {first for first, then in edges if (first, then) not in levels}
    for first, then in sorted(edges):
        yield Edge(first, then, first in ready, level=levels.get((first, then)))
    for node in sorted(nodes):
        if node not in needed:
            yield Edge(node, None, node in ready)
