"""Deduplication of long values of resources and events, stored once by their hashes.

Called by the statements that write and read their rows, so that callers do not know of
it.  Two hundred servers with the same user data have it once, not in each row and each
event.  ``template.expression`` decides which values are long.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.failures import RowsContradict
from heat_convergence.common.stored_values import ContentMap, readable_or_empty
from heat_convergence.db.encryption.column_encryption import ENCRYPTED_PREFIX
from heat_convergence.db.statements import contents
from heat_convergence.db.tables import event, resource
from heat_convergence.template import expression

Json = Any
ColumnValues = dict[str, Any]
DEDUPLICATED_COLUMNS = ("properties", "attributes")  # maps, of resources and events
_MARK = "$shared"  # the only key of a map that refers to contents
_TABLES: tuple[tuple[sa.Table, tuple[str, ...], sa.ColumnElement[Any]], ...] = (
    (resource, DEDUPLICATED_COLUMNS, resource.c.name),
    (event, ("properties",), sa.null()),
)
LOG = logging.getLogger(__name__)
# Errors of a reference that was changed by hand or damaged, or whose contents were.
_MALFORMED = (
    RowsContradict,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def store_shared(connection: Connection, rows: Sequence[ColumnValues]) -> None:
    """Replace long values in rows by references to contents, and store those."""
    texts: dict[str, str] = {}
    for row in rows:
        for name in DEDUPLICATED_COLUMNS:
            if readable_or_empty(row.get(name)):
                row[name] = _deduplicate(row[name], texts)
    contents.put_contents(connection, texts)


def has_references(*values: Mapping[str, Json] | None) -> bool:
    """Return whether one of the stored values refers to contents."""
    return any(isinstance(readable_or_empty(value).get(_MARK), dict) for value in values)


def load_shared(connection: Connection, rows: Sequence[ColumnValues]) -> None:
    """Replace references in rows by their values, with one statement at most.

    A long value that is the same in several rows is one object.
    """
    marked = [
        (row, name)
        for row in rows
        for name in DEDUPLICATED_COLUMNS
        if has_references(row.get(name))
    ]
    if not marked:
        return
    texts = contents.get_contents(connection, _hashes(row[name] for row, name in marked))
    known: dict[str, Json] = {}
    for row, name in marked:
        row[name] = _restore(row[name][_MARK], texts, known)


@dataclass(frozen=True, slots=True)
class ContentReference:
    """The contents that a row refers to; ``resource_name`` is None for an event."""

    stack_id: str
    resource_name: str | None
    hashes: frozenset[str]


def find_content_references(connection: Connection) -> Iterator[ContentReference]:
    """Return the contents that resources and events refer to, row by row."""
    for table, names, label in _TABLES:
        for name in names:
            raw = sa.type_coerce(table.c[name], sa.Text)
            marked = sa.or_(raw.like(f'{{"{_MARK}"%'), raw.like(f"{ENCRYPTED_PREFIX}%"))
            columns = (table.c.stack_id, label.label("name"), table.c[name].label("value"))
            query = sa.select(*columns).where(marked)
            for row in connection.execute(query.execution_options(yield_per=1000)):
                if has_references(row.value):
                    yield ContentReference(row.stack_id, row.name, frozenset(_hashes([row.value])))


def _restore(
    marked: dict[str, Json], texts: ContentMap, known: dict[str, Json]
) -> dict[str, Json]:
    """Return the values except lost ones.

    The rest of the row is of use, and a job sets values again that it does not find.
    """
    found = {}
    for key, value in marked.items():
        try:
            found[key] = expression.load_deduplicated(value, texts.__getitem__, known)
        except _MALFORMED as error:
            LOG.warning(
                "stored value cannot be read, ignored: name=%(name)s error=%(error)s",
                {"name": key, "error": error},
            )
    return found


def _deduplicate(value: Json, texts: dict[str, str]) -> Json:
    own: dict[str, str] = {}
    short = expression.deduplicate_plain_values(value, own)
    if not own and _MARK not in value:
        return value
    texts.update(own)
    return {_MARK: short}


def _hashes(marked: Iterable[Json]) -> set[str]:
    """Return the hashes that values refer to, without those of malformed references."""
    found: set[str] = set()
    for value in marked:
        for shared in value[_MARK].values():
            with suppress(*_MALFORMED):
                found |= expression.collect_content_hashes(shared)
    return {digest for digest in found if isinstance(digest, str)}
