"""Results of MariaDB and MySQL, read with less processor time than PyMySQL takes.

Statements are few here, and their columns the same again and again: the descriptions of a
statement's columns are kept as a whole by the packets that they came in, and a row is parsed in
one loop in place of three calls for each value. All else is PyMySQL's. Imported by
``connection.database`` for engines with this driver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from pymysql import err
from pymysql.connections import Connection, MySQLResult
from pymysql.constants import CR
from pymysql.protocol import FieldDescriptorPacket, MysqlPacket
from sqlalchemy.engine import Engine

# The first byte of a value is its length, or says how many bytes its length has.
_NULL = 251
_LENGTH_BYTES = {252: 2, 253: 3, 254: 8}
_KEPT_DESCRIPTIONS = 2048  # a service has some five hundred columns, of a kilobyte each
_KEPT_RESULTS = 1024  # a service has some three hundred statements
_ERROR = b"\xff"  # the first byte of a packet with an error
_HEADER_SIZE = 4  # three bytes of the size, and the number of the packet

# The packets that describe a result's columns → its fields, converters and description.
# Connections have the same converters of values: no URL can name others.
_RESULTS: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}


def read_rows_quickly(engine: Engine) -> None:
    """Make connections of the engine read results as ``QuickConnection`` does."""
    engine.dialect.connect = QuickConnection  # type: ignore[method-assign]


class QuickConnection(Connection):  # type: ignore[misc]  # untyped library
    """A connection that keeps descriptions of columns, and whose results parse rows at once."""

    _next_seq_id: int
    _unparsed: Iterator[bytes] = iter(())  # the packets of columns that were read

    def read_columns(self, count: int) -> Sequence[bytes]:
        """Return the next packets, which describe columns, without parsing them.

        Raises:
            MySQLError: the server sends an error instead, after which no packets follow, or the
                connection is lost.
        """
        packets = []
        for _ in range(count):
            header = self._read_bytes(_HEADER_SIZE)
            if header[3] != self._next_seq_id:
                self._force_close()
                raise err.OperationalError(CR.CR_SERVER_LOST, "Packets of a result are missing")
            self._next_seq_id = (self._next_seq_id + 1) % 256
            data = self._read_bytes(int.from_bytes(header[:3], "little"))
            if data.startswith(_ERROR):
                MysqlPacket(data, self.encoding).raise_for_error()
            packets.append(data)
        self._unparsed = iter(packets)
        return packets

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

    def _read_row_from_packet(self, packet: MysqlPacket) -> tuple[Any, ...]:
        data = packet.get_all_data()
        try:
            row, end = self._parse(data)
        except (IndexError, KeyError):  # fewer values than columns, or no length
            end = None
        if end != len(data):
            packet.rewind()
            return tuple(super()._read_row_from_packet(packet))
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
