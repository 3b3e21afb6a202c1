"""Column types that behave alike on SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, String, Text
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from heat_convergence.common.sanitization import sanitize_text
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
    """JSON as text: parsed here, never inspected by the database.

    A ``SensitiveValue`` is encrypted; reading returns the value itself.
    """

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return the text to store."""
        if value is None:
            return None
        if isinstance(value, SensitiveValue):
            return ENCRYPTED_PREFIX + get_keyring(dialect).encrypt(dump_json(value.value))
        return dump_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None:
            return None
        if value.startswith(ENCRYPTED_PREFIX):
            value = get_keyring(dialect).decrypt(value[len(ENCRYPTED_PREFIX) :])
        return json.loads(value)


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

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the value that was stored."""
        if value is None or not value.startswith(ENCRYPTED_PREFIX):
            return value
        return get_keyring(dialect).decrypt(value[len(ENCRYPTED_PREFIX) :])


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

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """Return the value that was stored."""
        return None if value is None else from_microseconds(value)


class EnumText(TypeDecorator[Any]):
    """A member of a string enumeration, stored as its value."""

    impl = String
    cache_ok = True

    def __init__(self, enum_class: type[StrEnum]) -> None:
        """Store members of ``enum_class``."""
        super().__init__(16)
        self.enum_class = enum_class

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        """Return the value to store."""
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        return None if value is None else self.enum_class(value)


class NameList(JsonText):
    """A tuple of names, as JSON."""

    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the value that was stored."""
        if value is None or value == "[]":
            return ()
        return tuple(json.loads(value))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_microseconds(value: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    delta = value - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int) -> datetime:
    """Return the UTC time of microseconds since 1970."""
    return datetime.fromtimestamp(value // 1_000_000, UTC).replace(microsecond=value % 1_000_000)


_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_ASCII_ENCODER = json.JSONEncoder(separators=(",", ":"))


def dump_json(value: Any) -> str:
    """Return compact JSON that can be encoded as UTF-8."""
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates, which must be escaped
        return _ASCII_ENCODER.encode(value)
    return text
