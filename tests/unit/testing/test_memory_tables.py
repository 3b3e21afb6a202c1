"""Tests of the in-memory store's tables: what a transaction changes is kept or undone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from heat_convergence.testing.memory.tables import MemoryTables, Table

CHANGES: dict[str, Callable[[Table[str, int]], object]] = {
    "insert": lambda table: table.__setitem__("c", 3),
    "replace": lambda table: table.__setitem__("a", 9),
    "delete": lambda table: table.__delitem__("a"),
    "pop": lambda table: table.pop("a"),
    "setdefault": lambda table: table.setdefault("c", 3),
    "update": lambda table: table.update({"a": 9, "c": 3}),
    "clear": lambda table: table.clear(),
}

every_change = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def filled() -> tuple[MemoryTables, Table[str, int]]:
    tables = MemoryTables()
    table: Table[str, int] = Table({"a": 1, "b": 2})
    table.changed_tables = tables._changed
    return tables, table


@every_change
def test_changes_are_undone_together(change: Callable[[Table[str, int]], object]) -> None:
    tables, table = filled()
    count = table.change_count
    change(table)
    table["d"] = 4
    tables.undo_changes()
    assert dict(table) == {"a": 1, "b": 2}
    assert list(table) == ["a", "b"]
    assert table.change_count > count


@every_change
def test_kept_changes_are_not_undone(change: Callable[[Table[str, int]], object]) -> None:
    tables, table = filled()
    change(table)
    kept = dict(table)
    tables.keep_changes()
    table["d"] = 4
    tables.undo_changes()
    assert dict(table) == kept


def test_copy_has_the_same_rows_and_changes_alone() -> None:
    tables = MemoryTables()
    tables.tags["s"] = ("one",)
    copy = tables.copy()
    assert copy == tables
    copy.tags["s"] = ("two",)
    assert tables.tags["s"] == ("one",)
