"""Resources as rows: which columns are read, and how rows are found.

Called by the repositories and by the API's reads.  Narrow rows leave out the wide
columns, which the observer does not need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.values.equal_parts import EqualParts
from heat_convergence.convergence.model import resource_columns
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import MARKS_ALONE, Resource
from heat_convergence.convergence.model.resource_columns import WIDE_COLUMNS, with_values
from heat_convergence.db.index_hints import INNODB_DIALECTS, force_index
from heat_convergence.db.statements import value_dedup
from heat_convergence.db.statements.readable_rows import check_row, read_each
from heat_convergence.db.tables import resource

FIELDS = tuple(resource_columns.COLUMNS)
COLUMNS = tuple(resource.c[name] for name in FIELDS)
NARROW_FIELDS = tuple(name for name in FIELDS if name not in WIDE_COLUMNS)
_read_narrow = resource_columns.build_reader(NARROW_FIELDS, WIDE_COLUMNS)
NARROW_COLUMNS = tuple(resource.c[name] for name in NARROW_FIELDS)
_NOT_PLANNED = ("properties", "attributes", "timeline")  # long, and of no use to planning
_PLANNED_FIELDS = tuple(name for name in FIELDS if name not in _NOT_PLANNED)
_read_planned = resource_columns.build_reader(
    (*_PLANNED_FIELDS, "properties"), {"attributes": {}, "timeline": None}
)

_READ_AHEAD = 1000  # rows
_NAMES_AT_ONCE = 500  # few enough for the database to look rows up by key

# What runs for every job is built once: building it takes longer than running it.
IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
ANY_OF_IDS = resource.c.id.in_(IDS)

JOB_STATE_INDEX = "ix_resource_job_state_stack_id"  # for reads without locks
PROJECT_INDEX = "ix_resource_project_id_job_state"  # for reads without locks, too
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
    return _read_narrow(check_row("resource", NARROW_FIELDS, row))


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


def read_planned_rows(
    connection: Connection, stack_id: str, *, lock: bool = False
) -> list[Resource]:
    """Return all rows of a stack, by id, as planning needs them; their contents stay references.

    MySQL and MariaDB send them as they are read, so that a large stack is in memory once. A
    cursor of PostgreSQL would cost each small stack two round trips more.
    """
    query = _LOCK_PLANNED if lock else _SELECT_PLANNED
    if connection.dialect.name in INNODB_DIALECTS:
        query = query.execution_options(yield_per=_READ_AHEAD)
    with connection.execute(query, {"stack": stack_id}) as rows:
        return _from_planned_rows(rows)


def read_named_rows(
    connection: Connection, stack_id: str, names: Collection[str], *, lock: bool = False
) -> list[Resource]:
    """Return the rows of a stack with these names as ``read_planned_rows`` does."""
    query, ordered = _LOCK_NAMED if lock else _SELECT_NAMED, sorted(names)
    found: list[Resource] = []
    for at in range(0, len(ordered), _NAMES_AT_ONCE):
        parameters = {"stack": stack_id, "names": ordered[at : at + _NAMES_AT_ONCE]}
        found += _from_planned_rows(connection.execute(query, parameters))
    return sorted(found, key=lambda row: row.id)


def _from_planned_rows(rows: Iterable[Any]) -> list[Resource]:
    checked = (check_row("resource", _PLANNED_FIELDS, row) for row in rows)
    share = EqualParts().share  # the resources of a large stack are alike
    return [_read_planned((*map(share, row[:-1]), None if row[-1] else {})) for row in checked]


def find_unsettled_names(stack_id: str, implementations: Mapping[str, str]) -> sa.Select[str]:
    """Build the query of the names of rows for which ``goal_part.is_at_rest`` does not hold.

    Args:
        stack_id: the stack, all rows of which are locked.
        implementations: type → what implements it.
    """
    c = resource.c
    implemented = [
        sa.and_(c.type == name, c.implementation == implementation)
        for name, implementation in sorted(implementations.items())
    ]
    at_rest = sa.and_(
        c.job.is_(None),
        c.job_state.is_(None),
        c.desired == DesiredState.PRESENT,
        c.status == Status.COMPLETE,
        c.action.not_in([Action.INIT, Action.DELETE]),
        c.suspended == sa.false(),
        c.applied_hash.is_not(None),  # else the comparison would be neither true nor false
        c.applied_hash == c.definition_hash,
        c.hooks_and_restrictions.in_(MARKS_ALONE),
        sa.or_(sa.false(), *implemented),
    )
    return sa.select(c.name).where(c.stack_id == stack_id, sa.not_(at_rest))


def _select_planned(index: str) -> sa.Select[Any]:
    columns = (*(resource.c[name] for name in _PLANNED_FIELDS), resource.c.properties.is_(None))
    query = force_index(sa.select(*columns), resource, index)
    return query.where(resource.c.stack_id == sa.bindparam("stack")).order_by(resource.c.id)


_SELECT_PLANNED = _select_planned(STACK_INDEX)
_LOCK_PLANNED = for_update(_SELECT_PLANNED)
_SELECT_NAMED = _select_planned("ix_resource_stack_id_name").where(
    resource.c.name.in_(sa.bindparam("names", expanding=True))
)
_LOCK_NAMED = for_update(_SELECT_NAMED)


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
