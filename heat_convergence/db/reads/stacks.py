"""Reads of stacks for the API: by id, by name, in pages, as trees.

Called by the API alone.  Every function is one statement, or two with tags; none grows
with the number of resources.  A stack whose row cannot be decoded is FAILED, with the reason:
whoever changes it reads it again under its lock, which raises an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.column_types import UtcTime
from heat_convergence.db.statements.stack_rows import COLUMNS, COUNT_ROOTS
from heat_convergence.db.statements.stack_rows import from_row_for_display as from_row
from heat_convergence.db.tables import stack as t
from heat_convergence.db.tables import stack_tag

_NEVER = sa.literal(datetime(1970, 1, 1, tzinfo=UTC), UtcTime())
_SORTABLE: Mapping[str, tuple[sa.ColumnElement[Any], ...]] = {
    "stack_name": (t.c.name,),
    "stack_status": (t.c.action, t.c.status),
    "creation_time": (t.c.created_at,),
    # The databases do not agree on where NULL sorts.
    "updated_time": (sa.func.coalesce(t.c.updated_at, _NEVER),),
}
_FILTERS: Mapping[str, sa.ColumnElement[Any]] = {
    "id": t.c.id,
    "name": t.c.name,
    "action": t.c.action,
    "status": t.c.status,
    "status_reason": t.c.status_reason,
    "project": t.c.project_id,
    "username": t.c.username,
    "owner_id": t.c.owner_id,
    "timeout_mins": t.c.timeout_mins,
    "disable_rollback": t.c.disable_rollback,
}
# Built once, as clients that wait for a stack read it again and again.
_STACK = sa.bindparam("stack", type_=t.c.id.type)
# A row for each tag, one for a stack without tags.
_GET_WITH_TAGS = (
    sa.select(*COLUMNS, stack_tag.c.tag)
    .outerjoin_from(t, stack_tag, stack_tag.c.stack_id == t.c.id)
    .where(t.c.id == _STACK)
    .order_by(stack_tag.c.position)
)
_KEY = sa.bindparam("key", type_=t.c.name.type)
_FIND_BY_ID_OR_NAME = (
    sa.select(*COLUMNS)
    .where(
        t.c.project_id == sa.bindparam("project"),
        sa.or_(t.c.id == _KEY, sa.and_(t.c.name == _KEY, t.c.deleted_at.is_(None))),
    )
    .order_by(sa.case((t.c.id == _KEY, 0), else_=1), t.c.created_at, t.c.id)
    .limit(1)
)
_COUNT_ROOTS_AND_NAMED = sa.select(
    COUNT_ROOTS.scalar_subquery(),
    COUNT_ROOTS.where(t.c.name == sa.bindparam("name")).scalar_subquery(),
)


@dataclass(frozen=True, slots=True)
class StackFilter:
    """Conditions on stacks; ``project_id`` None means all projects.

    ``matches`` maps a name of ``_FILTERS`` to values, one of which must match.
    ``unfinished_or_started_since`` leaves out stacks whose last traversal started before, and is
    over.
    """

    project_id: str | None
    nested: bool = False
    deleted: bool = False
    tags: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    not_tags: tuple[str, ...] = ()
    not_tags_any: tuple[str, ...] = ()
    matches: Mapping[str, Collection[Any]] = field(default_factory=dict)
    unfinished_or_started_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pagination:
    """Order and start of a page; an unknown marker means the first page."""

    limit: int | None = None
    marker: str | None = None
    sort_keys: tuple[str, ...] = ()
    descending: bool | None = None  # None: newest first, or ascending by ``sort_keys``


def get(conn: Connection, stack_id: str) -> Stack | None:
    """Return the stack with its tags, also a deleted one."""
    rows = conn.execute(_GET_WITH_TAGS, {"stack": stack_id}).all()
    if not rows:
        return None
    tags = tuple(row[-1] for row in rows if row[-1] is not None)
    return replace(from_row(rows[0][:-1]), tags=tags)


def find_by_id_or_name(conn: Connection, project_id: str, key: str) -> Stack | None:
    """Return the stack of that id, also a deleted one, else the oldest of that name."""
    row = conn.execute(_FIND_BY_ID_OR_NAME, {"project": project_id, "key": key}).first()
    return None if row is None else from_row(row)


def find_in_tree_by_name(conn: Connection, root_id: str, name: str) -> Stack | None:
    """Return the tree's live stack of that name: the root first, then the oldest."""
    query = (
        sa.select(*COLUMNS)
        .where(t.c.name == name, t.c.deleted_at.is_(None))
        .where(sa.or_(t.c.id == root_id, t.c.root_id == root_id))
        .order_by(sa.case((t.c.id == root_id, 0), else_=1), t.c.created_at, t.c.id)
        .limit(1)
    )
    row = conn.execute(query).first()
    return None if row is None else from_row(row)


