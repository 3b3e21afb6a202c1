"""The content store in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from heat_convergence.convergence.ports.contents import ContentRepository
from heat_convergence.db.repositories.base import SqlRepository
from heat_convergence.db.statements.contents import get_contents, put_contents


class SqlContentRepository(SqlRepository, ContentRepository):
    """Contents on a database connection."""

    def put(self, contents: Mapping[str, str]) -> None:
        """Store texts by hash; a text that is stored already stays."""
        put_contents(self._connection, contents)

    def get(self, hashes: Collection[str]) -> Mapping[str, str]:
        """Return those of the texts that are stored, by hash."""
        return get_contents(self._connection, hashes)
