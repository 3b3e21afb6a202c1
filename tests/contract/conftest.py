"""The stores under contract: in memory, SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import stack_row
from tests.conftest import MARIADB, POSTGRESQL, fresh_database

SERVERS = ("mariadb", "postgresql")


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """Its own: other tests drop tables, and here they are made once."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Its own: other tests drop tables, and here they are made once."""
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


@pytest.fixture(scope="session")
def databases() -> Iterator[dict[str, Database]]:
    """One database of each kind for the whole run, its schema made once."""
    opened: dict[str, Database] = {}
    yield opened
    for database in opened.values():
        database.close()


def _opened(kind: str, request: pytest.FixtureRequest, opened: dict[str, Database]) -> Database:
    if kind not in opened:
        if kind == "sqlite":
            folder = request.getfixturevalue("tmp_path_factory").mktemp("contract")
            url = f"sqlite:///{folder}/contract.sqlite"
        else:
            url = request.getfixturevalue(f"{kind}_url")
        database = database_from_url(url)
        metadata.create_all(database.engine)
        opened[kind] = database
    return opened[kind]


def _empty(database: Database) -> None:
    with database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())


def _sql_store(kind: str, request: pytest.FixtureRequest, opened: dict[str, Database]) -> SqlStore:
    """An empty store with keys to seal with, whatever tests before attached."""
    database = _opened(kind, request, opened)
    _empty(database)
    attach_keyring(database.engine, Keyring(["a key for tests"]))
    return SqlStore(database)


@pytest.fixture(params=["memory", "sqlite", *SERVERS])
def store(request: pytest.FixtureRequest, databases: dict[str, Database]) -> Store:
    if request.param == "memory":
        return MemoryStore()
    return _sql_store(request.param, request, databases)


@pytest.fixture(params=SERVERS)
def shared_store(request: pytest.FixtureRequest, databases: dict[str, Database]) -> SqlStore:
    """A store on which several transactions run at the same time."""
    return _sql_store(request.param, request, databases)


@pytest.fixture(params=["sqlite", *SERVERS])
def database(request: pytest.FixtureRequest, databases: dict[str, Database]) -> Database:
    """An empty database, for what only SQL does."""
    return _sql_store(request.param, request, databases).database


class StoreSeeder:
    """Puts rows into a store and reads them back, each call in its own transaction."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def stack(self, stack: Stack | None = None) -> Stack:
        stack = stack or stack_row()
        with self.store.transaction() as tx:
            tx.stacks.insert(stack)
        return stack

    def resources(self, *rows: Resource) -> None:
        with self.store.transaction() as tx:
            tx.resources.insert(rows)

    def row(self, resource_id: str) -> Resource:
        (row,) = self.rows(resource_id)
        return row

    def rows(self, *ids: str) -> list[Resource]:
        with self.store.transaction() as tx:
            return tx.resources.get(ids)


@pytest.fixture
def given(store: Store) -> StoreSeeder:
    """The store with one stack in it."""
    given = StoreSeeder(store)
    given.stack()
    return given


@pytest.fixture
def shared(shared_store: SqlStore) -> StoreSeeder:
    """As ``given``, on a store with several connections."""
    given = StoreSeeder(shared_store)
    given.stack()
    return given
