"""Search for stored values that cannot be decoded.

Called by ``consistency`` for ``heat-convergence-manage stack check``.  Which columns hold encoded
values follows from their types, so that none is left out.  Reads only, a statement for a table.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import UnreadableValue
from heat_convergence.db.column_types import EncryptedText, EnumText, JsonText, NameList, UtcTime
from heat_convergence.db.encryption.column_encryption import ENCRYPTED_PREFIX
from heat_convergence.db.maintenance.inconsistency import Inconsistency
from heat_convergence.db.tables import content, goal, metadata, stack

_ENCODED = (JsonText, EncryptedText, EnumText, UtcTime)
_PAGE = 500
_UPDATE = "openstack stack update with its template (not --existing)"
_RECREATE = "delete it with the API, and update the stacks that use it"
_REMEDIES = {
    "goal": _UPDATE,
    "snapshot": "openstack stack snapshot delete",
    "event": "none is needed: it is shown without its properties, and deleted with the stack",
    "stack_credential": "its owner's next action on the stack stores a new one; the row of a stack"
    " that is deleted can be deleted by hand, and its trust in Keystone",
    "software_config": _RECREATE,
    "software_deployment": _RECREATE,
    "content": "delete the row by hand, then " + _UPDATE,
    "service": "heat-convergence-manage service clean, or delete the row by hand",
}
_RESOURCE_REMEDY = (
    f"{_UPDATE}; if that fails, openstack stack resource mark unhealthy first; if then its"
    " deletion fails, delete the physical resource by hand, set the column to {}, and update again"
)


def find_unreadable_rows(conn: Connection) -> Iterator[Inconsistency]:
    """Return the values that cannot be decoded."""
    for table in metadata.sorted_tables:
        encoded = [each for each in table.columns if isinstance(each.type, _ENCODED)]
        if encoded:
            yield from _find_in_table(conn, table, encoded)


def _find_in_table(
    conn: Connection, table: sa.Table, encoded: Sequence[Any]
) -> Iterator[Inconsistency]:
    keys = _key_columns(table)
    row_id = functools.reduce(lambda first, second: first + "/" + second, keys)
    owner = _owner_column(table)
    query = sa.select(row_id.label("row_id"), owner.label("owner"), *encoded).order_by(*keys)
    found = [
        (row, column, value)
        for row in conn.execute(query.execution_options(yield_per=_PAGE))
        for column, value in zip(encoded, map(_checked(table, row), row[2:]), strict=True)
        if isinstance(value, UnreadableValue)
    ]  # a list, because the connection can run nothing else while rows arrive
    for row, column, value in found:
        value.locate(table.name, column.key, row.row_id)
        for stack_id in _stacks_of(conn, table, row):
            yield Inconsistency(stack_id, value.description, _remedy(table, column, value))


def _key_columns(table: sa.Table) -> list[Any]:
    """Return the primary key, or the unique columns as texts of a table without one."""
    if table.primary_key.columns:
        return list(table.primary_key.columns)
    unique = next(each for each in table.constraints if isinstance(each, sa.UniqueConstraint))
    return [sa.func.coalesce(sa.cast(column, sa.String(64)), "") for column in unique.columns]


def _checked(table: sa.Table, row: Any) -> Callable[[Any], Any]:
    """Return a function that replaces a text of which the row's key is not the hash."""

    def check(value: Any) -> Any:
        if not isinstance(value, str) or table is not content:
            return value
        digest = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return (
            value
            if digest == row.row_id
            else UnreadableValue("it is not the text of this hash", "")
        )

    return check


def _owner_column(table: sa.Table) -> Any:
    if table is stack:
        return stack.c.id
    return table.c.stack_id if "stack_id" in table.c else sa.literal("")


def _stacks_of(conn: Connection, table: sa.Table, row: Any) -> list[str]:
    """Return the ids of the stacks that the row belongs to; an empty one if there is none."""
    if table is not content:
        return [row.owner]
    hashes = sa.type_coerce(goal.c.content_hashes, sa.Text)
    users = sa.or_(
        goal.c.template_hash == row.row_id,
        goal.c.common_part_hash == row.row_id,
        hashes.contains(row.row_id, autoescape=True),
    )
    query = sa.select(goal.c.stack_id).where(users).distinct().order_by(goal.c.stack_id)
    return list(conn.scalars(query)) or [""]


def _remedy(table: sa.Table, column: sa.Column[Any], value: UnreadableValue) -> str:
    if isinstance(value.stored, str) and value.stored.startswith(ENCRYPTED_PREFIX):
        again = "add the key that encrypted it to auth_encryption_key; if it is lost: "
        return again + _remedy_without_value(table, column)
    return _remedy_without_value(table, column)


def _remedy_without_value(table: sa.Table, column: sa.Column[Any]) -> str:
    if isinstance(column.type, EnumText):
        words = ", ".join(column.type.enum_class)
        return (
            "if a newer release wrote it, start the daemons of that release; otherwise set the"
            f" column to one of {words}"
        )
    if isinstance(column.type, UtcTime):
        return "set the column to a number of microseconds since 1970"
    if isinstance(column.type, NameList):
        return f"set the column to a JSON list of names, or to [], then {_UPDATE}"
    return _REMEDIES.get(table.name, _RESOURCE_REMEDY)
