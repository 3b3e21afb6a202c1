"""Which resources require another one.

Called by the views of resources.  Reads by the graph of the last traversal, which names every
resource of the goal, so that the cost follows the number of dependents; a stack without one, as an
imported one has none, is searched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.db.column_types import dump_json
from heat_convergence.db.tables import resource, resource_graph

ResourcePlace = tuple[str, str]  # the id of a stack and the name of a resource
_REQUIRED, _DEPENDENT = resource.alias("required"), resource.alias("dependent")


def list_requiring(conn: Connection, stack_id: str, name: str) -> list[str]:
    """Return names of the desired resources that require ``name``."""
    return list_requiring_any(conn, [stack_id], [name]).get((stack_id, name), [])


def list_requiring_any(
    conn: Connection, stack_ids: Collection[str], names: Collection[str]
) -> dict[ResourcePlace, list[str]]:
    """Return names of the desired resources that require one of ``names``, by stack and name."""
    pairs: set[tuple[ResourcePlace, str]] = set()
    for row in conn.execute(_by_graph(), {"stacks": sorted(stack_ids), "names": sorted(names)}):
        if row.edge is None:
            return _group(_search(conn, stack_ids, names))
        if isinstance(row.requires, tuple) and row.required in row.requires:
            pairs.add(((row.stack_id, row.required), row.name))
    return _group(pairs)


@cache
def _by_graph() -> sa.CompoundSelect[Any]:
    """Build the query of what has an edge with one of the resources, in either direction.

    A resource without any edge gives a row without one: the graph says nothing about it.
    Parameters are ``stacks``, their ids, and ``names``.
    """
    graph = resource_graph.c
    columns = (
        _REQUIRED.c.stack_id,
        _REQUIRED.c.name.label("required"),
        graph.resource_id.label("edge"),
        _DEPENDENT.c.name,
        _DEPENDENT.c.requires,
    )
    named = sa.and_(
        _REQUIRED.c.stack_id.in_(sa.bindparam("stacks", expanding=True)),
        _REQUIRED.c.name.in_(sa.bindparam("names", expanding=True)),
    )

    def ends(of_required: Any, of_other: Any, *, outer: bool) -> sa.Select[Any]:
        other = sa.and_(_DEPENDENT.c.id == of_other, _DEPENDENT.c.desired == DesiredState.PRESENT)
        joined = _REQUIRED.join(resource_graph, of_required == _REQUIRED.c.id, isouter=outer)
        found = sa.select(*columns).select_from(joined.join(_DEPENDENT, other, isouter=outer))
        return found.where(named)

    return sa.union_all(
        ends(graph.resource_id, graph.needed_by, outer=True),
        ends(graph.needed_by, graph.resource_id, outer=False),  # of deletions and suspensions
    )


def _search(
    conn: Connection, stack_ids: Collection[str], names: Collection[str]
) -> set[tuple[ResourcePlace, str]]:
    """Return what requires one of the names, of all resources of the stacks.

    The database leaves out those whose requirements do not contain the text of any name, which
    are nearly all of a large stack; texts that differ in case are left to the exact comparison.
    """
    text = sa.type_coerce(resource.c.requires, sa.Text)
    query = sa.select(resource.c.stack_id, resource.c.name, resource.c.requires).where(
        resource.c.stack_id.in_(stack_ids),
        resource.c.desired == DesiredState.PRESENT,
        sa.or_(sa.false(), *(text.contains(dump_json(n), autoescape=True) for n in names)),
    )
    return {
        ((row.stack_id, name), row.name)
        for row in conn.execute(query)
        if isinstance(row.requires, tuple)
        for name in set(row.requires) & set(names)
    }


def _group(pairs: Iterable[tuple[ResourcePlace, str]]) -> dict[ResourcePlace, list[str]]:
    found: dict[ResourcePlace, list[str]] = {}
    for place, name in sorted(pairs):
        found.setdefault(place, []).append(name)
    return found
