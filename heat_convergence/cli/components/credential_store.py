"""Storage of stacks' credentials in the database.

Implements ``clients.delegation.CredentialStore``. Built by ``assembly``; every call is one
transaction, retried where that helps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from sqlalchemy.engine import Connection

from heat_convergence.clients.credentials import Credential
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.db.connection.database import Database
from heat_convergence.db.statements import credentials

T = TypeVar("T")


class DatabaseCredentialStore:
    """Encrypted credentials in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, tree_id: str) -> Credential | None:
        """Return the credential of a stack tree, or None."""
        with self._database.read() as connection:
            found = credentials.get(connection, tree_id)
        return None if found is None else Credential.load(found)

    def put(self, tree_id: str, credential: Credential, now: datetime) -> None:
        """Store the credential of a stack tree."""
        self._write(lambda c: credentials.upsert(c, tree_id, credential.dump(), now))

    def delete(self, tree_id: str) -> None:
        """Delete the credential of a stack tree."""
        self._write(lambda c: credentials.delete(c, tree_id))

    def list_orphaned(self, before: datetime, limit: int) -> list[tuple[str, Credential]]:
        """Return trees and credentials without a stack that were stored before a time."""
        with self._database.read() as connection:
            found = credentials.list_orphaned(connection, before, limit)
        return [(tree_id, Credential.load(body)) for tree_id, body in found]

    def _write(self, work: Callable[[Connection], T]) -> T:
        def attempt() -> T:
            with self._database.write() as connection:
                return work(connection)

        return retry_transaction(attempt, wait=time.sleep)
