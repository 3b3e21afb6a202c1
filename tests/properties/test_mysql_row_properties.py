"""Any row of MariaDB is parsed as PyMySQL parses it."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymysql import err
from pymysql.connections import MySQLResult
from pymysql.protocol import MysqlPacket

from heat_convergence.db.connection.mysql_rows import QuickConnection, QuickResult

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


def receiving(*packets: tuple[int, bytes]) -> QuickConnection:
    """Return a connection to which a server sends packets, each with its number."""
    connection = QuickConnection(defer_connect=True)
    frames = [len(data).to_bytes(3, "little") + bytes([at]) + data for at, data in packets]
    connection._rfile = io.BytesIO(b"".join(frames))
    connection._next_seq_id = 1
    return connection


def test_columns_are_read_up_to_the_end_of_their_packets() -> None:
    connection = receiving((1, b"a" * 300), (2, b""), (3, b"rest"))
    assert connection.read_columns(2) == [b"a" * 300, b""]
    assert connection._next_seq_id == 3


@pytest.mark.parametrize("packets", [[(1, b"a"), (3, b"c")], [(1, b"a"), (0, b"ended")]])
def test_missing_packet_of_a_column_is_a_lost_connection(packets: Any) -> None:
    with pytest.raises(err.OperationalError) as raised:
        receiving(*packets).read_columns(2)
    assert raised.value.args[0] == 2013


def test_result_that_ends_amid_its_columns_is_a_lost_connection() -> None:
    with pytest.raises(err.OperationalError) as raised:
        receiving((1, b"a")).read_columns(2)
    assert raised.value.args[0] == 2013


def test_error_in_place_of_a_column_is_raised_without_waiting_for_others() -> None:
    killed = b"\xff" + (1317).to_bytes(2, "little") + b"#70100Query execution was interrupted"
    connection = receiving((1, b"a"), (2, killed))
    with pytest.raises(err.MySQLError) as raised:
        connection.read_columns(3)
    assert raised.value.args[0] == 1317
