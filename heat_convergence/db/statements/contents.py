"""Statements about the content store: long texts, each kept once by its SHA-256.

Called by repositories, by ``value_dedup`` and by the API's reads.  Only goals, resources
and events refer to contents; whose they are does not matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.common.stored_values import ContentMap
from heat_convergence.db.index_hints import force_index
from heat_convergence.db.tables import content

# A shared lock: transactions that need the same popular text go on, a purge of it waits.
_KEEP = (
    force_index(sa.select(content.c.hash), content)
    .where(content.c.hash.in_(sa.bindparam("keys", expanding=True)), ~content.c.unused)
    .order_by(content.c.hash)
    .with_for_update(read=True)
)
_GET_CONTENTS = sa.select(content.c.hash, content.c.body).where(
    content.c.hash.in_(sa.bindparam("hashes", expanding=True))
)


def put_contents(connection: Connection, contents: Mapping[str, str]) -> None:
    """Store texts by hash.

    A text that is stored already stays, also when another transaction stores it, or is
    about to purge it, at the same moment.
    """
    if not contents:
        return
    kept = set(connection.scalars(_KEEP, {"keys": sorted(contents)}))
    rows = [{"hash": key, "body": contents[key]} for key in sorted(contents) if key not in kept]
    if rows:
        connection.execute(_insert_or_keep(connection.dialect.name), rows)


def get_contents(connection: Connection, hashes: Collection[str]) -> ContentMap:
    """Return those of the texts that are stored and can be decrypted, by hash."""
    if not hashes:
        return ContentMap()
    rows = connection.execute(_GET_CONTENTS, {"hashes": sorted(hashes)})
    return ContentMap((row.hash, row.body) for row in rows if isinstance(row.body, str))


@cache
def _insert_or_keep(dialect: str) -> Any:
    """Build an INSERT that locks a row that exists already and clears its ``unused``."""
    mysql = dialect in ("mysql", "mariadb")
    # The connection's dialect is loaded already; megabytes of the others are not needed.
    insert = import_module(f"sqlalchemy.dialects.{'mysql' if mysql else dialect}").insert
    if mysql:
        return insert(content).on_duplicate_key_update(unused=sa.false())
    return insert(content).on_conflict_do_update(
        index_elements=[content.c.hash], set_={"unused": sa.false()}
    )
