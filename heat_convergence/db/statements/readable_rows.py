"""Rows whose values can all be decoded, and what is done with the others (RULE 11).

Called by every reader of rows. A map that cannot be decoded stays in its row and raises an error
when it is used; any other value decides what is done with the row, which is then not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from heat_convergence.common.error_log import ErrorLog
from heat_convergence.common.stored_values import (
    StoredValueUnreadable,
    UnreadableMap,
    UnreadableValue,
)
from heat_convergence.db.column_types import EARLIEST_TIME, LATEST_TIME

T = TypeVar("T")
_UNREADABLE = frozenset({UnreadableValue, UnreadableMap})
_ROWS_SET_ASIDE = ErrorLog()


def check_row(table: str, fields: Sequence[str], row: Sequence[Any]) -> Sequence[Any]:
    """Return the row; its unreadable maps know where they are stored.

    Raises:
        StoredValueUnreadable: a value other than a map cannot be decoded.
    """
    for value in find_unreadable(table, fields, row).values():
        if not isinstance(value, UnreadableMap):
            raise value.error()
    return row


def find_unreadable(
    table: str, fields: Sequence[str], row: Sequence[Any]
) -> Mapping[str, UnreadableValue]:
    """Return the values of a row that cannot be decoded, by column.

    Args:
        table: name of the table.
        fields: the columns, in the order of the values; there may be more values.
        row: the values.
    """
    if _UNREADABLE.isdisjoint(map(type, row)):  # as almost all rows: a fast path
        return {}
    values = dict(zip(fields, row, strict=False))
    found = {name: each for name, each in values.items() if isinstance(each, UnreadableValue)}
    for name, each in found.items():
        each.locate(table, name, values.get("id", values.get("stack_id", "")))
    return found


def replace_unreadable(
    table: str, fields: Sequence[str], row: Sequence[Any], substitutes: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Return a row for display, by column, and the error of what cannot be decoded.

    Args:
        table: name of the table.
        fields: the columns, in the order of the values.
        row: the values.
        substitutes: values to show instead, by column; None is shown for other columns.

    Returns:
        The values, among them the maps that raise an error when they are used, and the text of
        the first error, which is empty if all values can be decoded.
    """
    values = dict(zip(fields, row, strict=False))
    error = ""
    for name, value in find_unreadable(table, fields, row).items():
        error = error or str(value.error())
        if not isinstance(value, UnreadableMap):
            values[name] = substitutes.get(name)
    return values, error


def select_earliest(column: sa.Column[Any]) -> sa.Select[Any]:
    """Build a SELECT of the earliest of a column's times, without those that cannot be decoded."""
    readable = column.between(EARLIEST_TIME, LATEST_TIME)
    return sa.select(sa.func.min(column)).where(readable)


def read_each(rows: Iterable[Any], read: Callable[[Any], T]) -> list[T]:
    """Read rows of several stacks; those that cannot be decoded are set aside, and logged."""
    found = []
    for row in rows:
        try:
            found.append(read(row))
        except StoredValueUnreadable as error:
            _ROWS_SET_ASIDE.report_once("row set aside", str(error))
    return found
