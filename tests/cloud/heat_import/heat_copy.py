"""A copy of Heat's database, as for a rehearsal: Heat goes on with its own."""

from __future__ import annotations

import configparser
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

_LONG_AGO = datetime(2000, 1, 1)  # Heat's times have no zone


def read_heat_option(config: str, section: str, name: str) -> str:
    """Return an option of Heat's configuration file."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read(config)
    return parser.get(section, name)


def copy_heat_database(config: str, path: Path) -> str:
    """Copy the database of a Heat into a file of SQLite, in which its engines are long dead.

    Args:
        config: Heat's configuration file.
        path: the new file.

    Returns:
        The URL of the copy.
    """
    source = sa.create_engine(read_heat_option(config, "database", "connection"))
    target = sa.create_engine(f"sqlite:///{path}")
    metadata = sa.MetaData()
    with source.connect() as heat:
        heat.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        metadata.reflect(heat)
        copied = sa.MetaData()
        for table in metadata.sorted_tables:
            columns = [sa.Column(each.name, _portable(each.type)) for each in table.columns]
            sa.Table(table.name, copied, *columns)
        copied.create_all(target)
        with target.begin() as copy:
            for table in metadata.sorted_tables:
                rows = [dict(row) for row in heat.execute(sa.select(table)).mappings()]
                if rows:
                    copy.execute(copied.tables[table.name].insert(), rows)
            service = copied.tables["service"]
            copy.execute(service.update().values(updated_at=_LONG_AGO, created_at=_LONG_AGO))
    source.dispose()
    target.dispose()
    return f"sqlite:///{path}"


def _portable(found: sa.types.TypeEngine[object]) -> sa.types.TypeEngine[object]:
    """Return a type that SQLite has, too."""
    for generic in (sa.DateTime, sa.Integer):
        if isinstance(found, generic):
            return generic()
    return sa.Text()
