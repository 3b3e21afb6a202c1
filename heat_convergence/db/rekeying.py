"""All that is sealed, sealed anew: with the newest key, or not at all.

Called by ``heat-convergence-manage`` while daemons run.  Reads tables in the order of
their keys, in batches; a value that somebody else writes meanwhile is theirs, and
is sealed with the newest key already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from heat_convergence.common.errors import InvalidEncryptionKey
from heat_convergence.db.engine import Database
from heat_convergence.db.purging import changed_rows
from heat_convergence.db.sealing import SEAL, Keyring
from heat_convergence.db.tables import metadata
from heat_convergence.db.types import Json, Names, SealedText

BATCH = 200
# Tables whose values are sealed whatever they hold; others where a row says ``sensitive``.
_ALWAYS = frozenset({"stack_credential", "software_config", "software_deployment", "content"})
_PLAIN = {"goal": {"files"}, "resource": {"requires", "draws_on", "holds"}}

Change = Callable[[str, bool], str]  # stored text, whether it is to be sealed → new text


@dataclass(frozen=True, slots=True)
class Rekeyed:
    """How many values were rewritten, and how many no key opens."""

    changed: int = 0
    unreadable: int = 0


def rotate(keyring: Keyring) -> Change:
    """With the newest key; what is not sealed stays so."""

    def change(text: str, sensitive: bool) -> str:
        if not text.startswith(SEAL) or keyring.newest(text[len(SEAL) :]):
            return text
        return SEAL + keyring.seal(keyring.open(text[len(SEAL) :]))

    return change


def encrypt(keyring: Keyring) -> Change:
    """What ought to be sealed and is not."""

    def change(text: str, sensitive: bool) -> str:
        if text.startswith(SEAL) or not sensitive:
            return text
        return SEAL + keyring.seal(text)

    return change


def decrypt(keyring: Keyring) -> Change:
    """In clear."""

    def change(text: str, sensitive: bool) -> str:
        return keyring.open(text[len(SEAL) :]) if text.startswith(SEAL) else text

    return change


def rekey(database: Database, change: Change, *, batch: int = BATCH) -> Rekeyed:
    """Rewrites every stored value that ``change`` makes another of."""
    changed = unreadable = 0
    for table, columns in sealable():
        for row in _rows(database, table, columns, batch):
            done, failed = _rewrite(database, table, columns, row, change)
            changed += done
            unreadable += failed
    return Rekeyed(changed, unreadable)


def sealable() -> list[tuple[sa.Table, tuple[str, ...]]]:
    """(table, columns) that may hold sealed values."""
    found = []
    for table in metadata.sorted_tables:
        plain = _PLAIN.get(table.name, set())
        columns = tuple(
            column.name
            for column in table.columns
            if isinstance(column.type, Json | SealedText)
            and not isinstance(column.type, Names)
            and column.name not in plain
        )
        if columns:
            found.append((table, columns))
    return found


def _rows(
    database: Database, table: sa.Table, columns: tuple[str, ...], batch: int
) -> Iterator[Any]:
    """Rows as stored: the key, whether they are sensitive, and the raw texts."""
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
    database: Database, table: sa.Table, columns: tuple[str, ...], row: Any, change: Change
) -> tuple[int, int]:
    """(values changed, values that no key opens) of one row."""
    (key,) = table.primary_key.columns
    changed = unreadable = 0
    for name in columns:
        text = row._mapping[name]
        if text is None:
            continue
        try:
            new = change(text, bool(row.sensitive_))
        except InvalidEncryptionKey:
            unreadable += 1
            continue
        if new == text:
            continue
        column = sa.type_coerce(table.c[name], sa.Text)
        update = table.update().where(key == row.key_, column == sa.literal(text, sa.Text))
        changed += changed_rows(database, update.values({name: sa.literal(new, sa.Text)}))
    return changed, unreadable
