"""The schema brought to a version, and held against this release's tables.

Decides where the migration scripts are and what an up-to-date schema is.  Called
by ``cli`` and tests; the scripts stand in ``alembic/``, or, once installed, inside
this package (an ``alembic`` at the top would shadow the library).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.util import CommandError

from heat_convergence.common.errors import NotFound
from heat_convergence.db.connection.database import Database, translate_driver_errors
from heat_convergence.db.tables import metadata

_PACKAGE = Path(__file__).resolve().parents[2]


def get_scripts_directory() -> Path:
    """Where ``alembic.ini`` and ``env.py`` are."""
    installed = _PACKAGE / "migrations"
    return installed if installed.is_dir() else _PACKAGE.parent / "alembic"


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the schema to ``revision``; does nothing when it is there already.

    Raises ``NotFound`` for a revision, there or asked for, that this release has not.
    """
    config = _config()
    with translate_driver_errors(), database.engine.connect() as connection:
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, revision)
        except CommandError as error:
            raise NotFound(str(error)) from error


def find_schema_differences(database: Database) -> list[Any]:
    """What the schema lacks or has beyond ``db.tables``, in alembic's words."""
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def _config() -> Config:
    where = get_scripts_directory()
    return Config(str(where / "alembic.ini"), attributes={"configure_logger": False})
