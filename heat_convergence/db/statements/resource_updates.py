"""Changes of resources' rows: the same values in many of them, or others in each.

Called by the repositories.  Decides how few statements a change takes, and that the long values
of sensitive rows are encrypted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import resource_columns
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import WIDE_COLUMNS
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.timeline.marks import MAX_CHARS
from heat_convergence.db.each_row_update import (
    ANY_ROW,
    RowValues,
    common_value,
    update_rows_each,
    value_of_row,
)
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.resource_rows import ANY_OF_IDS, NARROW_FIELDS
from heat_convergence.db.tables import resource

_ROW_ID = resource.c.id == sa.bindparam("row_id")
LEASE_TOKEN = resource.c.lease_token == sa.bindparam("token")
_MARKS: sa.BindParameter[str] = sa.bindparam("marks", type_=sa.Text)
_LEASED = sa.and_(_ROW_ID, LEASE_TOKEN, resource.c.version == sa.bindparam("of_version"))

# What planning alone sets is left out: it raises the version.
_CHANGING_FIELDS = tuple(
    name
    for name in NARROW_FIELDS
    if name
    not in {
        "id",
        "stack_id",
        "name",
        "type",
        "implementation",
        "physical_name",
        "project_id",
        "created_at",
        "definition_hash",
        "requires",
        "referenced_names",
        "posted_at",  # a job that is posted again is the same
        "timeline",
    }
)
_UNCHANGED = sa.and_(
    _ROW_ID,
    *(
        resource.c[name].is_not_distinct_from(sa.bindparam(f"was_{name}"))
        for name in _CHANGING_FIELDS
    ),
)
_PLAIN = frozenset({str, int, bool, datetime})
_MOST_ROWS = 50  # in one statement


@lru_cache(maxsize=128)
def _build_update(
    where: sa.ColumnElement[bool], names: tuple[str, ...], *, marked: bool = False
) -> sa.Update:
    """Build an UPDATE of the columns ``names``, and of the timeline if marked, by parameters."""
    update = force_index(resource.update().where(where), resource).values(new_values(names))
    return update.values(timeline=with_marks(_MARKS)) if marked else update


def with_marks(marks: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """Return the timeline of a row with further marks, as ``marks.append_marks`` does."""
    timeline = sa.func.coalesce(resource.c.timeline, "", type_=sa.Text)
    return sa.case((sa.func.length(timeline) < MAX_CHARS, timeline + marks), else_=timeline)


def apply_transition(
    connection: Connection,
    ids: Iterable[str],
    transition: JobTransition,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Apply a transition to rows, and set the same further columns.

    That is one statement, or one for fifty rows if they get different marks.
    """
    further = columns or {}
    some = sorted(ids)
    marks = {transition.get_marks(row_id) for row_id in some}
    if len(marks) > 1:
        apply_each_transition(connection, dict.fromkeys(some, (transition, further)))
    elif some:
        _update_alike(connection, some, {**transition.values, **further}, marks.pop())


def apply_each_transition(
    connection: Connection, changes: Mapping[str, tuple[JobTransition, Mapping[str, object]]]
) -> None:
    """Apply transitions and set columns by row, with one UPDATE for many rows."""
    values = {
        row_id: {**transition.values, **columns}
        for row_id, (transition, columns) in changes.items()
    }
    marks = {row_id: changed[0].get_marks(row_id) for row_id, changed in changes.items()}
    update_each_row(connection, values, marks if any(marks.values()) else None)


def apply_leased_transition(
    connection: Connection,
    lease: tuple[str, str, int],
    transition: JobTransition,
    columns: Mapping[str, object],
) -> bool:
    """Apply a transition to a row that still has this lease token and version.

    Args:
        connection: the transaction's.
        lease: the ids of the row and of the lease, and the version.
        transition: the transition.
        columns: further columns and their values.

    Returns:
        Whether there is such a row.
    """
    row_id, token, version = lease
    row = {**transition.values, **columns}
    names = tuple(row)
    value_dedup.store_shared(connection, [row])
    marks = transition.get_marks(row_id)
    update = _build_update(_LEASED, names, marked=bool(marks))
    held = {"row_id": row_id, "token": token, "of_version": version}
    parameters = {**as_parameters(row), **held, **({"marks": marks} if marks else {})}
    return connection.execute(update, parameters).rowcount == 1


