"""Output and exit codes of ``heat-convergence-manage db``."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from heat_convergence.cli.manage import main
from heat_convergence.db.connection.database import database_from_url
from heat_convergence.db.maintenance import schema_revisions


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/managed.sqlite"


def db(url: str, *verb: str) -> int:
    return main.main(["--connection", url, "db", *verb])


def test_new_database_is_upgraded(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert db(url, "check") == main.SCHEMA_DIFFERS
    assert "at None" in capsys.readouterr().out
    assert db(url, "upgrade") == main.OK
    assert db(url, "version") == main.OK
    assert capsys.readouterr().out.splitlines()[-1] == schema_revisions.HEAD_REVISION
    assert db(url, "check") == main.OK


def test_check_reports_a_changed_schema(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    db(url, "upgrade")
    database = database_from_url(url)
    with database.write() as connection:
        connection.execute(sa.text("DROP TABLE stack_tag"))
    database.close()
    assert db(url, "check") == main.SCHEMA_DIFFERS
    assert "stack_tag" in capsys.readouterr().out


def test_unreachable_database(capsys: pytest.CaptureFixture[str]) -> None:
    assert db("mysql+pymysql://root@127.0.0.1:1/nobody", "version") == main.DATABASE_UNREACHABLE
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [["stack", "check"], ["purge_deleted"], ["purge_project", "p", "--yes"], ["service", "list"],
     ["secrets", "rotate"]],
    ids=" ".join,
)  # fmt: skip
def test_commands_without_schema_name_the_remedy(
    url: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.main(["--connection", url, *arguments]) == main.SCHEMA_DIFFERS
    assert "heat-convergence-manage db upgrade" in capsys.readouterr().err


def test_schema_of_a_later_release_is_compatible(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    db(url, "upgrade")
    database = database_from_url(url)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'later'"))
    database.close()
    assert main.main(["--connection", url, "stack", "check"]) == main.OK
    assert db(url, "check") == main.SCHEMA_DIFFERS
    capsys.readouterr()
    assert db(url, "upgrade") == main.REJECTED
    stderr = capsys.readouterr().err
    assert "The schema is at later, a revision of a later release, and was not changed." in stderr
    assert "use heat-convergence-manage of the later release" in stderr


def test_unknown_revision_is_rejected(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert db(url, "upgrade", "nowhere") == main.REJECTED
    assert "nowhere" in capsys.readouterr().err


@pytest.mark.parametrize(
    "connection", ["nonsense", "mysql://a:planted@h:x/d", "mysql+nobody://a:planted@h/d"]
)
def test_invalid_url_is_rejected_without_its_password(
    connection: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert db(connection, "version") == main.REJECTED
    stderr = capsys.readouterr().err
    assert "connection cannot be used" in stderr
    assert "planted" not in stderr


def test_script_prints_no_warnings_of_libraries(url: str) -> None:
    """Check that warnings of libraries at import are not shown."""
    script = "import sys; from heat_convergence.cli import main; sys.exit(main.manage())"
    command = [sys.executable, "-c", script, "--connection", url, "db", "upgrade"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"The schema was at None and is at {schema_revisions.HEAD_REVISION}.\n"
    assert done.stderr == ""


def test_missing_configuration_file_is_rejected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = str(tmp_path / "missing.conf")
    assert main.main(["--config-file", missing, "db", "version"]) == main.REJECTED
    assert missing in capsys.readouterr().err


def test_configuration_file_names_the_database(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.conf"
    path.write_text(f"[database]\nconnection = {url}\n")
    assert main.main(["--config-file", str(path), "db", "upgrade"]) == main.OK
    assert db(url, "version") == main.OK
    assert capsys.readouterr().out.splitlines()[-1] == schema_revisions.HEAD_REVISION


def test_files_of_a_folder_are_read_in_order_and_debug_logs_details(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "heat-convergence.conf.d"
    folder.mkdir()
    (folder / "10.conf").write_text("[database]\nconnection = sqlite:////nowhere/x.sqlite\n")
    (folder / "20.conf").write_text(f"[database]\nconnection = {url}\n")
    arguments = ["--config-file", os.devnull, "--config-dir", str(folder)]
    assert main.main([*arguments, "db", "upgrade"]) == main.OK
    assert "DEBUG" not in capsys.readouterr().err
    assert main.main([*arguments, "--debug", "db", "version"]) == main.OK
    assert capsys.readouterr().out.splitlines()[-1] == schema_revisions.HEAD_REVISION
    assert logging.getLogger().isEnabledFor(logging.DEBUG)
    assert main.main([*arguments, "db", "version"]) == main.OK
    assert not logging.getLogger().isEnabledFor(logging.DEBUG)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_unreadable_configuration_file_is_named_in_a_line(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wrong.conf"
    path.mkdir() if content is None else path.write_bytes(content)
    assert main.main(["--config-file", str(path), "doctor"]) == main.REJECTED
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path} cannot be read" in line
