"""Resources as rows: which columns are read, and how values are written.

Called by the repositories and by the API's reads.  Narrow rows leave out the wide
columns, which the observer does not need.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model import resource_columns
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import WIDE_COLUMNS, with_values
from heat_convergence.convergence.model.transition_rules import JobTransition
from heat_convergence.convergence.timeline.marks import MAX_CHARS
from heat_convergence.db.encryption.column_encryption import SensitiveValue
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import resource

FIELDS = tuple(resource_columns.COLUMNS)
COLUMNS = tuple(resource.c[name] for name in FIELDS)
_NARROW_FIELDS = tuple(name for name in FIELDS if name not in WIDE_COLUMNS)
_read_narrow = resource_columns.build_reader(_NARROW_FIELDS, WIDE_COLUMNS)
NARROW_COLUMNS = tuple(resource.c[name] for name in _NARROW_FIELDS)
_NOT_PLANNED = ("properties", "attributes", "timeline")  # long, and of no use to planning
_PLANNED_FIELDS = tuple(name for name in FIELDS if name not in _NOT_PLANNED)
_read_planned = resource_columns.build_reader(
    (*_PLANNED_FIELDS, "properties"), {"attributes": {}, "timeline": None}
)

# What runs for every job is built once: building it takes longer than running it.
IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
ANY_OF_IDS = resource.c.id.in_(IDS)
_ROW_ID = resource.c.id == sa.bindparam("row_id")
LEASE_TOKEN = resource.c.lease_token == sa.bindparam("token")
_MARKS: sa.BindParameter[str] = sa.bindparam("marks", type_=sa.Text)
_LEASED = sa.and_(_ROW_ID, LEASE_TOKEN, resource.c.version == sa.bindparam("of_version"))

# What planning alone sets is left out: it raises the version.
_CHANGING_FIELDS = tuple(
    name
    for name in _NARROW_FIELDS
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

# Entries of an index with the job's state would block engines, which lock the rows and
# change the state; entries of this one do not change.  InnoDB locks in the order of the
# index, whatever the order of the result: this one's is the order of ids.
STACK_INDEX = "ix_resource_stack_id_id"


def from_rows(connection: Connection, rows: Iterable[Any]) -> list[Resource]:
    """Return resources of one stack from rows of ``select(*COLUMNS)``.

    Raises:
        StoredValueUnreadable: a value of a row cannot be decoded.
    """
    return _with_shared(connection, [_from_row(row) for row in rows])


def from_readable_rows(connection: Connection, rows: Iterable[Any]) -> list[Resource]:
    """Return resources of several stacks; rows that cannot be decoded are set aside."""
    return _with_shared(connection, read_each(rows, _from_row))


def _from_row(row: Any) -> Resource:
    return resource_columns.from_values(check_row("resource", FIELDS, row))


def from_narrow_row(row: Any) -> Resource:
    """Return a resource from a row of ``select(*NARROW_COLUMNS)``."""
    return _read_narrow(check_row("resource", _NARROW_FIELDS, row))


def _with_shared(connection: Connection, found: list[Resource]) -> list[Resource]:
    deduplicated = {
        row.id: {"properties": row.physical.properties, "attributes": row.physical.attributes}
        for row in found
        if value_dedup.has_references(row.physical.properties, row.physical.attributes)
    }
    value_dedup.load_shared(connection, list(deduplicated.values()))
    return [
        with_values(row, deduplicated[row.id]) if row.id in deduplicated else row for row in found
    ]


def select_rows(
    connection: Connection, statement: sa.Select[Any], **parameters: Any
) -> list[Resource]:
    """Return the resources that a statement over ``COLUMNS`` finds."""
    return from_rows(connection, connection.execute(statement, parameters))


def select_narrow_rows(
    connection: Connection, statement: sa.Select[Any], **parameters: Any
) -> list[Resource]:
    """Return the resources that a statement over ``NARROW_COLUMNS`` finds."""
    return [from_narrow_row(row) for row in connection.execute(statement, parameters)]


def select_by_ids(columns: Sequence[Any]) -> sa.Select[Any]:
    """Build a SELECT of rows by the parameter ``ids``, in the order of ids."""
    selected = sa.select(*columns).where(ANY_OF_IDS).order_by(resource.c.id)
    return force_index(selected, resource)


def for_update(statement: sa.Select[Any]) -> sa.Select[Any]:
    """Make the statement lock rows against writers.

    A foreign key that points at a locked row may be added meanwhile.
    """
    return statement.with_for_update(key_share=True)


def for_update_skip_locked(statement: sa.Select[Any]) -> sa.Select[Any]:
    """Make the statement lock rows, leaving out those locked by other transactions."""
    return statement.with_for_update(key_share=True, skip_locked=True)


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


def _own_marks(transition: JobTransition, ids: Sequence[str]) -> sa.ColumnElement[str]:
    """Return the marks of a transition, those of each row before those of all."""
    by_id = transition.own_marks
    own = {row_id: by_id[row_id] for row_id in ids if row_id in by_id}
    common: sa.ColumnElement[str] = sa.literal(transition.marks, sa.Text)
    if len(set(own.values())) == 1 and len(own) == len(ids):
        return sa.literal(own[ids[0]] + transition.marks, sa.Text)
    return sa.case(own, value=resource.c.id, else_="") + common


def apply_transition(
    connection: Connection,
    ids: Iterable[str],
    transition: JobTransition,
    columns: Mapping[str, Any] | None = None,
) -> None:
    """Apply a transition to rows, and set the same further columns; one statement."""
    some = sorted(ids)
    values = {**transition.values, **(columns or {})}
    if not some:
        return
    parameters = {"ids": some, **{f"new_{name}": value for name, value in values.items()}}
    own = any(row_id in transition.own_marks for row_id in some)
    update = _build_update(ANY_OF_IDS, tuple(values), marked=bool(transition.marks) and not own)
    if own:
        update = update.values(timeline=with_marks(_own_marks(transition, some)))
    elif transition.marks:
        parameters["marks"] = transition.marks
    connection.execute(update, parameters)


def apply_each_transition(
    connection: Connection, changes: Mapping[str, tuple[JobTransition, Mapping[str, object]]]
) -> None:
    """Apply transitions and set columns by row, with one UPDATE prepared once."""
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
        columns: further columns and their values, none of them wide.
    """
    values = {**transition.values, **columns}
    marks = transition.get_marks(row.id)
    update = _build_update(_UNCHANGED, tuple(values), marked=bool(marks))
    was = {f"was_{name}": resource_columns.get_column(row, name) for name in _CHANGING_FIELDS}
    new = {f"new_{name}": value for name, value in values.items()}
    marked = {"marks": marks} if marks else {}
    return connection.execute(update, {"row_id": row.id, **was, **new, **marked}).rowcount == 1


