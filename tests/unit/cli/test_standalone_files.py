"""The files of the standalone service, which hold its secrets."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from heat_convergence.cli.daemons.standalone import restrict_to_owner


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_new_database_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    database = tmp_path / "new.sqlite"
    restrict_to_owner(database)
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE secret (value TEXT)")
        assert {_mode(path) for path in tmp_path.iterdir()} == {0o600}


def test_existing_database_is_restricted_and_kept(tmp_path: Path) -> None:
    database = tmp_path / "old.sqlite"
    for path in (database, tmp_path / "old.sqlite-wal"):
        path.write_text("content")
        path.chmod(0o644)
    restrict_to_owner(database)
    assert {_mode(path) for path in tmp_path.iterdir()} == {0o600}
    assert database.read_text() == "content"
