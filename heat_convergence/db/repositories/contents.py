"""The content store in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy.engine import Connection

from heat_convergence.convergence.ports.contents import ContentRepository
from heat_convergence.db.statements.contents import get_contents, put_contents


class SqlContentRepository(ContentRepository):
    """Contents on a database connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(self, contents: Mapping[str, str]) -> None:
        """Store texts by hash; a text that is stored already stays."""
        put_contents(self._connection, contents)

    def get(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return those of the texts that are stored, by hash."""
        return get_contents(self._connection, hashes)
