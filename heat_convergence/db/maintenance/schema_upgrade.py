"""Upgrade of the schema, and its comparison with this release's tables.

Decides where the migration scripts are and which schema is up to date.  Called by
``cli`` and tests.  The scripts are in ``alembic/``, or, once installed, inside this
package (an ``alembic`` at the top would shadow the library).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError

from heat_convergence.common.errors import Invalid, NotFound
from heat_convergence.db.connection.database import Database
from heat_convergence.db.connection.driver_errors import translate_driver_errors
from heat_convergence.db.maintenance import schema_revisions
from heat_convergence.db.tables import metadata

_PACKAGE = Path(__file__).resolve().parents[2]


def get_scripts_directory() -> Path:
    """Return the directory of ``alembic.ini`` and ``env.py``."""
    installed = _PACKAGE / "migrations"
    return installed if installed.is_dir() else _PACKAGE.parent / "alembic"


def upgrade(database: Database, revision: str = "head") -> None:
    """Upgrade the schema to ``revision``, unless it is there already.

    Raises:
        Invalid: a later release has upgraded the schema.
        NotFound: this release does not know ``revision``.
    """
    found = schema_revisions.get_current_revision(database)
    if found is not None and found not in schema_revisions.KNOWN_REVISIONS:
        raise Invalid(
            f"The schema is at {found}, a revision of a later release, and was not changed. This"
            f" release, whose newest revision is {schema_revisions.HEAD_REVISION}, works with it."
            " To change the schema, use heat-convergence-manage of the later release."
        )
    config = _config()
    with translate_driver_errors(), database.engine.connect() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise NotFound(str(error)) from error


def find_schema_differences(database: Database) -> list[Any]:
    """Return the differences between the schema and ``db.tables``, as alembic names them."""
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def _config() -> Config:
    where = get_scripts_directory()
    return Config(str(where / "alembic.ini"), attributes={"configure_logger": False})
