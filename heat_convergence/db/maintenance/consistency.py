"""Search for rows that contradict each other across stacks.

Called by ``heat-convergence-manage stack check``, which also checks each stack's rows
against ``convergence.invariants``.  Reads only; one statement for each problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.failures import RowsContradict
from heat_convergence.common.stored_values import is_readable
from heat_convergence.convergence.invariants.transition import StackState
from heat_convergence.convergence.model.goal_storage import file_hashes_of_common_part
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.maintenance.inconsistency import Inconsistency
from heat_convergence.db.maintenance.unreadable_rows import find_unreadable_rows
from heat_convergence.db.quarantine_repository import SqlQuarantineRepository
from heat_convergence.db.reads import stacks
from heat_convergence.db.repositories.graph import SqlGraphRepository
from heat_convergence.db.repositories.resources import SqlResourceRepository
from heat_convergence.db.statements import contents, value_dedup
from heat_convergence.db.tables import content, goal, quarantine, resource, resource_graph, stack
from heat_convergence.db.tables import snapshot as saved

_UPDATE = "openstack stack update with its template (not --existing)"
_PURGE = "heat-convergence-manage purge_deleted 0 deletes what deleted stacks left"
_DELETE_PHYSICAL = "delete by hand what they still have in the cloud, then"
_REPLACE = f"{_UPDATE}; if that does not help, openstack stack resource mark unhealthy, and again"
_NOTHING = "none is needed: they are shown without their values, and deleted with the stack"


def find_inconsistencies(conn: Connection) -> Iterator[Inconsistency]:
    """Return the inconsistencies of all stacks; of rows without a stack, with an empty id."""
    yield from find_unreadable_rows(conn)
    yield from _without_goal(conn)
    yield from _saved_without_goal(conn)
    stored = _Stored(conn)
    yield from _without_texts(conn, stored)
    yield from _without_values(conn, stored)
    yield from _resources_of_deleted(conn)
    yield from _without_parent(conn)
    yield from _edges_across_stacks(conn)


def load_stack_state(conn: Connection, stack_id: str) -> StackState | None:
    """Return the stack's rows as the invariants take them; None if it does not exist.

    Raises:
        StoredValueUnreadable: a row cannot be decoded.
    """
    found: Stack | None = stacks.get(conn, stack_id)
    if found is None:
        return None
    rows: list[Resource] = SqlResourceRepository(conn).get_by_stack(stack_id)
    edges = SqlGraphRepository(conn).get_edges_at(stack_id, [row.id for row in rows])
    quarantined = SqlQuarantineRepository(conn).list_ids(stack_id)
    return StackState(found, tuple(rows), tuple(edges), quarantined)


def list_live_stacks(conn: Connection, after: str, limit: int) -> list[str]:
    """Return ids of up to ``limit`` stacks that are not deleted, in order, after ``after``."""
    query = sa.select(stack.c.id).where(stack.c.deleted_at.is_(None), stack.c.id > after)
    return list(conn.scalars(query.order_by(stack.c.id).limit(limit)))


def _without_goal(conn: Connection) -> Iterator[Inconsistency]:
    for column in (stack.c.goal_id, stack.c.complete_goal_id):
        query = (
            sa.select(stack.c.id, stack.c.deleted_at, column.label("goal"))
            .outerjoin(goal, goal.c.id == column)
            .where(column.is_not(None), goal.c.id.is_(None))
        )
        if column is stack.c.complete_goal_id:  # a deleted stack is never rolled back
            query = query.where(stack.c.deleted_at.is_(None))
        for row in conn.execute(query.order_by(stack.c.id)):
            remedy = _UPDATE if row.deleted_at is None else _PURGE
            yield Inconsistency(row.id, f"its {column.name} {row.goal} does not exist", remedy)


def _saved_without_goal(conn: Connection) -> Iterator[Inconsistency]:
    query = (
        sa.select(saved.c.stack_id, saved.c.id, saved.c.goal_id)
        .outerjoin(goal, goal.c.id == saved.c.goal_id)
        .where(goal.c.id.is_(None), saved.c.delete_at.is_(None))
    )
    for row in conn.execute(query.order_by(saved.c.stack_id, saved.c.id)):
        problem = f"the goal {row.goal_id} of its snapshot {row.id} does not exist"
        yield Inconsistency(row.stack_id, problem, _without_snapshot(row.stack_id, row.id))


class _Stored:
    """The hashes of stored texts, read once; only those stored since are looked up."""

    def __init__(self, conn: Connection) -> None:
        """Read the hashes."""
        self._conn = conn
        self._known = set(conn.scalars(sa.select(content.c.hash)))
        self._lost: set[str] = set()

    def knows(self, hashes: Iterable[str]) -> bool:
        """Return whether all of them are stored, as far as is known."""
        return self._known.issuperset(hashes)

    def lacks(self, hashes: Iterable[str]) -> bool:
        """Return whether one of them is not stored; look up those that are not known."""
        unknown = {*hashes} - self._known
        if new := unknown - self._lost:
            query = sa.select(content.c.hash).where(content.c.hash.in_(sorted(new)))
            self._known.update(self._conn.scalars(query))
            self._lost |= new - self._known
        return not self.knows(unknown)


def _without_texts(conn: Connection, stored: _Stored) -> Iterator[Inconsistency]:
    lists: dict[str, dict[str, str]] = {}
    query = sa.select(
        goal.c.id,
        goal.c.stack_id,
        goal.c.template_hash,
        goal.c.files,
        goal.c.content_hashes,
        goal.c.common_part_hash,
        stack.c.deleted_at,
    ).outerjoin(stack, stack.c.id == goal.c.stack_id)
    for row in conn.execute(query.order_by(goal.c.stack_id, goal.c.id)):
        if not is_readable(*row):
            continue  # ``find_unreadable_rows`` has found it
        problems = list(_lost(conn, row, stored, lists))
        remedy = _of_goal(conn, row) if problems else ""
        yield from (Inconsistency(row.stack_id, problem, remedy) for problem in problems)


def _lost(
    conn: Connection, row: Any, stored: _Stored, lists: dict[str, dict[str, str]]
) -> Iterator[str]:
    if stored.lacks([row.template_hash]):
        yield f"the template of goal {row.id} is not stored"
    if row.common_part_hash is not None and stored.lacks([row.common_part_hash]):
        yield f"the environment of goal {row.id} is not stored"
    for name, key in _files(conn, row, lists):
        if stored.lacks([key]):
            yield f"the file {name} of goal {row.id} is not stored"
    if stored.lacks(row.content_hashes):
        yield f"texts of definitions of goal {row.id} are not stored"


def _of_goal(conn: Connection, row: Any) -> str:
    """Return the remedy for a goal; an earlier one is deleted when the next is reached."""
    if row.deleted_at is not None:
        return _PURGE
    named = sa.select(stack.c.id).where(
        sa.or_(stack.c.goal_id == row.id, stack.c.complete_goal_id == row.id)
    )
    users = sa.select(saved.c.id).where(saved.c.goal_id == row.id).order_by(saved.c.id)
    remedies = [_without_snapshot(row.stack_id, each) for each in conn.scalars(users)]
    if not remedies or conn.execute(named).first() is not None:
        remedies.insert(0, _UPDATE)
    return ", and ".join(remedies)


def _without_snapshot(stack_id: str, snapshot_id: str) -> str:
    return f"openstack stack snapshot delete {stack_id} {snapshot_id}"


def _without_values(conn: Connection, stored: _Stored) -> Iterator[Inconsistency]:
    # A list, because the connection can run nothing else while rows arrive.
    suspect = [
        row for row in value_dedup.find_content_references(conn) if not stored.knows(row.hashes)
    ]
    lost = {(row.stack_id, row.resource_name or "") for row in suspect if stored.lacks(row.hashes)}
    deleted = set(conn.scalars(sa.select(stack.c.id).where(stack.c.deleted_at.is_not(None))))
    for stack_id, name in sorted(lost, key=lambda each: (each[0], not each[1], each[1])):
        holder, remedy = (f"resource {name}", _REPLACE) if name else ("its events", _NOTHING)
        yield Inconsistency(
            stack_id,
            f"long values of {holder} are not stored",
            _PURGE if stack_id in deleted else remedy,
        )


def _files(conn: Connection, row: Any, lists: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    """Return (name, hash) of a goal's files; ``lists`` caches those of common parts."""
    found = dict(row.files)
    if row.common_part_hash is not None:
        if row.common_part_hash not in lists:
            texts = contents.get_contents(conn, [row.common_part_hash])
            lists[row.common_part_hash] = _file_hashes(texts.get(row.common_part_hash, ""))
        found.update(lists[row.common_part_hash])
    return sorted(found.items())


