"""Long values of resources and events, stored once by their hashes.

Called by the statements that write and read their rows, so that nobody above knows
of it.  Two hundred servers with the same user data have it once, not in each row and
each event.  Decides nothing about what is long: ``template.expression`` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.db import goals
from heat_convergence.db.sealing import SEAL
from heat_convergence.db.tables import event, resource
from heat_convergence.template import expression

Json = Any
Columns = dict[str, Any]
SHARED = ("properties", "attributes")  # maps, of resources and events
_MARK = "$shared"  # the only key of a map that leads to contents
_PLACES = ((resource, SHARED), (event, ("properties",)))


def move_out(connection: Connection, rows: Sequence[Columns]) -> None:
    """Puts marks in the place of long values, which become contents."""
    texts: dict[str, str] = {}
    for row in rows:
        for name in SHARED:
            if row.get(name):
                row[name] = _lean(row[name], texts)
    goals.put_contents(connection, texts)


def bring_back(connection: Connection, rows: Sequence[Columns]) -> None:
    """The values again, with one statement at most."""
    places = [
        (row, name) for row in rows for name in SHARED if row.get(name) and _MARK in row[name]
    ]
    if not places:
        return
    texts = goals.get_contents(connection, _hashes(row[name] for row, name in places))
    for row, name in places:
        row[name] = {
            key: expression.load(expression.unshare(value, texts.__getitem__))
            for key, value in row[name][_MARK].items()
        }


def led_to(connection: Connection) -> Iterator[tuple[str, set[str]]]:
    """A stack's id and hashes that one of its resources or events leads to."""
    for table, names in _PLACES:
        for name in names:
            raw = sa.type_coerce(table.c[name], sa.Text)
            marked = sa.or_(raw.like(f'{{"{_MARK}"%'), raw.like(f"{SEAL}%"))
            query = sa.select(table.c.stack_id, table.c[name].label("value")).where(marked)
            for row in connection.execute(query.execution_options(yield_per=1000)):
                if _MARK in row.value:
                    yield row.stack_id, _hashes([row.value])


def _lean(value: Json, texts: dict[str, str]) -> Json:
    own: dict[str, str] = {}
    lean = expression.share_plain(value, own)
    if not own and _MARK not in value:
        return value
    texts.update(own)
    return {_MARK: lean}


def _hashes(marked: Iterable[Json]) -> set[str]:
    hashes = (expression.shared_hashes(list(value[_MARK].values())) for value in marked)
    return set().union(*hashes)