def select_planned(stack_id: str) -> sa.Select[Any]:
    """Build the query of a stack's rows, by id, as planning needs them."""
    columns = (*(resource.c[name] for name in _PLANNED_FIELDS), resource.c.properties.is_(None))
    query = force_index(sa.select(*columns), resource, STACK_INDEX)
    return query.where(resource.c.stack_id == stack_id).order_by(resource.c.id)


def from_planned_rows(rows: Iterable[sa.Row[Any]]) -> list[Resource]:
    """Return resources from rows of ``select_planned``; their contents stay references."""
    checked = (check_row("resource", _PLANNED_FIELDS, row) for row in rows)
    return [_read_planned((*row[:-1], None if row[-1] else {})) for row in checked]


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
        parameters = {f"new_{name}": value for name, value in values.items()}
        connection.execute(_build_update(ANY_OF_IDS, tuple(values)), {"ids": some, **parameters})


def update_each_row(
    connection: Connection,
    changes: Mapping[str, Mapping[str, Any]],
    marks: Mapping[str, str] | None = None,
) -> None:
    """Set values by row, with one UPDATE prepared once and sent in the order of ids.

    Args:
        connection: the transaction's.
        changes: resource id → column → value; all of them with the same columns.
        marks: resource id → what is appended to its timeline.
    """
    if not changes:
        return
    rows = {row_id: dict(changes[row_id]) for row_id in sorted(changes)}
    value_dedup.store_shared(connection, list(rows.values()))
    marked = marks or {}
    connection.execute(
        _build_update(_ROW_ID, tuple(next(iter(changes.values()))), marked=bool(marked)),
        [
            {"row_id": row_id}
            | as_parameters(row)
            | ({"marks": marked.get(row_id, "")} if marked else {})
            for row_id, row in rows.items()
        ],
    )


def lock_matching(connection: Connection, ids: Iterable[str], condition: Any) -> list[Any]:
    """Lock those of the rows that match and that no other transaction has locked.

    Returns:
        Rows of id, stack_id and version, by id; no statement if there are no ids.
    """
    some = sorted(ids)
    if not some:
        return []
    statement = (
        sa.select(resource.c.id, resource.c.stack_id, resource.c.version)
        .where(resource.c.id.in_(some), condition)
        .order_by(resource.c.id)
    )
    locked = for_update_skip_locked(force_index(statement, resource))
    return list(connection.execute(locked))
