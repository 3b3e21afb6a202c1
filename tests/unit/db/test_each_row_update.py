"""One UPDATE gives each row values of its own, and keeps little of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.exc import StatementError

from heat_convergence.db import each_row_update
from heat_convergence.db.column_types import JsonText
from heat_convergence.db.each_row_update import (
    ANY_ROW,
    RowValues,
    common_value,
    update_rows_each,
    value_of_row,
)

TABLE = sa.Table(
    "probe",
    sa.MetaData(),
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("stored_name", JsonText, key="value"),
    sa.Column("state", sa.Text),
    sa.Column("log", sa.Text),
)
ROWS = {"a": "A", "b": "B", "c": "C"}


@pytest.fixture
def connection() -> Iterator[sa.Connection]:
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        TABLE.create(connection)
        rows = [{"id": row_id, "log": log} for row_id, log in ROWS.items()]
        connection.execute(TABLE.insert(), rows)
        yield connection
    engine.dispose()


def build() -> sa.Update:
    row_id = TABLE.c.id
    added = value_of_row(row_id, "added", sa.literal(""))
    return (
        TABLE.update()
        .where(row_id.in_([ANY_ROW]))
        .values(
            value=value_of_row(row_id, "value", TABLE.c.value),
            state=common_value("state"),
            log=TABLE.c.log + added,
        )
    )


def values_of(*ids: str, **values: Any) -> RowValues:
    own: dict[str, list[Any]] = {
        "value": [{"n": row_id} for row_id in ids],
        "added": [f"+{row_id}" for row_id in ids],
    }
    return RowValues(ids, {"state": "50 % of ?"}, own | values)


def test_rows_get_values_of_their_own_and_common_ones(connection: sa.Connection) -> None:
    update_rows_each(connection, build(), values_of("a", "c"))
    assert connection.execute(sa.select(TABLE).order_by(TABLE.c.id)).all() == [
        ("a", {"n": "a"}, "50 % of ?", "A+a"),
        ("b", None, None, "B"),
        ("c", {"n": "c"}, "50 % of ?", "C+c"),
    ]


@pytest.mark.parametrize("dialect_class", [mysql.dialect, postgresql.dialect])
def test_servers_get_a_mark_for_each_parameter(dialect_class: Any) -> None:
    compiled = each_row_update._compile(dialect_class(), build())
    values = values_of("a", "b")
    text = compiled.text_for(values, "%s")
    assert text.count("WHEN %s THEN %s WHEN %s THEN %s") == 2
    assert text.endswith("WHERE probe.id IN (%s, %s)")
    assert text.count("%s") == len(list(compiled.parameters_of(values))) == 11


def test_statements_of_any_number_of_rows_are_compiled_once(connection: sa.Connection) -> None:
    update = build()
    before = each_row_update._compile.cache_info().misses
    for count in (1, 2, 3):
        update_rows_each(connection, update, values_of(*list(ROWS)[:count]))
    assert each_row_update._compile.cache_info().misses == before + 1


def test_a_value_that_a_type_refuses_fails_the_statement(connection: sa.Connection) -> None:
    refused = {"n": object()}
    with pytest.raises(StatementError, match="TypeError in a value"):
        update_rows_each(connection, build(), values_of("a", "b", value=[refused, refused]))
