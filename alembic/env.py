"""Run the migrations on the connection of ``heat_convergence.db.maintenance.schema_upgrade``.

A developer's ``alembic`` command names its database by ``-x url=...`` instead.
"""

from alembic import context
from sqlalchemy import BigInteger, String
from sqlalchemy.types import TypeDecorator

from heat_convergence.db import column_types
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.tables import metadata

_BASE = {BigInteger: "sa.BigInteger()", String: "sa.String(length={0.length})"}


def _render_type(object_type, value, autogen_context):
    """Render types as the database has them: a migration must not change with the code."""
    if object_type != "type":
        return False
    if value is column_types.LongText:
        return "LONG_TEXT"
    if not isinstance(value, TypeDecorator):
        return False
    return _BASE.get(type(value.impl), "LONG_TEXT").format(value.impl)


def _run(connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        compare_type=True,
        render_item=_render_type,
    )
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get("connection")
if connection is not None:
    _run(connection)
else:
    with database_from_url(
        context.get_x_argument(as_dictionary=True)["url"]
    ).engine.connect() as own:
        _run(own)
