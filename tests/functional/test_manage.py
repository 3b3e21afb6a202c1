"""``heat-convergence-manage db``: what it prints and how it exits."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sqlalchemy as sa

from heat_convergence.cli import manage
from heat_convergence.db import revisions
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
    assert capsys.readouterr().out.splitlines()[-1] == revisions.HEAD
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


@pytest.mark.parametrize(
    "arguments",
    [["stack", "check"], ["purge_deleted"], ["purge_project", "p", "--yes"], ["service", "list"],
     ["secrets", "rotate"]],
    ids=" ".join,
)  # fmt: skip
def test_without_the_schema_everything_says_what_to_do(url, arguments, capsys):
    assert manage.main(["--connection", url, *arguments]) == manage.DIFFERENT
    assert "heat-convergence-manage db upgrade" in capsys.readouterr().err


def test_a_later_release_s_schema_is_worked_with(url):
    db(url, "upgrade")
    database = database_for(url)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'later'"))
    database.close()
    assert manage.main(["--connection", url, "stack", "check"]) == manage.OK
    assert db(url, "check") == manage.DIFFERENT


def test_a_revision_that_nobody_knows(url, capsys):
    assert db(url, "upgrade", "nowhere") == manage.REFUSED
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "connection", ["nonsense", "mysql://a:planted@h:x/d", "mysql+nobody://a:planted@h/d"]
)
def test_a_url_that_is_none(connection, capsys):
    assert db(connection, "version") == manage.REFUSED
    told = capsys.readouterr().err
    assert "connection cannot be used" in told
    assert "planted" not in told


def test_the_script_says_no_more_than_it_has_to(url):
    """Libraries give advice of their own when they are loaded."""
    script = "import sys; from heat_convergence.cli import launch; sys.exit(launch.manage())"
    command = [sys.executable, "-c", script, "--connection", url, "db", "upgrade"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"The schema was at None and is at {revisions.HEAD}.\n"
    assert done.stderr == ""


def test_a_configuration_file_that_is_not_there(tmp_path, capsys):
    missing = str(tmp_path / "missing.conf")
    assert manage.main(["--config-file", missing, "db", "version"]) == manage.REFUSED
    assert missing in capsys.readouterr().err


def test_the_configuration_file_names_the_database(url, tmp_path, capsys):
    path = tmp_path / "own.conf"
    path.write_text(f"[database]\nconnection = {url}\n")
    assert manage.main(["--config-file", str(path), "db", "upgrade"]) == manage.OK
    assert db(url, "version") == manage.OK
    assert capsys.readouterr().out.splitlines()[-1] == revisions.HEAD
