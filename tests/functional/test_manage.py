"""``heat-convergence-manage db``: what it prints and how it exits."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from heat_convergence.cli import manage
from heat_convergence.db import migrate
from heat_convergence.db.engine import database_for


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/managed.sqlite"


def db(url: str, *verb: str) -> int:
    return manage.main(["--connection", url, "db", *verb])


def test_a_new_database_is_told_apart_upgraded_and_found_complete(url, capsys):
    assert db(url, "check") == manage.DIFFERENT
    assert "at None" in capsys.readouterr().out
    assert db(url, "upgrade") == manage.OK
    assert db(url, "version") == manage.OK
    assert capsys.readouterr().out.splitlines()[-1] == migrate.head()
    assert db(url, "check") == manage.OK


def test_a_schema_that_somebody_changed_is_told(url, capsys):
    db(url, "upgrade")
    database = database_for(url)
    with database.write() as connection:
        connection.execute(sa.text("DROP TABLE stack_tag"))
    database.close()
    assert db(url, "check") == manage.DIFFERENT
    assert "stack_tag" in capsys.readouterr().out


def test_a_database_that_does_not_answer(capsys):
    assert db("mysql+pymysql://root@127.0.0.1:1/nobody", "version") == manage.UNREACHABLE
    assert "does not answer" in capsys.readouterr().err


def test_the_configuration_file_names_the_database(url, tmp_path, capsys):
    path = tmp_path / "own.conf"
    path.write_text(f"[database]\nconnection = {url}\n")
    assert manage.main(["--config-file", str(path), "db", "upgrade"]) == manage.OK
    assert db(url, "version") == manage.OK
    assert capsys.readouterr().out.splitlines()[-1] == migrate.head()
