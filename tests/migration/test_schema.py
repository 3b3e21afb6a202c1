"""The migrated schema is the one the code expects, on every database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heat_convergence.db import migrate, revisions
from heat_convergence.db.engine import Database
from heat_convergence.db.tables import metadata, stack_tag
from tests.conftest import MARIADB, POSTGRESQL, fresh_database


@pytest.fixture(scope="module")
def mariadb_url() -> Iterator[str]:
    """Of this file alone: other tests leave tables in the shared one."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="module")
def postgresql_url() -> Iterator[str]:
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


def test_an_upgraded_database_equals_the_tables(database):
    assert revisions.current(database) is None
    migrate.upgrade(database)
    assert revisions.current(database) == revisions.HEAD
    assert migrate.differences(database) == []
    assert _indexes(database) == {
        table.name: {index.name for index in table.indexes} for table in metadata.sorted_tables
    }


def test_an_upgrade_is_repeatable(database):
    migrate.upgrade(database)
    migrate.upgrade(database)
    assert revisions.current(database) == revisions.HEAD


def test_a_missing_column_is_noticed(database):
    migrate.upgrade(database)
    with database.write() as connection:
        connection.execute(sa.text("ALTER TABLE event DROP COLUMN properties"))
    found = migrate.differences(database)
    assert [(kind, table, column.name) for kind, _, table, column in found] == [
        ("add_column", "event", "properties")
    ]


def test_foreign_keys_hold(database):
    migrate.upgrade(database)
    orphan = stack_tag.insert().values(stack_id="nobody", position=0, tag="t")
    with pytest.raises(Exception, match=r"(?i)foreign key"), database.write() as connection:
        connection.execute(orphan)


def _indexes(database: Database) -> dict[str, set[str]]:
    inspector = sa.inspect(database.engine)
    unique = {c.name for table in metadata.tables.values() for c in table.constraints}
    # MariaDB makes an index for a foreign key that has none, named like the key
    return {
        table: {index["name"] for index in inspector.get_indexes(table)} - unique
        for table in inspector.get_table_names()
        if table in metadata.tables
    }


def test_a_release_knows_its_revisions_and_works_with_a_later_one_s() -> None:
    scripts = ScriptDirectory(str(migrate.scripts_directory()))
    newest_first = [script.revision for script in scripts.walk_revisions()]
    assert list(revisions.KNOWN) == newest_first[::-1]
    assert scripts.get_current_head() == revisions.HEAD
    assert revisions.will_do(revisions.HEAD)
    assert revisions.will_do("ffff")
    assert not revisions.will_do(None)
