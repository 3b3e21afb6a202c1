"""Statements about the resource graph, inside a transaction of ``db.store``.

Written under the lock of the stack alone, so that no two transactions mark
what the other one is asking about.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import JobState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.db.index_hints import force_index, safe_delete
from heat_convergence.db.statements import resources
from heat_convergence.db.tables import physical_dependency, resource, resource_graph

_CHUNK = 2000
# Made once: every new alias has all of its columns built again.
_DONE, _OTHER = resource_graph.alias(), resource_graph.alias()


# What runs for every job is built once: building it takes longer than running it.
_IDS = sa.bindparam("ids", expanding=True)
_VERSION = sa.bindparam("of_version", type_=sa.Integer)
_THESE = sa.and_(resource_graph.c.resource_id.in_(_IDS), resource_graph.c.version == _VERSION)


def _given(version: int, ids: Collection[str]) -> dict[str, Any]:
    return {"of_version": version, "ids": sorted(ids)}


def delete_by_stack(connection: Connection, stack_id: str) -> None:
    for table in (resource_graph, physical_dependency):
        connection.execute(safe_delete(table).where(table.c.stack_id == stack_id))


def add_physical_dependencies(
    connection: Connection, stack_id: str, pairs: Iterable[tuple[str, str]]
) -> None:
    rows = [
        {"stack_id": stack_id, "held_id": held, "holder_id": holder}
        for held, holder in sorted((held, holder) for holder, held in pairs)
    ]
    for at in range(0, len(rows), _CHUNK):
        connection.execute(physical_dependency.insert(), rows[at : at + _CHUNK])


def add_edges(connection: Connection, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
    rows = [
        {
            "resource_id": edge.resource_id,
            "needed_by": edge.needed_by,
            "stack_id": stack_id,
            "version": version,
            "observed_ready": edge.observed_ready,
            "retry_count": edge.retry_count,
        }
        for edge in edges
    ]
    for at in range(0, len(rows), _CHUNK):
        connection.execute(resource_graph.insert(), rows[at : at + _CHUNK])


def delete_edges(
    connection: Connection, stack_id: str, version: int, edges: Iterable[Edge]
) -> None:
    rows = [{"need": edge.resource_id, "then": edge.needed_by} for edge in edges]
    inner = [row for row in rows if row["then"] is not None]
    ends = [row["need"] for row in rows if row["then"] is None]
    this = sa.and_(resource_graph.c.stack_id == stack_id, resource_graph.c.version == version)
    if inner:
        connection.execute(
            safe_delete(resource_graph).where(
                this,
                resource_graph.c.resource_id == sa.bindparam("need"),
                resource_graph.c.needed_by == sa.bindparam("then"),
            ),
            inner,
        )
    if ends:
        connection.execute(
            safe_delete(resource_graph).where(
                this, resource_graph.c.resource_id.in_(ends), resource_graph.c.needed_by.is_(None)
            )
        )


def get_edges_at(
    connection: Connection, stack_id: str, version: int, ids: Collection[str]
) -> list[Edge]:
    wanted = sorted(ids)
    statement = sa.select(
        resource_graph.c.resource_id, resource_graph.c.needed_by, resource_graph.c.observed_ready
    ).where(
        resource_graph.c.stack_id == stack_id,
        resource_graph.c.version == version,
        sa.or_(resource_graph.c.resource_id.in_(wanted), resource_graph.c.needed_by.in_(wanted)),
    )
    return [Edge(*row) for row in connection.execute(statement)]


def get_unready_edges(connection: Connection, stack_id: str, version: int) -> list[Edge]:
    statement = sa.select(resource_graph.c.resource_id, resource_graph.c.needed_by).where(
        resource_graph.c.stack_id == stack_id,
        resource_graph.c.version == version,
        resource_graph.c.needed_by.is_not(None),
        resource_graph.c.observed_ready == sa.false(),
    )
    return [Edge(*row) for row in connection.execute(statement)]


_UNREADY_NEEDS = (
    sa.select(resource_graph.c.needed_by)
    .where(
        resource_graph.c.needed_by.in_(_IDS),
        resource_graph.c.version == _VERSION,
        resource_graph.c.observed_ready == sa.false(),
    )
    .distinct()
)
_UNREADY = (
    sa.select(resource_graph.c.resource_id)
    .where(_THESE, resource_graph.c.observed_ready == sa.false())
    .distinct()
)
_UPDATE = force_index(
    resource_graph.update().where(_THESE),
    resource_graph,
    "uq_resource_graph_resource_id_needed_by_version",
)
_MARK_READY = _UPDATE.values(observed_ready=True)
_COUNT_RETRY = _UPDATE.values(retry_count=resource_graph.c.retry_count + 1)


def find_with_unready_requirements(
    connection: Connection, version: int, ids: Collection[str]
) -> frozenset[str]:
    if not ids:
        return frozenset()
    return frozenset(connection.scalars(_UNREADY_NEEDS, _given(version, ids)))


def find_unready(connection: Connection, version: int, ids: Collection[str]) -> frozenset[str]:
    return frozenset(connection.scalars(_UNREADY, _given(version, ids))) if ids else frozenset()


def mark_ready(connection: Connection, version: int, ids: Collection[str]) -> None:
    if ids:
        connection.execute(_MARK_READY, _given(version, ids))


_FREED = (
    sa.select(*resources.get_narrow_columns())
    .where(
        resource.c.id.in_(
            sa.select(_DONE.c.needed_by).where(
                _DONE.c.resource_id.in_(_IDS),
                _DONE.c.version == _VERSION,
                _DONE.c.needed_by.is_not(None),
            )
        ),
        resource.c.job_state == JobState.BLOCKED,
        ~sa.exists().where(
            _OTHER.c.needed_by == resource.c.id,
            _OTHER.c.version == _VERSION,
            _OTHER.c.observed_ready == sa.false(),
        ),
    )
    .order_by(resource.c.id)
)


def find_unblocked_by(
    connection: Connection, version: int, ids: Collection[str]
) -> list[Resource]:
    if not ids:
        return []
    found = connection.execute(_FREED, _given(version, ids))
    return [resources.from_narrow_row(row) for row in found]


def find_wrongly_blocked(connection: Connection, stack_id: str, version: int) -> list[str]:
    waits = sa.exists().where(
        resource_graph.c.needed_by == resource.c.id,
        resource_graph.c.version == version,
        resource_graph.c.observed_ready == sa.false(),
    )
    statement = sa.select(resource.c.id).where(
        resource.c.stack_id == stack_id, resource.c.job_state == JobState.BLOCKED, ~waits
    )
    return list(connection.scalars(statement.order_by(resource.c.id)))


def find_with_touched_requirements(
    connection: Connection, version: int, ids: Collection[str]
) -> frozenset[str]:
    statement = (
        sa.select(resource_graph.c.needed_by)
        .join(resource, resource.c.id == resource_graph.c.resource_id)
        .where(
            resource_graph.c.needed_by.in_(sorted(ids)),
            resource_graph.c.version == version,
            resource.c.touched_version == version,
        )
        .distinct()
    )
    return frozenset(connection.scalars(statement)) if ids else frozenset()


def has_unready(connection: Connection, stack_id: str, version: int) -> bool:
    statement = (
        sa.select(sa.literal(1))
        .where(
            resource_graph.c.stack_id == stack_id,
            resource_graph.c.version == version,
            resource_graph.c.observed_ready == sa.false(),
        )
        .limit(1)
    )
    return connection.execute(statement).first() is not None


def get_retry_counts(connection: Connection, version: int, ids: Collection[str]) -> dict[str, int]:
    if not ids:
        return {}
    statement = (
        sa.select(resource_graph.c.resource_id, sa.func.max(resource_graph.c.retry_count))
        .where(_THESE)
        .group_by(resource_graph.c.resource_id)
    )
    return {row[0]: row[1] for row in connection.execute(statement, _given(version, ids))}


def increment_retry_counts(connection: Connection, version: int, ids: Collection[str]) -> None:
    if ids:
        connection.execute(_COUNT_RETRY, _given(version, ids))
