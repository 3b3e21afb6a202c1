"""The stores under contract: in memory, SQLite, MariaDB and PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

import pytest
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.encryption.column_encryption import Keyring, attach_keyring
from heat_convergence.db.reads import events as event_reads
from heat_convergence.db.reads.events import EventQuery
from heat_convergence.db.reads.services import list_services
from heat_convergence.db.store import SqlStore
from heat_convergence.db.tables import metadata
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.sample_rows import stack_row
from tests.conftest import MARIADB, POSTGRESQL, fresh_database

SERVERS = ("mariadb", "postgresql")


@contextmanager
def refused_by_store(pattern: str) -> Iterator[None]:
    """Expect an error whose text, or whose detail for the log, matches the pattern."""
    with pytest.raises(Exception) as refused:  # noqa: PT011  # each store has its own class
        yield
    detail = getattr(refused.value, "detail", "")
    assert re.search(pattern, f"{refused.value} {detail}", re.IGNORECASE)


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """Yield a database of its own: other tests drop tables, which are created once here."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """Yield a database of its own: other tests drop tables, which are created once here."""
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


@pytest.fixture(scope="session")
def databases() -> Iterator[dict[str, Database]]:
    """Yield one database of each dialect for the whole run, its schema created once."""
    opened: dict[str, Database] = {}
    yield opened
    for database in opened.values():
        database.close()


def _opened(dialect: str, request: pytest.FixtureRequest, opened: dict[str, Database]) -> Database:
    if dialect not in opened:
        if dialect == "sqlite":
            folder = request.getfixturevalue("tmp_path_factory").mktemp("contract")
            url = f"sqlite:///{folder}/contract.sqlite"
        else:
            url = request.getfixturevalue(f"{dialect}_url")
        database = database_from_url(url)
        metadata.create_all(database.engine)
        opened[dialect] = database
    return opened[dialect]


def _empty(database: Database) -> None:
    with database.write() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())


def _sql_store(
    dialect: str, request: pytest.FixtureRequest, opened: dict[str, Database]
) -> SqlStore:
    """Return an empty store with the keys for tests, whatever earlier tests attached."""
    database = _opened(dialect, request, opened)
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
    """Return a store on which several transactions run at the same time."""
    return _sql_store(request.param, request, databases)


@pytest.fixture(params=["sqlite", *SERVERS])
def database(request: pytest.FixtureRequest, databases: dict[str, Database]) -> Database:
    """Return an empty database, for what only SQL does."""
    return _sql_store(request.param, request, databases).database


class StoreSeeder:
    """A store with methods that insert or read rows, each in a transaction of its own."""

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
        """Return those of the resources that exist."""
        with self.store.transaction() as tx:
            return tx.resources.get(ids)

    def events(self) -> list[Event]:
        """Return the events of the stack ``stack-1``, by id, without their properties."""
        if isinstance(self.store, MemoryStore):
            found = self.store.tables.events
            return [replace(event, properties=None) for event in found]
        with self._read() as connection:
            query = EventQuery(sort_keys=("event_time",))
            return event_reads.list_page(connection, ["stack-1"], query)

    def services(self) -> list[ServiceRecord]:
        """Return the worker processes that have reported, by id."""
        if isinstance(self.store, MemoryStore):
            return [row for _id, row in sorted(self.store.tables.services.items())]
        with self._read() as connection:
            return list_services(connection)

    def _read(self) -> AbstractContextManager[Connection]:
        assert isinstance(self.store, SqlStore)
        return self.store.database.read()


@pytest.fixture
def seeder(store: Store) -> StoreSeeder:
    """Return the store with one stack in it."""
    seeder = StoreSeeder(store)
    seeder.stack()
    return seeder


@pytest.fixture
def shared(shared_store: SqlStore) -> StoreSeeder:
    """Return the same on a store with several connections."""
    seeder = StoreSeeder(shared_store)
    seeder.stack()
    return seeder
