"""What is written, read after every commit: the rows of all stacks as snapshots.

Used by ``testing.watch``.  One reader for each kind of store; both give the stacks
that may have changed since they were asked last, and read no more than it takes,
for the simulator asks after every transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from heat_convergence.convergence.invariants.transition import StackState
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.store import SqlStore
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.memory.tables import MemoryTables

_STACKS = "SELECT * FROM stack ORDER BY id"
_RESOURCES = "SELECT * FROM resource WHERE stack_id = ? ORDER BY id"
_EDGES = (
    "SELECT resource_id, needed_by, observed_ready FROM resource_graph"
    " WHERE stack_id = ? AND version = ?"
)


class StoreReader(Protocol):
    def changed_stacks(self) -> list[tuple[str, StackState]]: ...


def reader_for(store: Store) -> StoreReader:
    return MemoryStoreReader(store) if isinstance(store, MemoryStore) else SqliteStoreReader(store)


class MemoryStoreReader:
    """Compares the rows themselves: they are immutable."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._seen: dict[str, tuple[Any, ...]] = {}

    def changed_stacks(self) -> list[tuple[str, StackState]]:
        tables = self._store.tables
        found = []
        for stack in tables.stacks.values():
            snapshot = _of_tables(tables, stack)
            parts = (stack, snapshot.resources, snapshot.edges)
            if self._seen.get(stack.id) != parts:
                self._seen[stack.id] = parts
                found.append((stack.id, snapshot))
        return found


def _of_tables(tables: MemoryTables, stack: Stack) -> StackState:
    rows = sorted(
        (row for row in tables.resources.values() if row.stack_id == stack.id),
        key=lambda row: row.id,
    )
    edges = [
        Edge(row.resource_id, row.needed_by, row.observed_ready)
        for row in tables.graph.values()
        if row.stack_id == stack.id and row.version == stack.version
    ]
    return _snapshot(stack, rows, edges)


class SqliteStoreReader:
    """Asks the driver whether anything was written at all, and has only those rows
    decoded by the store which read otherwise than before."""

    def __init__(self, store: Store) -> None:
        if not isinstance(store, SqlStore) or store.database.dialect != "sqlite":
            raise ValueError("the simulator runs on the memory and SQLite stores alone")
        self._store = store
        self._driver: Any = store.database.engine.raw_connection().driver_connection
        self._writes = -1
        self._raw: dict[str, tuple[Any, ...]] = {}  # every row, as the driver gives it
        self._stacks: dict[str, Stack] = {}
        self._rows: dict[str, Resource] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._ids: dict[str, list[str]] = {}

    def changed_stacks(self) -> list[tuple[str, StackState]]:
        if self._driver.total_changes == self._writes:
            return []
        self._writes = self._driver.total_changes
        found = []
        for stack_id, fresh in self._raw_rows(_STACKS):
            ids = self._refresh(stack_id, fresh)
            if ids is not None:
                rows = [self._rows[row_id] for row_id in ids]
                stack = self._stacks[stack_id]
                found.append((stack_id, _snapshot(stack, rows, self._edges[stack_id])))
        return found

    def _refresh(self, stack_id: str, fresh: bool) -> list[str] | None:
        """The ids of the stack's rows, or None if nothing of it has changed."""
        if fresh:
            with self._store.transaction() as tx:
                stack = tx.stacks.get(stack_id)
            if stack is not None:
                self._stacks[stack_id] = stack
        rows = self._raw_rows(_RESOURCES, stack_id)
        if news := [row_id for row_id, new in rows if new]:
            with self._store.transaction() as tx:
                self._rows.update((row.id, row) for row in tx.resources.get(news))
        version = self._stacks[stack_id].version
        edges = [
            Edge(resource_id, needed_by, bool(ready))
            for resource_id, needed_by, ready in self._driver.execute(_EDGES, (stack_id, version))
        ]
        ids = [row_id for row_id, _new in rows]
        same = not fresh and not news and self._edges.get(stack_id) == edges
        if same and self._ids.get(stack_id) == ids:
            return None
        self._edges[stack_id], self._ids[stack_id] = edges, ids
        return ids

    def _raw_rows(self, query: str, *values: Any) -> list[tuple[str, bool]]:
        """Id → whether the row is new or has changed."""
        cursor = self._driver.execute(query, values)
        at = [column[0] for column in cursor.description].index("id")
        found = []
        for row in cursor.fetchall():
            found.append((row[at], self._raw.get(row[at]) != row))
            self._raw[row[at]] = row
        return found


def _snapshot(stack: Stack, rows: Iterable[Resource], edges: Iterable[Edge]) -> StackState:
    def order(edge: Edge) -> tuple[str, str]:
        return edge.resource_id, edge.needed_by or ""

    return StackState(stack, tuple(rows), tuple(sorted(edges, key=order)))
