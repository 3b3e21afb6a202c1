"""Rows that contradict each other: what no single stack's rows show.

Called by ``heat-convergence-manage stack check``, which asks the rules
(``convergence.rules``) about each stack beside.  Reads only; one statement a question.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.apart import files_of
from heat_convergence.convergence.model import Resource, Stack
from heat_convergence.convergence.rules import Snapshot
from heat_convergence.db import goals, graph, resources, sharing
from heat_convergence.db.reads import stacks
from heat_convergence.db.tables import content, goal, resource, resource_graph, stack

_UPDATE = "update the stack with its template: openstack stack update"
_PURGE = "heat-convergence-manage purge_deleted 0 deletes what deleted stacks left"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What is wrong about a stack, and what to do."""

    stack_id: str
    problem: str
    remedy: str


def contradictions(conn: Connection) -> Iterator[Contradiction]:
    """All over the database."""
    yield from _without_goal(conn)
    yield from _without_texts(conn)
    yield from _left_of_deleted(conn)
    yield from _without_parent(conn)
    yield from _strange_edges(conn)


def snapshot(conn: Connection, stack_id: str) -> Snapshot | None:
    """The stack's rows as the rules take them."""
    found: Stack | None = stacks.get(conn, stack_id)
    if found is None:
        return None
    rows: list[Resource] = resources.of_stack(conn, stack_id)
    edges = graph.at(conn, stack_id, found.version, [row.id for row in rows])
    return Snapshot(found, tuple(rows), tuple(edges))


def live_stacks(conn: Connection, after: str, limit: int) -> list[str]:
    """Ids of stacks that are not deleted, in order."""
    query = sa.select(stack.c.id).where(stack.c.deleted_at.is_(None), stack.c.id > after)
    return list(conn.scalars(query.order_by(stack.c.id).limit(limit)))


def _without_goal(conn: Connection) -> Iterator[Contradiction]:
    for column in (stack.c.goal_id, stack.c.complete_goal_id):
        query = (
            sa.select(stack.c.id, column.label("goal"))
            .outerjoin(goal, goal.c.id == column)
            .where(column.is_not(None), goal.c.id.is_(None))
        )
        for row in conn.execute(query.order_by(stack.c.id)):
            yield Contradiction(row.id, f"its {column.name} {row.goal} does not exist", _UPDATE)


def _without_texts(conn: Connection) -> Iterator[Contradiction]:
    known = set(conn.scalars(sa.select(content.c.hash)))
    lists: dict[str, dict[str, str]] = {}
    query = sa.select(goal.c.stack_id, goal.c.id, goal.c.template_hash, goal.c.files,
                      goal.c.shared, goal.c.inherited)  # fmt: skip
    for row in conn.execute(query.order_by(goal.c.stack_id, goal.c.id)):
        if row.template_hash not in known:
            yield Contradiction(
                row.stack_id, f"the template of goal {row.id} is not stored", _UPDATE
            )
        if row.inherited is not None and row.inherited not in known:
            problem = f"the environment of goal {row.id} is not stored"
            yield Contradiction(row.stack_id, problem, _UPDATE)
        for name, key in _files(conn, row, lists):
            if key not in known:
                problem = f"the file {name} of goal {row.id} is not stored"
                yield Contradiction(row.stack_id, problem, _UPDATE)
        if not known.issuperset(row.shared):
            problem = f"texts of definitions of goal {row.id} are not stored"
            yield Contradiction(row.stack_id, problem, _UPDATE)
    for stack_id, hashes in sharing.led_to(conn):
        if not known.issuperset(hashes):
            problem = "long values of its resources or events are not stored"
            yield Contradiction(stack_id, problem, _UPDATE)


def _files(
    conn: Connection, row: Any, lists: dict[str, dict[str, str]]
) -> list[tuple[str, str]]:
    """Of a goal, names with hashes; ``lists`` are those read already."""
    found = dict(row.files)
    if row.inherited is not None:
        if row.inherited not in lists:
            texts = goals.get_contents(conn, [row.inherited])
            lists[row.inherited] = files_of(texts[row.inherited]) if texts else {}
        found.update(lists[row.inherited])
    return sorted(found.items())


def _left_of_deleted(conn: Connection) -> Iterator[Contradiction]:
    query = (
        sa.select(stack.c.id, sa.func.count().label("number"))
        .join(resource, resource.c.stack_id == stack.c.id)
        .where(stack.c.deleted_at.is_not(None))
        .group_by(stack.c.id)
        .order_by(stack.c.id)
    )
    for row in conn.execute(query):
        yield Contradiction(row.id, f"it is deleted and has {row.number} resources", _PURGE)


def _without_parent(conn: Connection) -> Iterator[Contradiction]:
    parent = stack.alias("parent")
    gone = sa.or_(parent.c.id.is_(None), parent.c.deleted_at.is_not(None))
    query = (
        sa.select(stack.c.id, stack.c.owner_id)
        .outerjoin(parent, parent.c.id == stack.c.owner_id)
        .where(stack.c.owner_id.is_not(None), stack.c.deleted_at.is_(None), gone)
        .order_by(stack.c.id)
    )
    for row in conn.execute(query):
        yield Contradiction(
            row.id, f"its parent stack {row.owner_id} is gone",
            f"delete it by its id: openstack stack delete {row.id}",
        )


def _strange_edges(conn: Connection) -> Iterator[Contradiction]:
    """Graph rows between resources of another stack."""
    for end in (resource_graph.c.resource_id, resource_graph.c.needed_by):
        query = (
            sa.select(resource_graph.c.stack_id, resource.c.id, resource.c.stack_id.label("of"))
            .join(resource, resource.c.id == end)
            .where(resource.c.stack_id != resource_graph.c.stack_id)
            .order_by(resource_graph.c.stack_id, resource.c.id)
        )
        for row in conn.execute(query):
            problem = f"its graph names resource {row.id}, which stack {row.of} has"
            yield Contradiction(row.stack_id, problem, _UPDATE)
