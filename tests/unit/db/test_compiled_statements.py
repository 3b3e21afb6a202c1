"""A process keeps a bounded number of compiled statements, most of all those it uses often."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.sql import dml, elements, selectable

from heat_convergence.cli.offline.local_service import LocalService
from heat_convergence.db.column_types import JsonText
from heat_convergence.db.connection.database import Database, database_from_url
from heat_convergence.db.encryption.column_encryption import (
    Keyring,
    SensitiveValue,
    attach_keyring,
)

COLUMNS = [sa.column(name) for name in "abcdefghi"]
TABLE = sa.table("stack", *COLUMNS)


def statements_of(database: Database) -> Any:
    """Return the compiled statements that a database uses."""
    return database.engine.get_execution_options()["compiled_cache"]


def list_statement(number: int) -> sa.Select[Any]:
    """Return a list of stacks by those filters that the bits of the number choose."""
    chosen = [column for at, column in enumerate(COLUMNS) if number & 1 << at]
    return sa.select(TABLE).where(*(column.in_(["x"]) for column in chosen))


def test_statements_that_users_shape_are_bounded() -> None:
    database = database_from_url("sqlite://")
    compiled = statements_of(database)
    compiled.clear()  # other tests have used it
    often = sa.select(sa.func.count()).select_from(TABLE)
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE stack (a, b, c, d, e, f, g, h, i)")
        connection.execute(often)
        kept = next(iter(compiled))
        sizes = []
        for number in range(330):
            connection.execute(list_statement(number))
            connection.execute(often)
            sizes.append(len(compiled))
    assert 256 <= max(sizes) <= 320
    assert kept in set(compiled)
    assert not database.engine._compiled_cache  # the library's own, of another size
    database.close()


SECRETS = sa.Table("secrets", sa.MetaData(), sa.Column("v", JsonText))


def stored_with(*keys: str) -> tuple[Any, int]:
    """Store a value and read it in a new database of SQLite.

    Returns:
        The value, and how many statements were compiled for it.
    """
    database = database_from_url("sqlite://")
    attach_keyring(database.engine, Keyring(keys))
    before = set(statements_of(database))
    with database.write() as connection:
        connection.exec_driver_sql("CREATE TABLE secrets (v TEXT)")
        connection.execute(SECRETS.insert(), [{"v": SensitiveValue({"a": "secret"})}])
        read = connection.execute(sa.select(SECRETS)).scalar_one()
    compiled = len(set(statements_of(database)) - before)
    database.close()
    return read, compiled


def test_databases_of_sqlite_share_statements_if_they_have_the_same_keys() -> None:
    assert stored_with("first") == ({"a": "secret"}, 2)
    assert stored_with("first") == ({"a": "secret"}, 0)
    assert stored_with("second") == ({"a": "secret"}, 2)
    assert stored_with("second", "first") == ({"a": "secret"}, 2)
    assert stored_with("first") == ({"a": "secret"}, 0)


_BUILT = (dml.Insert, dml.Update, dml.Delete, selectable.Select, elements.Case)


def chain(length: int) -> dict[str, Any]:
    """Return a template of resources each of which depends on the one before."""
    resources: dict[str, Any] = {}
    for at in range(length):
        resources[f"r{at}"] = {
            "type": "OS::Heat::TestResource",
            "depends_on": [f"r{at - 1}"] if at else [],
        }
    return {"heat_template_version": "2016-10-14", "resources": resources}


def test_links_of_a_chain_build_no_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    service = LocalService("sqlite://")
    built: list[type] = []
    for each in _BUILT:
        original = each.__init__

        def init(self: Any, *args: Any, _original: Any = original, **options: Any) -> None:
            built.append(type(self))
            _original(self, *args, **options)

        monkeypatch.setattr(each, "__init__", init)

    def built_by(length: int) -> int:
        built.clear()
        body = {"stack_name": f"chain-{length}", "template": chain(length)}
        assert service.send("POST", "/stacks", body).status_int == 201
        return len(built)

    built_by(3)
    assert built_by(4) == built_by(20)
    service.close()
