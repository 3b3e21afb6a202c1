"""The base of repositories that work inside a transaction."""

from __future__ import annotations

from sqlalchemy.engine import Connection


class SqlRepository:
    """A repository on the connection of one transaction."""

    def __init__(self, connection: Connection) -> None:
        """Use ``connection``, which is in a transaction."""
        self._connection = connection
