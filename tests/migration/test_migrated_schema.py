"""The migrated schema is the one the code expects, on every database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from alembic.script import ScriptDirectory

from heat_convergence.common.failures import StorageRefused
from heat_convergence.db.connection.database import Database
from heat_convergence.db.maintenance import schema_revisions, schema_upgrade
from heat_convergence.db.tables import metadata, stack_tag
from tests.conftest import MARIADB, POSTGRESQL, fresh_database


@pytest.fixture(scope="module")
def mariadb_url() -> Iterator[str]:
    """Yield a database of this module: other tests leave tables in the shared one."""
    yield from fresh_database(MARIADB, "MariaDB")


@pytest.fixture(scope="module")
def postgresql_url() -> Iterator[str]:
    yield from fresh_database(POSTGRESQL, "PostgreSQL")


def test_upgraded_schema_equals_tables(database):
    assert schema_revisions.get_current_revision(database) is None
    schema_upgrade.upgrade(database)
    assert schema_revisions.get_current_revision(database) == schema_revisions.HEAD_REVISION
    assert schema_upgrade.find_schema_differences(database) == []
    assert _indexes(database) == {
        table.name: {index.name for index in table.indexes} for table in metadata.sorted_tables
    }


def test_upgrade_is_idempotent(database):
    schema_upgrade.upgrade(database)
    schema_upgrade.upgrade(database)
    assert schema_revisions.get_current_revision(database) == schema_revisions.HEAD_REVISION


def test_missing_column_is_detected(database):
    schema_upgrade.upgrade(database)
    with database.write() as connection:
        connection.execute(sa.text("ALTER TABLE event DROP COLUMN properties"))
    found = schema_upgrade.find_schema_differences(database)
    assert [(change, table, column.name) for change, _, table, column in found] == [
        ("add_column", "event", "properties")
    ]


def test_foreign_keys_are_enforced(database):
    schema_upgrade.upgrade(database)
    orphan = stack_tag.insert().values(stack_id="nobody", position=0, tag="t")
    with pytest.raises(StorageRefused) as refused, database.write() as connection:
        connection.execute(orphan)
    assert "foreign key" in refused.value.detail.lower()


def _indexes(database: Database) -> dict[str, set[str]]:
    inspector = sa.inspect(database.engine)
    unique = {c.name for table in metadata.tables.values() for c in table.constraints}
    # MariaDB creates an index for a foreign key without one, and names it like the key.
    return {
        table: {index["name"] for index in inspector.get_indexes(table)} - unique
        for table in inspector.get_table_names()
        if table in metadata.tables
    }


def test_known_revisions_and_compatibility_with_later_ones() -> None:
    scripts = ScriptDirectory(str(schema_upgrade.get_scripts_directory()))
    newest_first = [script.revision for script in scripts.walk_revisions()]
    assert list(schema_revisions.KNOWN_REVISIONS) == newest_first[::-1]
    assert scripts.get_current_head() == schema_revisions.HEAD_REVISION
    assert schema_revisions.is_compatible(schema_revisions.HEAD_REVISION)
    assert schema_revisions.is_compatible("ffff")
    assert not schema_revisions.is_compatible(None)
