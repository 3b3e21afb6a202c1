"""A damaged value anywhere in Heat's rows refuses its tree alone, and is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from heat_convergence.heat_import.heat_tables import TABLES
from heat_convergence.heat_import.importer import ImportResult, ImportStatus
from tests.functional.harness import LocalService
from tests.functional.heat_import.heat_source import (
    Rows,
    heat_rows,
    import_all,
    rows_of,
    rows_with_snapshot,
    write_heat_database,
)

WITHOUT_TREE = {"service", "stack_lock", "sync_point"}
TEXTS = (None, '{"a": {"b": [null]}}')
NUMBERS = (None, 99_999)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    folder = tmp_path_factory.mktemp("damaged")
    service = LocalService(f"sqlite:///{folder}/hc.sqlite", custom_constraints=None)
    yield service
    service.close()


def damages(table: sa.Table) -> Iterator[tuple[str, Any]]:
    """Yield each column of a table with the values that replace one of its values."""
    for column in table.c:
        values = NUMBERS if isinstance(column.type, sa.Integer) else (None,)
        values = TEXTS if isinstance(column.type, sa.Text) else values
        if not column.primary_key:
            yield from ((column.name, value) for value in values)


@pytest.mark.parametrize("name", sorted(TABLES.keys() - WITHOUT_TREE))
def test_damaged_value_refuses_one_tree_and_is_named(
    service: LocalService, tmp_path: Path, name: str
) -> None:
    """Each time in another row, so that rows of all trees and types have their turn."""
    url = write_heat_database(tmp_path / "heat.sqlite", rows_with_snapshot())
    engine, table = sa.create_engine(url), TABLES[name]
    [key] = table.primary_key
    with engine.connect() as conn:
        keys = list(conn.scalars(sa.select(key).order_by(key)))
    for number, (column, value) in enumerate(damages(table)):
        damaged = table.update().where(key == keys[number * 7 % len(keys)])
        with engine.begin() as conn:
            row = conn.execute(sa.select(table).where(key == keys[number * 7 % len(keys)])).one()
            conn.execute(damaged.values({column: value}))
        results = import_all(service, url, dry_run=True)
        where = f"{name}.{column} = {value} of {row}"
        refused = [each for each in results.values() if each.status is ImportStatus.REFUSED]
        assert len(refused) <= 1, where
        unnamed = ("error id", "StorageRefused")
        assert not any(word in str(refused) for word in unnamed), where
        with engine.begin() as conn:
            conn.execute(damaged.values({column: getattr(row, column)}))
    engine.dispose()


def import_changed(
    service: LocalService, folder: Path, rows: Rows, **options: Any
) -> dict[str | None, ImportResult]:
    url = write_heat_database(folder / "heat.sqlite", rows)
    return {**import_all(service, url, dry_run=True, **options)}


def reason(found: ImportResult) -> str:
    assert found.rejection is not None
    assert found.rejection.remedy
    return found.rejection.reason


def test_nested_stack_of_a_deleted_parent_is_named(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [parent] = rows_of(rows, "stack", name="nested")
    parent["deleted_at"] = parent["created_at"]
    [orphan] = rows_of(rows, "stack", owner_id=parent["id"])
    found = import_changed(service, tmp_path, rows)
    assert reason(found[orphan["name"]]) == f"its parent stack {parent['id']} does not exist"
    assert "nested" not in found


def test_nested_stack_of_another_project_is_named(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [parent] = rows_of(rows, "stack", name="nested")
    rows_of(rows, "stack", owner_id=parent["id"])[0]["tenant"] = "other"
    assert "is in project other" in reason(import_changed(service, tmp_path, rows)["nested"])


def test_resources_with_one_id_are_named(service: LocalService, tmp_path: Path) -> None:
    rows = heat_rows()
    [stack] = rows_of(rows, "stack", name="failed")
    first, second = rows_of(rows, "resource", stack_id=stack["id"])[:2]
    second["uuid"] = first["uuid"]
    assert "another one's id" in reason(import_changed(service, tmp_path, rows)["failed"])


def test_defect_of_the_import_refuses_its_tree_alone(
    service: LocalService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(text: str) -> Any:
        raise ZeroDivisionError(text)

    monkeypatch.setattr("heat_convergence.heat_import.imported_data.json.loads", parse)
    monkeypatch.setattr("heat_convergence.heat_import.heat_values.json.loads", parse)
    found = import_all(service, write_heat_database(tmp_path / "heat.sqlite"), dry_run=True)
    assert "ZeroDivisionError (error id " in reason(found["base"])
    assert all(each.status is ImportStatus.REFUSED for each in found.values())
