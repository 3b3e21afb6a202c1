"""The tables of a new SQLite database are those that the migrations' metadata describes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.table_creation import create_tables
from heat_convergence.db.tables import metadata

_NAMES = sa.text("SELECT type, name, tbl_name FROM sqlite_master ORDER BY type, name")


def described(database: Any) -> dict[str, Any]:
    """Return all tables as the database describes them."""
    inspector = sa.inspect(database.engine)
    return {
        name: [
            str(inspector.get_columns(name)),
            str(sorted(inspector.get_indexes(name), key=lambda each: str(each["name"]))),
            str(inspector.get_foreign_keys(name)),
            str(inspector.get_unique_constraints(name)),
            str(inspector.get_pk_constraint(name)),
        ]
        for name in inspector.get_table_names()
    }


def test_tables_are_those_of_the_metadata(tmp_path: Path) -> None:
    ours = database_from_url(f"sqlite:///{tmp_path}/ours.sqlite")
    theirs = database_from_url(f"sqlite:///{tmp_path}/theirs.sqlite")
    create_tables(ours.engine)
    metadata.create_all(theirs.engine)
    assert described(ours) == described(theirs)
    with ours.read() as one, theirs.read() as other:
        assert one.execute(_NAMES).all() == other.execute(_NAMES).all() != []
    ours.close()
    theirs.close()


def test_database_that_has_tables_keeps_them_and_their_rows(tmp_path: Path) -> None:
    database = database_from_url(f"sqlite:///{tmp_path}/db.sqlite")
    create_tables(database.engine)
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE other (id INTEGER)")
        connection.exec_driver_sql("INSERT INTO other VALUES (7)")
    create_tables(database.engine)
    with database.read() as connection:
        assert connection.exec_driver_sql("SELECT id FROM other").scalar_one() == 7
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM stack").scalar_one() == 0
    database.close()
