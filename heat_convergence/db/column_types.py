"""Column types that behave alike on SQLite, MariaDB and PostgreSQL.

A stored value that cannot be decoded is read as an ``UnreadableValue``, so that a statement that
reads many rows goes on with the others (RULE 11).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from heat_convergence.common.failures import InvalidEncryptionKey
from heat_convergence.common.sanitization import sanitize_text
from heat_convergence.common.stored_values import UnreadableMap, UnreadableValue
from heat_convergence.db.encryption.column_encryption import (
    ENCRYPTED_PREFIX,
    SensitiveValue,
    get_keyring,
)

LongText = Text().with_variant(LONGTEXT(), "mysql", "mariadb")


class WideText(TypeDecorator[Any]):
    """Text without a limit that values reach: MySQL's own TEXT ends at 64 KiB."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's type."""
        wide = LONGTEXT() if dialect.name in ("mysql", "mariadb") else Text()
        return dialect.type_descriptor(wide)


class JsonText(WideText):
    """A map as JSON text: parsed here, never inspected by the database.

    A ``SensitiveValue`` is encrypted; reading returns the value itself.
    """

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return the text to store."""
        if value is None:
            return None
        plain = value.value if isinstance(value, SensitiveValue) else value
        if isinstance(plain, UnreadableValue):
            return str(plain.stored)  # another key, or another release, may decode it
        text = dump_json(plain)
        if isinstance(value, SensitiveValue):
            return ENCRYPTED_PREFIX + get_keyring(dialect).encrypt(text)
        return text

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None:
            return None
        if value == "{}":
            return {}
        found = _decode_json(value, dialect)
        if isinstance(found, dict):
            return found
        cause = found.cause if isinstance(found, UnreadableValue) else "it is no map"
        return UnreadableMap(cause, value)


class EncryptedText(WideText):
    """Text that may hold secrets.

    It is encrypted wherever there is a key, as every service has one; a tool without a
    key stores it as it is.
    """

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the value to store."""
        keyring = get_keyring(dialect)
        return value if value is None or not keyring else ENCRYPTED_PREFIX + keyring.encrypt(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        return value if value is None else _decrypt(value, dialect)


class ReasonText(WideText):
    """A reason from anywhere, without the characters that a database cannot store."""

    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the value to store."""
        return None if value is None else sanitize_text(value)


class UtcTime(TypeDecorator[datetime]):
    """An aware UTC time as microseconds since 1970.

    An integer, because the time types of the three databases differ in zones, fractions
    and comparison.
    """

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """Return the value to store."""
        return None if value is None else to_microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None:
            return None
        try:
            return from_microseconds(value)
        except (OverflowError, TypeError, ValueError):
            return UnreadableValue("it is no time", value)


class EnumText(TypeDecorator[Any]):
    """A member of a string enumeration, stored as its value."""

    impl = String
    cache_ok = True

    def __init__(self, enum_class: type[StrEnum]) -> None:
        """Store members of ``enum_class``."""
        super().__init__(16)
        self.enum_class = enum_class
        self._members = {member.value: member for member in enum_class}  # faster than the class

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return the value to store."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None:
            return None
        member = self._members.get(value)
        if member is None:
            return UnreadableValue(f"this release has no such {self.enum_class.__name__}", value)
        return member


class NameList(JsonText):
    """A tuple of names, as JSON."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None or value == "[]":
            return ()
        found = _decode_json(value, dialect)
        if isinstance(found, UnreadableValue):
            return found
        if isinstance(found, list) and all(isinstance(each, str) for each in found):
            return tuple(found)
        return UnreadableValue("it is no list of names", value)


def _decode_json(text: str, dialect: Dialect) -> Any:
    plain = _decrypt(text, dialect)
    if isinstance(plain, UnreadableValue):
        return plain
    try:
        return json.loads(plain)
    except (ValueError, RecursionError):
        return UnreadableValue("it is no valid JSON", text)


def _decrypt(text: str, dialect: Dialect) -> str | UnreadableValue:
    """Return the text of an encrypted value; that of another one as it is."""
    if not text.startswith(ENCRYPTED_PREFIX):
        return text
    try:
        return get_keyring(dialect).decrypt(text[len(ENCRYPTED_PREFIX) :])
    except (InvalidEncryptionKey, ValueError) as error:
        known = isinstance(error, InvalidEncryptionKey)
        return UnreadableValue(str(error) if known else "it is no valid text", text)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_TIME = datetime.min.replace(tzinfo=UTC)
LATEST_TIME = datetime.max.replace(tzinfo=UTC)


def to_microseconds(value: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    delta = value - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int) -> datetime:
    """Return the UTC time of microseconds since 1970."""
    return _EPOCH + timedelta(0, 0, value)  # quicker than by keyword


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_EMPTY: Mapping[type, str] = {dict: "{}", list: "[]", tuple: "[]"}
_ASCII_ENCODER = json.JSONEncoder(separators=(",", ":"))


def dump_json(value: Any) -> str:
    """Return compact JSON that can be encoded as UTF-8."""
    if not value and type(value) in _EMPTY:  # most columns of a new row
        return _EMPTY[type(value)]
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which must be escaped
        return _ASCII_ENCODER.encode(value)
    return text
