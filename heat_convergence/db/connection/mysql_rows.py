"""Results of MariaDB and MySQL, read with less processor time than PyMySQL takes.

Statements are few here, and their columns the same again and again: the descriptions of a
statement's columns are kept as a whole by the packets that they came in, and a row is parsed in
one loop in place of three calls for each value, without an object for its packet. All else is
PyMySQL's. Imported by ``connection.database`` for engines with this driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pymysql import err
from pymysql.connections import MAX_PACKET_LEN, Connection, MySQLResult
from pymysql.constants import CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket
from sqlalchemy.engine import Engine

# The first byte of a value is its length, or says how many bytes its length has.
_NULL = 251
_LENGTH_BYTES = {252: 2, 253: 3, 254: 8}
_KEPT_DESCRIPTIONS = 2048  # a service has some five hundred columns, of a kilobyte each
_KEPT_RESULTS = 1024  # a service has some three hundred statements
_ERROR = b"\xff"  # the first byte of a packet with an error
_END, _LARGEST_END = b"\xfe", 8  # that of the packet after the rows, and its largest size
_HEADER_SIZE = 4  # three bytes of the size, and the number of the packet

# The packets that describe a result's columns → its fields, converters and description.
# Connections have the same converters of values: no URL can name others.
_RESULTS: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}


def read_rows_quickly(engine: Engine) -> None:
    """Make connections of the engine read results as ``QuickConnection`` does."""
    engine.dialect.connect = QuickConnection  # type: ignore[method-assign]


class QuickConnection(Connection):  # type: ignore[misc]  # untyped library
    """A connection that keeps descriptions of columns, and reads packets without an object."""

    _next_seq_id: int
    _unparsed: Iterator[bytes] = iter(())  # the packets of columns that were read

    def read_columns(self, count: int) -> Sequence[bytes]:
        """Return the next packets, which describe columns, without parsing them."""
        packets = [self.read_data() for _ in range(count)]
        self._unparsed = iter(packets)
        return packets

    def read_data(self) -> bytes:
        """Return what the next packet contains.

        Raises:
            MySQLError: the server sends an error instead, after which no packets follow, or the
                connection is lost.
        """
        data = self._read_part()
        if data.startswith(_ERROR):
            MysqlPacket(data, self.encoding).raise_for_error()
        if len(data) < MAX_PACKET_LEN:
            return data
        parts = [data]
        while len(parts[-1]) == MAX_PACKET_LEN:
            parts.append(self._read_part())
        return b"".join(parts)

    def _read_part(self) -> bytes:
        header = self._read_bytes(_HEADER_SIZE)
        if header[3] != self._next_seq_id:
            self._force_close()
            raise err.OperationalError(CR.CR_SERVER_LOST, "Packets of a result are missing")
        self._next_seq_id = (header[3] + 1) % 256
        part: bytes = self._read_bytes(int.from_bytes(header[:3], "little"))
        return part

    def _read_packet(self, packet_type: Any = MysqlPacket) -> Any:
        if packet_type is not FieldDescriptorPacket:
            return super()._read_packet(packet_type)
        return _parse_description(next(self._unparsed), self.encoding)

    def _read_query_result(self, unbuffered: bool = False) -> int:
        self._result = None
        result = QuickResult(self)
        if unbuffered:
            result.init_unbuffered_query()
        else:
            result.read()
        self._result = result
        if result.server_status is not None:
            self.server_status = result.server_status
        affected: int = result.affected_rows
        return affected


class QuickResult(MySQLResult):  # type: ignore[misc]  # untyped library
    """A result that knows its columns by their packets, and parses a row in one loop."""

    connection: Any
    affected_rows: int

    def _get_descriptions(self) -> None:
        connection = self.connection
        key = (connection.encoding, *connection.read_columns(self.field_count))
        known = _RESULTS.get(key)
        if known is not None:
            self.fields, self.converters, self.description = known
            connection._read_packet()  # the end of the descriptions
            return
        super()._get_descriptions()
        if len(_RESULTS) >= _KEPT_RESULTS:
            _RESULTS.clear()
        _RESULTS[key] = self.fields, self.converters, self.description

    def _read_rowdata_packet(self) -> None:
        connection, parse_row, rows = self.connection, self._parse_row, []
        data = connection.read_data()
        while len(data) > _LARGEST_END or not data.startswith(_END):
            rows.append(parse_row(data))
            data = connection.read_data()
        self._check_packet_is_eof(MysqlPacket(data, connection.encoding))
        self.connection = None  # as PyMySQL does: the result is complete
        self.affected_rows = len(rows)
        self.rows = tuple(rows)

    def _read_row_from_packet(self, packet: MysqlPacket) -> tuple[Any, ...]:
        return self._parse_row(packet.get_all_data())

    def _parse_row(self, data: bytes) -> tuple[Any, ...]:
        try:
            row, end = self._parse(data)
        except (IndexError, KeyError):  # fewer values than columns, or no length
            end = None
        if end != len(data):
            return tuple(super()._read_row_from_packet(MysqlPacket(data, None)))
        return tuple(row)

    def _parse(self, data: bytes) -> tuple[list[Any], int]:
        """Return the values of a row, and where the last of them ends."""
        start = 0
        row: list[Any] = []
        for encoding, convert in self.converters:
            length = data[start]
            start += 1
            if length == _NULL:
                row.append(None)
                continue
            if length > _NULL:
                size = _LENGTH_BYTES[length]
                length = int.from_bytes(data[start : start + size], "little")
                start += size
            value: Any = data[start : start + length]
            start += length
            if encoding is not None:
                value = value.decode(encoding)
            row.append(value if convert is None else convert(value))
        return row, start


class _Description(FieldDescriptorPacket):  # type: ignore[misc]  # untyped library
    """The description of a column, which is made once."""

    def __init__(self, data: bytes, encoding: str) -> None:
        super().__init__(data, encoding)
        self._description = super().description()

    def description(self) -> Any:
        """Return what the cursor's ``description`` shows."""
        return self._description


@lru_cache(maxsize=_KEPT_DESCRIPTIONS)
def _parse_description(data: bytes, encoding: str) -> _Description:
    return _Description(data, encoding)