def _file_hashes(text: str) -> dict[str, str]:
    """Return the files of a common part; none if ``find_unreadable_rows`` has reported it."""
    try:
        return file_hashes_of_common_part(text)
    except RowsContradict:
        return {}


def _resources_of_deleted(conn: Connection) -> Iterator[Inconsistency]:
    query = (
        sa.select(stack.c.id, sa.func.count().label("number"))
        .join(resource, resource.c.stack_id == stack.c.id)
        .outerjoin(quarantine, quarantine.c.resource_id == resource.c.id)
        .where(stack.c.deleted_at.is_not(None), quarantine.c.resource_id.is_(None))
        .group_by(stack.c.id)
        .order_by(stack.c.id)
    )
    for row in conn.execute(query):
        problem = f"it is deleted and has {row.number} resources"
        yield Inconsistency(row.id, problem, f"{_DELETE_PHYSICAL} {_PURGE}")


def _without_parent(conn: Connection) -> Iterator[Inconsistency]:
    parent, owner = stack.alias("parent"), resource.alias("owner")
    missing = sa.or_(parent.c.id.is_(None), parent.c.deleted_at.is_not(None))
    unowned = sa.and_(stack.c.owner_resource_id.is_not(None), owner.c.id.is_(None))
    query = (
        sa.select(
            stack.c.id, stack.c.owner_id, stack.c.owner_resource_id, missing.label("missing")
        )
        .outerjoin(parent, parent.c.id == stack.c.owner_id)
        .outerjoin(owner, owner.c.id == stack.c.owner_resource_id)
        .where(
            stack.c.owner_id.is_not(None), stack.c.deleted_at.is_(None), sa.or_(missing, unowned)
        )
        .order_by(stack.c.id)
    )
    for row in conn.execute(query):
        what = (
            f"parent stack {row.owner_id}"
            if row.missing
            else (f"resource {row.owner_resource_id} in its parent stack")
        )
        remedy = f"delete it by its id: openstack stack delete {row.id}"
        yield Inconsistency(row.id, f"its {what} does not exist", remedy)


def _edges_across_stacks(conn: Connection) -> Iterator[Inconsistency]:
    """Find edges that name resources of another stack."""
    for end in (resource_graph.c.resource_id, resource_graph.c.needed_by):
        query = (
            sa.select(resource_graph.c.stack_id, resource.c.id, resource.c.stack_id.label("of"))
            .join(resource, resource.c.id == end)
            .where(resource.c.stack_id != resource_graph.c.stack_id)
            .order_by(resource_graph.c.stack_id, resource.c.id)
        )
        for row in conn.execute(query):
            problem = f"its graph names resource {row.id}, which stack {row.of} has"
            yield Inconsistency(row.stack_id, problem, _UPDATE)
