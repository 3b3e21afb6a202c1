"""``heat-convergence-manage db``: what it prints and how it exits."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import main
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.maintenance import schema_revisions


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/managed.sqlite"


def db(url: str, *verb: str) -> int:
    return main.main(["--connection", url, "db", *verb])


def test_a_new_database_is_told_apart_upgraded_and_found_complete(url, capsys):
    assert db(url, "check") == main.SCHEMA_DIFFERS
    assert "at None" in capsys.readouterr().out
    assert db(url, "upgrade") == main.OK
    assert db(url, "version") == main.OK
    assert capsys.readouterr().out.splitlines()[-1] == schema_revisions.HEAD_REVISION
    assert db(url, "check") == main.OK


def test_a_schema_that_somebody_changed_is_told(url, capsys):
    db(url, "upgrade")
    database = database_from_url(url)
    with database.write() as connection:
        connection.execute(sa.text("DROP TABLE stack_tag"))
    database.close()
    assert db(url, "check") == main.SCHEMA_DIFFERS
    assert "stack_tag" in capsys.readouterr().out


def test_a_database_that_does_not_answer(capsys):
    assert db("mysql+pymysql://root@127.0.0.1:1/nobody", "version") == main.DATABASE_UNREACHABLE
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["stack", "check"], ["purge_deleted"], ["purge_project", "p", "--yes"], ["service", "list"],
     ["secrets", "rotate"]],
    ids=" ".join,
)  # fmt: skip
def test_without_the_schema_everything_says_what_to_do(url, arguments, capsys):
    assert main.main(["--connection", url, *arguments]) == main.SCHEMA_DIFFERS
    assert "heat-convergence-manage db upgrade" in capsys.readouterr().err


def test_a_later_release_s_schema_is_worked_with(url):
    db(url, "upgrade")
    database = database_from_url(url)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'later'"))
    database.close()
    assert main.main(["--connection", url, "stack", "check"]) == main.OK
    assert db(url, "check") == main.SCHEMA_DIFFERS


def test_a_revision_that_nobody_knows(url, capsys):
    assert db(url, "upgrade", "nowhere") == main.REJECTED
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "connection", ["nonsense", "mysql://a:planted@h:x/d", "mysql+nobody://a:planted@h/d"]
)
def test_a_url_that_is_none(connection, capsys):
    assert db(connection, "version") == main.REJECTED
    told = capsys.readouterr().err
    assert "connection cannot be used" in told
    assert "planted" not in told


def test_the_script_says_no_more_than_it_has_to(url):
    """Libraries give advice of their own when they are loaded."""
    script = "import sys; from heat_convergence.cli import main; sys.exit(main.manage())"
    command = [sys.executable, "-c", script, "--connection", url, "db", "upgrade"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"The schema was at None and is at {schema_revisions.HEAD_REVISION}.\n"
    assert done.stderr == ""


def test_a_configuration_file_that_is_not_there(tmp_path, capsys):
    missing = str(tmp_path / "missing.conf")
    assert main.main(["--config-file", missing, "db", "version"]) == main.REJECTED
    assert missing in capsys.readouterr().err


def test_the_configuration_file_names_the_database(url, tmp_path, capsys):
    path = tmp_path / "own.conf"
    path.write_text(f"[database]\nconnection = {url}\n")
    assert main.main(["--config-file", str(path), "db", "upgrade"]) == main.OK
    assert db(url, "version") == main.OK
    assert capsys.readouterr().out.splitlines()[-1] == schema_revisions.HEAD_REVISION
