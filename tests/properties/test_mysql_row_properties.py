"""Any row of MariaDB is parsed as PyMySQL parses it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql.connections import MySQLResult
from pymysql.protocol import MysqlPacket

from heat_convergence.db.connection.mysql_rows import QuickResult

TEXT, BINARY, NUMBER = ("utf-8", None), (None, None), ("ascii", int)
Column = tuple[str | None, Callable[[str], Any] | None]


def encode(value: bytes | None) -> bytes:
    """Return a value as the server sends it."""
    if value is None:
        return b"\xfb"
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    for mark, width in ((b"\xfc", 2), (b"\xfd", 3)):
        if size < 1 << 8 * width:
            return mark + size.to_bytes(width, "little") + value
    return b"\xfe" + size.to_bytes(8, "little") + value


def parse(result_type: Any, columns: Sequence[Column], data: bytes) -> Any:
    result = result_type(connection=None)
    result.converters = columns
    return result._read_row_from_packet(MysqlPacket(data, "utf-8"))


VALUES = st.lists(
    st.one_of(
        st.none().map(lambda _: (TEXT, None)),
        st.text(max_size=300).map(lambda text: (TEXT, text.encode())),
        st.binary(max_size=300).map(lambda data: (BINARY, data)),
        st.integers().map(lambda number: (NUMBER, str(number).encode())),
    )
)


@given(VALUES)
def test_any_row_is_the_same(values: list[tuple[Column, bytes | None]]) -> None:
    columns = [column for column, _value in values]
    data = b"".join(encode(value) for _column, value in values)
    assert parse(QuickResult, columns, data) == parse(MySQLResult, columns, data)


@pytest.mark.parametrize("size", [0, 250, 251, 252, 65_535, 65_536, 1 << 24])
def test_length_of_any_width(size: int) -> None:
    data = encode(b"x" * size) + encode(b"7")
    assert parse(QuickResult, [TEXT, NUMBER], data) == ("x" * size, 7)


def test_row_with_fewer_values_than_columns() -> None:
    data = encode(b"a") + encode(b"1")
    found = parse(QuickResult, [TEXT, NUMBER, TEXT], data)
    assert found == parse(MySQLResult, [TEXT, NUMBER, TEXT], data) == ("a", 1)


def test_byte_that_is_no_length() -> None:
    data = b"\xff" + encode(b"1")
    found = parse(QuickResult, [TEXT, NUMBER], data)
    assert found == parse(MySQLResult, [TEXT, NUMBER], data) == (None, 1)


def test_value_that_ends_too_early_is_an_error() -> None:
    data = encode(b"a long value")[:-3]
    with pytest.raises(AssertionError, match="Result length not requested length"):
        parse(QuickResult, [TEXT], data)
