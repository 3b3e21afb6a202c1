"""An import that is killed ten times leaves the rows of one that was not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from heat_convergence.db.tables import metadata
from heat_convergence.heat_import.importer import ImportStatus
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import import_all, write_heat_database

KILLS = 10
_DRAWN = {"goal_id", "complete_goal_id"}  # random ids
_TIMES_OF_IMPORT = {("goal", "created_at"), ("stack_credential", "created_at")}


class ProcessKilled(BaseException):
    """The end of the process: nothing handles it."""


class StatementCounter:
    """The statements and commits of a database, at one of which the process is killed."""

    def __init__(self) -> None:
        self.count = 0
        self.fatal = 0

    def record(self, *_arguments: Any) -> None:
        self.count += 1
        if self.count == self.fatal:
            raise ProcessKilled


@contextmanager
def counted(service: LocalService) -> Iterator[StatementCounter]:
    counter, engine = StatementCounter(), service.database.engine
    names = ("before_cursor_execute", "commit")
    for name in names:
        event.listen(engine, name, counter.record)
    try:
        yield counter
    finally:
        for name in names:
            event.remove(engine, name, counter.record)


def stored_rows(service: LocalService) -> dict[str, list[str]]:
    """Return the rows of all tables, without random ids, cipher texts and times of import."""
    found: dict[str, list[str]] = {}
    with service.database.read() as conn:
        for table in metadata.sorted_tables:
            if not conn.dialect.has_table(conn, table.name):
                continue
            rows = conn.exec_driver_sql(f'SELECT * FROM "{table.name}"').mappings()
            found[table.name] = sorted(
                repr({name: _comparable(table.name, name, value) for name, value in row.items()})
                for row in rows
            )
    return found


def _comparable(table: str, column: str, value: Any) -> Any:
    if column in _DRAWN or (table, column) == ("goal", "id"):
        return value is not None
    if (table, column) in _TIMES_OF_IMPORT or str(value).startswith("sealed:"):
        return "any"
    return value


@pytest.fixture
def services(tmp_path: Path) -> Iterator[list[LocalService]]:
    found = [
        LocalService(f"sqlite:///{tmp_path}/{name}.sqlite", custom_constraints=None)
        for name in ("whole", "killed")
    ]
    yield found
    for service in found:
        service.close()


def test_import_killed_ten_times_has_the_same_result(
    services: list[LocalService], tmp_path: Path
) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    whole, killed = services
    with counted(whole) as counter:
        import_all(whole, url)
    expected, statements = stored_rows(whole), counter.count

    kills, stacks = 0, []
    with counted(killed) as counter:
        for number in range(KILLS):
            # Later each time, and measured from the start: what is there already is left alone.
            counter.count, counter.fatal = 0, 2 + number * statements // (3 * KILLS)
            try:
                import_all(killed, url)
            except ProcessKilled:
                kills += 1
            counter.fatal = 0
            stacks.append(len(stored_rows(killed)["stack"]))
        results = import_all(killed, url)

    assert kills == KILLS
    assert stacks == sorted(stacks)
    assert stacks[-1] > 0
    assert {each.status for each in results.values()} <= {
        ImportStatus.IMPORTED, ImportStatus.PRESENT
    }  # fmt: skip
    assert stored_rows(killed) == expected


def test_every_statement_of_a_tree_may_be_the_last(
    services: list[LocalService], tmp_path: Path
) -> None:
    url = write_heat_database(tmp_path / "heat.sqlite")
    whole, killed = services
    with counted(whole) as counter:
        import_all(whole, url, "snap")
    statements, expected = counter.count, stored_rows(whole)
    empty = stored_rows(killed)
    for number in range(1, statements + 1):
        with counted(killed) as counter:
            counter.fatal = number
            with pytest.raises(ProcessKilled):
                import_all(killed, url, "snap")
        assert stored_rows(killed) == empty
    import_all(killed, url, "snap")
    assert stored_rows(killed) == expected
