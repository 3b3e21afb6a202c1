"""Rewriting of encrypted values: with the newest key, or as plain text.

Called by ``heat-convergence-manage`` while daemons run.  Reads tables in the order of
their keys, in batches.  A value that a daemon writes meanwhile is left alone: it is
encrypted with the newest key already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from heat_convergence.common.failures import InvalidEncryptionKey
from heat_convergence.db.column_types import EncryptedText, JsonText, NameList
from heat_convergence.db.connection.database import Database
from heat_convergence.db.encryption.column_encryption import ENCRYPTED_PREFIX, Keyring
from heat_convergence.db.maintenance.purge import execute_with_retry
from heat_convergence.db.tables import metadata

BATCH_SIZE = 200
# Tables whose values are always encrypted; in others, those of rows with ``sensitive``.
_ALWAYS = frozenset(
    {"stack_credential", "software_config", "software_deployment", "content", "stack_plan"}
)
_NEVER = {"goal": {"files"}}  # names and hashes

TextRewrite = Callable[[str, bool], str]  # (stored text, whether it is sensitive) → new text


@dataclass(frozen=True, slots=True)
class KeyRotationResult:
    """Numbers of values that were rewritten, and that no key decrypts."""

    rewritten: int = 0
    unreadable: int = 0


def rotate_to_newest_key(keyring: Keyring) -> TextRewrite:
    """Return a rewrite that encrypts with the newest key what is encrypted already."""

    def rotate(text: str, sensitive: bool) -> str:
        """Encrypt with the newest key, unless that has been done."""
        if not text.startswith(ENCRYPTED_PREFIX) or keyring.is_encrypted_with_newest_key(
            text[len(ENCRYPTED_PREFIX) :]
        ):
            return text
        return ENCRYPTED_PREFIX + keyring.encrypt(keyring.decrypt(text[len(ENCRYPTED_PREFIX) :]))

    return rotate


def encrypt_plaintext(keyring: Keyring) -> TextRewrite:
    """Return a rewrite that encrypts sensitive values stored as plain text."""

    def encrypt(text: str, sensitive: bool) -> str:
        """Encrypt a sensitive plain text."""
        if text.startswith(ENCRYPTED_PREFIX) or not sensitive:
            return text
        return ENCRYPTED_PREFIX + keyring.encrypt(text)

    return encrypt


def verify_keys(keyring: Keyring) -> TextRewrite:
    """Return a rewrite that changes nothing, to count the values that no key decrypts."""

    def verify(text: str, sensitive: bool) -> str:
        """Decrypt an encrypted text, and return it as it is stored."""
        if text.startswith(ENCRYPTED_PREFIX):
            keyring.decrypt(text[len(ENCRYPTED_PREFIX) :])
        return text

    return verify


def decrypt_to_plaintext(keyring: Keyring) -> TextRewrite:
    """Return a rewrite that decrypts all values."""

    def decrypt(text: str, sensitive: bool) -> str:
        """Decrypt an encrypted text."""
        return (
            keyring.decrypt(text[len(ENCRYPTED_PREFIX) :])
            if text.startswith(ENCRYPTED_PREFIX)
            else text
        )

    return decrypt


def rewrite_encrypted_values(
    database: Database, rewrite: TextRewrite, *, batch_size: int = BATCH_SIZE
) -> KeyRotationResult:
    """Rewrite every stored value that ``rewrite`` changes."""
    changed = unreadable = 0
    for table, columns in list_encryptable_columns():
        for row in _rows(database, table, columns, batch_size):
            done, failed = _rewrite(database, table, columns, row, rewrite)
            changed += done
            unreadable += failed
    return KeyRotationResult(changed, unreadable)


def count_unreadable(database: Database, keyring: Keyring, limit: int) -> int:
    """Return how many values of the newest rows no key decrypts.

    Args:
        database: The database.
        keyring: The keys.
        limit: The number of rows that are read of each table whose values are always encrypted.
    """
    verify, unreadable = verify_keys(keyring), 0
    for table, columns in list_encryptable_columns():
        if table.name not in _ALWAYS:
            continue
        (key,) = table.primary_key.columns
        raw = [sa.type_coerce(table.c[name], sa.Text).label(name) for name in columns]
        query = sa.select(key.label("key_"), sa.literal(True).label("sensitive_"), *raw)
        with database.read() as conn:
            rows = conn.execute(query.order_by(key.desc()).limit(limit)).all()
        unreadable += sum(_rewrite(database, table, columns, row, verify)[1] for row in rows)
    return unreadable


def list_encryptable_columns() -> list[tuple[sa.Table, tuple[str, ...]]]:
    """Return (table, columns) that may hold encrypted values."""
    found = []
    for table in metadata.sorted_tables:
        plain = _NEVER.get(table.name, set())
        columns = tuple(
            column.key
            for column in table.columns
            if isinstance(column.type, JsonText | EncryptedText)
            and not isinstance(column.type, NameList)
            and column.key not in plain
        )
        if columns:
            found.append((table, columns))
    return found


def _rows(
    database: Database, table: sa.Table, columns: tuple[str, ...], batch: int
) -> Iterator[Any]:
    """Return rows as stored: key_, sensitive_ and the raw texts by column."""
    (key,) = table.primary_key.columns
    always = table.name in _ALWAYS
    sensitive = sa.literal(True) if always or "sensitive" not in table.c else table.c.sensitive
    raw = [sa.type_coerce(table.c[name], sa.Text).label(name) for name in columns]
    last = ""
    while True:
        query = sa.select(key.label("key_"), sensitive.label("sensitive_"), *raw)
        with database.read() as conn:
            rows = conn.execute(query.where(key > last).order_by(key).limit(batch)).all()
        yield from rows
        if len(rows) < batch:
            return
        last = rows[-1].key_


def _rewrite(
    database: Database, table: sa.Table, columns: tuple[str, ...], row: Any, rewrite: TextRewrite
) -> tuple[int, int]:
    """Rewrite one row; return (values changed, values that no key decrypts)."""
    (key,) = table.primary_key.columns
    changed = unreadable = 0
    for name in columns:
        text = row._mapping[name]
        if text is None:
            continue
        try:
            new = rewrite(text, bool(row.sensitive_))
        except InvalidEncryptionKey:
            unreadable += 1
            continue
        if new == text:
            continue
        column = sa.type_coerce(table.c[name], sa.Text)
        update = table.update().where(key == row.key_, column == sa.literal(text, sa.Text))
        changed += execute_with_retry(database, update.values({name: sa.literal(new, sa.Text)}))
    return changed, unreadable
