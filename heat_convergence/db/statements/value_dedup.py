"""Long values of resources and events, stored once by their hashes.

Called by the statements that write and read their rows, so that nobody above knows
of it.  Two hundred servers with the same user data have it once, not in each row and
each event.  Decides nothing about what is long: ``template.expression`` does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.content_map import ContentMap
from heat_convergence.common.errors import RowsContradict
from heat_convergence.db.encryption.column_encryption import ENCRYPTED_PREFIX
from heat_convergence.db.statements import contents
from heat_convergence.db.tables import event, resource
from heat_convergence.template import expression

Json = Any
ColumnValues = dict[str, Any]
DEDUPLICATED_COLUMNS = ("properties", "attributes")  # maps, of resources and events
_MARK = "$shared"  # the only key of a map that leads to contents
_PLACES: tuple[tuple[sa.Table, tuple[str, ...], sa.ColumnElement[Any]], ...] = (
    (resource, DEDUPLICATED_COLUMNS, resource.c.name),
    (event, ("properties",), sa.null()),
)
LOG = logging.getLogger(__name__)


def store_shared(connection: Connection, rows: Sequence[ColumnValues]) -> None:
    """Puts marks in the place of long values, which become contents."""
    texts: dict[str, str] = {}
    for row in rows:
        for name in DEDUPLICATED_COLUMNS:
            if row.get(name):
                row[name] = _lean(row[name], texts)
    contents.put_contents(connection, texts)


def load_shared(connection: Connection, rows: Sequence[ColumnValues]) -> None:
    """The values again, with one statement at most; what is long and the same in several
    rows is one object."""
    places = [
        (row, name)
        for row in rows
        for name in DEDUPLICATED_COLUMNS
        if row.get(name) and _MARK in row[name]
    ]
    if not places:
        return
    texts = contents.get_contents(connection, _hashes(row[name] for row, name in places))
    made: dict[str, Json] = {}
    for row, name in places:
        row[name] = _whole(row[name][_MARK], texts, made)


@dataclass(frozen=True, slots=True)
class ContentReference:
    """What a row leads to; ``resource`` is its resource's name, None for an event."""

    stack_id: str
    resource_name: str | None
    hashes: frozenset[str]


def find_content_references(connection: Connection) -> Iterator[ContentReference]:
    """What resources and events lead to."""
    for table, names, label in _PLACES:
        for name in names:
            raw = sa.type_coerce(table.c[name], sa.Text)
            marked = sa.or_(raw.like(f'{{"{_MARK}"%'), raw.like(f"{ENCRYPTED_PREFIX}%"))
            columns = (table.c.stack_id, label.label("name"), table.c[name].label("value"))
            query = sa.select(*columns).where(marked)
            for row in connection.execute(query.execution_options(yield_per=1000)):
                if _MARK in row.value:
                    yield ContentReference(row.stack_id, row.name, frozenset(_hashes([row.value])))


def _whole(marked: dict[str, Json], texts: ContentMap, made: dict[str, Json]) -> dict[str, Json]:
    """Without what is lost: the rest of the row is worth having, and a job sets again what
    it does not find."""
    found = {}
    for key, value in marked.items():
        try:
            found[key] = expression.load_deduplicated(value, texts.__getitem__, made)
        except RowsContradict as error:
            LOG.warning("a value of %(name)s is lost: %(error)s", {"name": key, "error": error})
    return found


def _lean(value: Json, texts: dict[str, str]) -> Json:
    own: dict[str, str] = {}
    lean = expression.deduplicate_plain_values(value, own)
    if not own and _MARK not in value:
        return value
    texts.update(own)
    return {_MARK: lean}


def _hashes(marked: Iterable[Json]) -> set[str]:
    hashes = (expression.collect_content_hashes(list(value[_MARK].values())) for value in marked)
    return set().union(*hashes)
