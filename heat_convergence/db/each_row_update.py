"""One UPDATE of many rows of a table that gives each row values of its own.

Called by the statements of resources.  SQLAlchemy compiles such a statement for one row, and this
module repeats its parts for the others: compiled for fifty rows it would be half a megabyte, which
a process would keep for each combination of columns.  Values are always parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Dialect
from sqlalchemy.exc import StatementError

_ROW: sa.ColumnClause[Any] = sa.literal_column("<row>")
_PLACE = re.compile(r"WHEN <row> THEN <own:(\w+)>|<common:(\w+)>|<(rows)>")
_KEPT_STATEMENTS = 128  # of some two kilobytes
_REFUSALS_OF_TYPES = (ArithmeticError, AttributeError, RecursionError, TypeError, ValueError)

ANY_ROW: sa.ColumnClause[Any] = sa.literal_column("<rows>")
"""The ids of the rows, as the only element of a list."""


@dataclass(frozen=True, slots=True)
class RowValues:
    """The values that an UPDATE gives rows.

    Attributes:
        ids: the ids of the rows.
        common: name → the value of all rows.
        own: name → the values of the rows, in the order of the ids.
    """

    ids: Sequence[str]
    common: Mapping[str, Any]
    own: Mapping[str, Sequence[Any]]


def common_value(name: str) -> sa.ColumnElement[Any]:
    """Return the place of a value that is the same in all rows."""
    return sa.literal_column(f"<common:{name}>")


def value_of_row(
    row_id: sa.ColumnElement[str], name: str, otherwise: sa.ColumnElement[Any]
) -> sa.ColumnElement[Any]:
    """Return the place of a value that each row has of its own.

    Args:
        row_id: the column that tells the rows apart.
        name: the name of the value.
        otherwise: the value of other rows, which tells the database the type.
    """
    value: sa.ColumnElement[Any] = sa.literal_column(f"<own:{name}>")
    return sa.case((_ROW, value), value=row_id, else_=otherwise)


def update_rows_each(connection: Connection, update: sa.Update, values: RowValues) -> None:
    """Execute an UPDATE that was built with the places of values.

    Raises:
        StatementError: the type of a column refuses a value, as in any other statement.
    """
    dialect = connection.dialect
    compiled = _compile(dialect, update)
    mark = "?" if dialect.paramstyle == "qmark" else "%s"
    try:
        parameters = tuple(compiled.parameters_of(values))
    except _REFUSALS_OF_TYPES as error:
        raise StatementError(f"{type(error).__name__} in a value", None, None, error) from error
    connection.exec_driver_sql(compiled.text_for(values, mark), parameters)


@dataclass(frozen=True, slots=True)
class _CompiledUpdate:
    """An UPDATE as text with places of values.

    Attributes:
        texts: the text before each place, and that after the last.
        places: for each place the names of an own and of a common value, one of which is set, or
            neither for the ids.
        processors: name → what the driver needs done to a value.
    """

    texts: Sequence[str]
    places: Sequence[tuple[str | None, str | None]]
    processors: Mapping[str, Callable[[Any], Any]]

    def text_for(self, values: RowValues, mark: str) -> str:
        """Return the text for so many rows, with a mark for each parameter."""
        count = len(values.ids)
        whens, marks = " ".join([f"WHEN {mark} THEN {mark}"] * count), ", ".join([mark] * count)
        parts = [self.texts[0]]
        for (own, common), after in zip(self.places, self.texts[1:], strict=True):
            parts += [whens if own else mark if common else marks, after]
        return "".join(parts)

    def parameters_of(self, values: RowValues) -> Iterator[Any]:
        """Yield the parameters in the order of their marks."""
        for own, common in self.places:
            if own:
                of_rows = self._processed(own, values.own[own])
                yield from chain.from_iterable(zip(values.ids, of_rows, strict=True))
            elif common:
                yield from self._processed(common, (values.common[common],))
            else:
                yield from values.ids

    def _processed(self, name: str, values: Sequence[Any]) -> Iterable[Any]:
        process = self.processors.get(name)
        return values if process is None else map(process, values)


@lru_cache(maxsize=_KEPT_STATEMENTS)
def _compile(dialect: Dialect, update: sa.Update) -> _CompiledUpdate:
    literals = {"literal_binds": True}
    text = str(update.compile(dialect=dialect, compile_kwargs=literals))
    # The text before a place, its name as that of an own or of a common value, or its being that
    # of the ids, the text before the next place, and so on.
    split = _PLACE.split(text)
    processors = {
        column.key: process
        for column in update.table.columns
        if (process := column.type.dialect_impl(dialect).bind_processor(dialect))
    }
    places = tuple(zip(split[1::4], split[2::4], strict=True))
    return _CompiledUpdate(tuple(split[::4]), places, processors)