def apply_unchanged_transition(
    connection: Connection,
    row: Resource,
    transition: JobTransition,
    columns: Mapping[str, object],
) -> bool:
    """Apply a transition to a row that is as it was read; return whether it is.

    Args:
        connection: the transaction's.
        row: the row as it was read.
        transition: the transition.
        columns: further columns and their values.
    """
    values = {**transition.values, **columns}
    value_dedup.store_shared(connection, [values])
    marks = transition.get_marks(row.id)
    update = _build_update(_UNCHANGED, tuple(values), marked=bool(marks))
    was = {f"was_{name}": resource_columns.get_column(row, name) for name in _CHANGING_FIELDS}
    marked = {"marks": marks} if marks else {}
    parameters = {"row_id": row.id, **was, **as_parameters(values), **marked}
    return connection.execute(update, parameters).rowcount == 1


def new_values(names: Iterable[str]) -> dict[str, sa.BindParameter[Any]]:
    """Return the parameters for new values of columns, by column."""
    return {name: sa.bindparam(f"new_{name}") for name in names}


def as_parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return new values of columns as the parameters of an UPDATE."""
    return {f"new_{name}": value for name, value in with_encryption(values).items()}


def with_encryption(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values with the wide ones marked for encryption if the row is sensitive."""
    if not values.get("sensitive"):
        return values
    return {
        name: SensitiveValue(value) if name in WIDE_COLUMNS and value is not None else value
        for name, value in values.items()
    }


def update_rows(connection: Connection, ids: Iterable[str], values: Mapping[str, Any]) -> None:
    """Set the same values in rows; no statement if there are none.

    Wide values of sensitive rows must not be among them.
    """
    some = sorted(ids)
    if some:
        _update_alike(connection, some, values)


def _update_alike(
    connection: Connection, ids: Sequence[str], values: Mapping[str, Any], marks: str = ""
) -> None:
    parameters = {f"new_{name}": value for name, value in values.items()}
    if marks:
        parameters["marks"] = marks
    update = _build_update(ANY_OF_IDS, tuple(values), marked=bool(marks))
    connection.execute(update, {"ids": ids, **parameters})


def update_each_row(
    connection: Connection,
    changes: Mapping[str, Mapping[str, Any]],
    marks: Mapping[str, str] | None = None,
) -> None:
    """Set values by row, in the order of ids, with one UPDATE for many rows.

    Args:
        connection: the transaction's.
        changes: resource id → column → value; all of them with the same columns.
        marks: resource id → what is appended to its timeline.
    """
    rows = {row_id: dict(changes[row_id]) for row_id in sorted(changes)}
    value_dedup.store_shared(connection, list(rows.values()))
    waiting = iter(rows.items())
    while some := list(islice(waiting, _MOST_ROWS)):
        _update_together(connection, some, marks or {})


def _update_together(
    connection: Connection, rows: Sequence[tuple[str, dict[str, Any]]], marks: Mapping[str, str]
) -> None:
    ids = [row_id for row_id, _row in rows]
    values = [with_encryption(row) for _row_id, row in rows]
    own = {name: [row[name] for row in values] for name in values[0]}
    common = {name: each[0] for name, each in own.items() if _are_same(each)}
    for name in common:
        del own[name]
    update = _build_update_of_each(tuple(common), tuple(own), marked=bool(marks))
    if marks:
        own["marks"] = [marks.get(row_id, "") for row_id in ids]
    update_rows_each(connection, update, RowValues(ids, common, own))


def _are_same(values: Sequence[Any]) -> bool:
    """Return whether values are stored alike; maps that are not empty count as different."""
    first = values[0]
    return all(
        each is first
        or (type(each) is type(first) and each == first and (type(each) in _PLAIN or not each))
        for each in values
    )


@lru_cache(maxsize=128)
def _build_update_of_each(
    common: tuple[str, ...], own: tuple[str, ...], *, marked: bool
) -> sa.Update:
    """Build an UPDATE of several rows.

    Args:
        common: the columns that have the same value in all rows.
        own: those that have a value of its own in each.
        marked: whether something is appended to the timelines.
    """
    row_id = resource.c.id
    update = force_index(resource.update().where(row_id.in_([ANY_ROW])), resource)
    each = {name: value_of_row(row_id, name, resource.c[name]) for name in own}
    update = update.values({**{name: common_value(name) for name in common}, **each})
    if not marked:
        return update
    return update.values(timeline=with_marks(value_of_row(row_id, "marks", sa.literal(""))))