def list_page(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination | None = None
) -> list[Stack]:
    """Return a page of stacks with their tags."""
    pagination = pagination or Pagination()
    query = select_page(conn, COLUMNS, stack_filter, pagination)
    found = [from_row(row) for row in conn.execute(query)]
    tags = find_tags(conn, stack_filter, pagination, [s.id for s in found])
    return [replace(s, tags=tags.get(s.id, ())) for s in found]


def select_page(
    conn: Connection, columns: Sequence[Any], stack_filter: StackFilter, pagination: Pagination
) -> sa.Select[Any]:
    """Build a SELECT of columns of a page's stacks; a marker's stack is read at once."""
    query = sa.select(*columns).where(*conditions(stack_filter))
    keys, descending = _order(pagination)
    if pagination.marker is not None:
        scope = StackFilter(stack_filter.project_id, nested=True, deleted=True)
        marked = sa.select(*keys).where(t.c.id == pagination.marker, *conditions(scope))
        last = conn.execute(marked).first()
        if last is not None:
            query = query.where(rows_after(keys, tuple(last), descending))
    query = query.order_by(*(c.desc() if descending else c.asc() for c in keys))
    return query if pagination.limit is None else query.limit(pagination.limit)


def find_tags(
    conn: Connection, stack_filter: StackFilter, pagination: Pagination, ids: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return the tags of a page's stacks by id; stacks without tags are not among them.

    Args:
        conn: the transaction's connection.
        stack_filter: that of the page.
        pagination: without a limit, tags are found by the filter: the ids may be ten thousand.
        ids: those of the page's stacks.
    """
    if not ids:
        return {}
    query = sa.select(stack_tag.c.stack_id, stack_tag.c.tag)
    if pagination.limit is None:
        query = query.join(t, t.c.id == stack_tag.c.stack_id).where(*conditions(stack_filter))
    else:
        query = query.where(stack_tag.c.stack_id.in_(ids))
    found: dict[str, list[str]] = {}
    for stack_id, tag in conn.execute(query.order_by(stack_tag.c.stack_id, stack_tag.c.position)):
        found.setdefault(stack_id, []).append(tag)
    return {stack_id: tuple(tags) for stack_id, tags in found.items()}


def count(conn: Connection, stack_filter: StackFilter) -> int:
    """Return how many stacks match."""
    query = sa.select(sa.func.count()).select_from(t).where(*conditions(stack_filter))
    return int(conn.execute(query).scalar_one())


def count_roots(conn: Connection, project_id: str, name: str) -> tuple[int, bool]:
    """Return the number of the project's root stacks, and whether one of them has that name."""
    count, named = conn.execute(
        _COUNT_ROOTS_AND_NAMED, {"project": project_id, "name": name}
    ).one()
    return int(count), bool(named)


def get_tree(conn: Connection, stack_id: str, levels: int) -> list[tuple[Stack, int]]:
    """Return the stack and its nested stacks with their depths, in one statement.

    Args:
        conn: the transaction's connection.
        stack_id: the stack whose depth is 0.
        levels: the largest depth.
    """
    head = sa.select(t.c.id, sa.literal(0).label("level")).where(t.c.id == stack_id)
    tree = head.cte("tree", recursive=True)
    child = t.alias("child")
    tree = tree.union_all(
        sa.select(child.c.id, tree.c.level + 1).where(
            child.c.owner_id == tree.c.id,
            child.c.deleted_at.is_(None),
            tree.c.level < levels,
        )
    )
    query = sa.select(*COLUMNS, tree.c.level).join(tree, tree.c.id == t.c.id)
    rows = conn.execute(query.order_by(tree.c.level, t.c.id))
    return [(from_row(row[:-1]), row.level) for row in rows]


def get_root(conn: Connection, stack: Stack) -> Stack:
    """Return the root of the stack's tree, which may be the stack itself."""
    if stack.root_id is None or stack.root_id == stack.id:
        return stack
    return get(conn, stack.root_id) or stack


def list_children(conn: Connection, stack_ids: Collection[str]) -> Mapping[tuple[str, str], Stack]:
    """Return nested stacks by (parent's id, name of the resource there)."""
    query = sa.select(*COLUMNS).where(t.c.owner_id.in_(stack_ids), t.c.deleted_at.is_(None))
    found = (from_row(row) for row in conn.execute(query))
    return {(s.owner_id or "", s.parent_resource or ""): s for s in found}


def rows_after(
    columns: Sequence[sa.ColumnElement[Any]], last: tuple[Any, ...], descending: bool
) -> sa.ColumnElement[bool]:
    """Build the condition of rows after ``last`` in the order of ``columns``.

    None of the columns may be NULL.
    """
    alternatives = []
    for at, column in enumerate(columns):
        equal = [c == v for c, v in zip(columns[:at], last[:at], strict=True)]
        beyond = column < last[at] if descending else column > last[at]
        alternatives.append(sa.and_(*equal, beyond))
    return sa.or_(*alternatives)


def _order(at: Pagination) -> tuple[list[sa.ColumnElement[Any]], bool]:
    keys = [column for key in at.sort_keys for column in _SORTABLE.get(key, ())]
    if not keys:
        descending = True if at.descending is None else at.descending
        return [t.c.created_at, t.c.id], descending
    return [*keys, t.c.id], bool(at.descending)


def conditions(stack_filter: StackFilter) -> Iterable[sa.ColumnElement[bool]]:
    """Yield the conditions on the rows of stacks."""
    if stack_filter.project_id is not None:
        yield t.c.project_id == stack_filter.project_id
    if not stack_filter.nested:
        yield t.c.owner_id.is_(None)
    if not stack_filter.deleted:
        yield t.c.deleted_at.is_(None)
    since = stack_filter.unfinished_or_started_since
    if since is not None:
        yield sa.or_(t.c.status == Status.IN_PROGRESS, t.c.started_at >= since)
    for name, values in sorted(stack_filter.matches.items()):
        if name == "user_project":  # no stack has one, so that none matches
            yield sa.false()
            continue
        yield _FILTERS[name].in_(values)
    yield from _tag_conditions(stack_filter)


def _tag_conditions(stack_filter: StackFilter) -> Iterable[sa.ColumnElement[bool]]:
    if stack_filter.tags:
        yield t.c.id.in_(_tagged_all(stack_filter.tags))
    if stack_filter.tags_any:
        yield t.c.id.in_(_tagged_any(stack_filter.tags_any))
    if stack_filter.not_tags:
        yield t.c.id.not_in(_tagged_all(stack_filter.not_tags))
    if stack_filter.not_tags_any:
        yield t.c.id.not_in(_tagged_any(stack_filter.not_tags_any))


def _tagged_any(tags: Collection[str]) -> sa.Select[Any]:
    return sa.select(stack_tag.c.stack_id).where(stack_tag.c.tag.in_(tags))


def _tagged_all(tags: Collection[str]) -> sa.Select[Any]:
    distinct = sa.func.count(sa.distinct(stack_tag.c.tag))
    grouped = _tagged_any(tags).group_by(stack_tag.c.stack_id)
    return grouped.having(distinct == len(set(tags)))
