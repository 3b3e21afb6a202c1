"""Readers that return the stacks changed since the last read, as ``StackState``.

Used by the invariant checker after every commit, so each reader (one for the memory
store, one for SQLite) reads no more than it needs.  Readers never write.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Protocol

from heat_convergence.convergence.invariants.transition import StackState
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Store
from heat_convergence.db.store import SqlStore
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.memory.store import MemoryStore
from heat_convergence.testing.memory.tables import MemoryTables

_STACKS = "SELECT * FROM stack ORDER BY id"
_RESOURCES = "SELECT * FROM resource WHERE stack_id = ? ORDER BY id"
_EDGES = (
    "SELECT resource_id, needed_by, observed_ready, level FROM resource_graph WHERE stack_id = ?"
)
_READ_TABLES = ("stacks", "resources", "graph", "quarantine")
_QUARANTINED = "SELECT resource_id FROM quarantine WHERE stack_id = ?"


class StoreReader(Protocol):
    """A source of changed stacks."""

    def changed_stacks(self) -> list[tuple[str, StackState]]:
        """Return the id and state of each stack changed since the last call."""


def reader_for(store: Store) -> StoreReader:
    """Return the reader for a memory or SQLite store; others raise ``ValueError``."""
    return MemoryStoreReader(store) if isinstance(store, MemoryStore) else SqliteStoreReader(store)


class MemoryStoreReader:
    """Reader for the memory store; compares the rows, which are immutable."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._states: dict[str, StackState] = {}
        self._counts: tuple[int, ...] = ()  # of changes of the tables at the last read
        # By table the rows and the number of changes at the last read.
        self._read: dict[str, tuple[Mapping[Hashable, Any], int]] = {}

    def changed_stacks(self) -> list[tuple[str, StackState]]:
        """Return the id and state of each stack changed since the last call."""
        tables = self._store.tables
        counts = tuple(getattr(tables, name).change_count for name in _READ_TABLES)
        if counts == self._counts:
            return []
        self._counts = counts
        written = {
            row.id if name == "stacks" else row.stack_id
            for name in _READ_TABLES
            for row in self._written_rows(name)
        }
        found = []
        for stack in tables.stacks.values() if written else ():
            if stack.id not in written:
                continue
            state = _state_from_tables(tables, stack)
            if self._states.get(stack.id) != state:
                self._states[stack.id] = state
                found.append((stack.id, state))
        return found

    def _written_rows(self, table: str) -> list[Any]:
        """Return the rows of a table that are new or gone since the last call."""
        known, count = self._read.get(table, ({}, -1))
        current = getattr(self._store.tables, table)
        if current.change_count == count:
            return []
        rows = dict(current)
        self._read[table] = rows, current.change_count
        new = [row for key, row in rows.items() if known.get(key) is not row]
        return new + [row for key, row in known.items() if key not in rows]


def _state_from_tables(tables: MemoryTables, stack: Stack) -> StackState:
    rows = tables.resources_of_stack(stack.id)
    edges = [
        Edge(row.resource_id, row.needed_by, row.observed_ready, level=row.level)
        for row in tables.graph.values()
        if row.stack_id == stack.id
    ]
    quarantined = frozenset(
        each.resource_id for each in tables.quarantine.values() if each.stack_id == stack.id
    )
    return _stack_state(stack, rows, edges, quarantined)


class SqliteStoreReader:
    """Reader for SQLite.

    Skips the read if the driver counts no write, and lets the store decode only the
    rows whose raw values differ from the last read.
    """

    def __init__(self, store: Store) -> None:
        if not isinstance(store, SqlStore) or store.database.dialect != "sqlite":
            raise ValueError("the simulator runs on the memory and SQLite stores alone")
        self._store = store
        self._driver: Any = store.database.engine.raw_connection().driver_connection
        self._writes = -1
        self._raw: dict[str, tuple[Any, ...]] = {}  # every row as the driver returns it
        self._stacks: dict[str, Stack] = {}
        self._rows: dict[str, Resource] = {}
        self._edges: dict[str, list[Edge]] = {}
        self._ids: dict[str, list[str]] = {}
        self._quarantined: dict[str, frozenset[str]] = {}

    def changed_stacks(self) -> list[tuple[str, StackState]]:
        """Return the id and state of each stack changed since the last call."""
        if self._driver.total_changes == self._writes:
            return []
        self._writes = self._driver.total_changes
        found = []
        for stack_id, fresh in self._raw_rows(_STACKS):
            ids = self._refresh(stack_id, fresh)
            if ids is not None:
                rows = [self._rows[row_id] for row_id in ids]
                stack = self._stacks[stack_id]
                state = _stack_state(
                    stack, rows, self._edges[stack_id], self._quarantined[stack_id]
                )
                found.append((stack_id, state))
        return found

    def _refresh(self, stack_id: str, fresh: bool) -> list[str] | None:
        """Return the ids of the stack's rows, or None if nothing in the stack changed."""
        if fresh:
            with self._store.transaction() as tx:
                stack = tx.stacks.get(stack_id)
            if stack is not None:
                self._stacks[stack_id] = stack
        rows = self._raw_rows(_RESOURCES, stack_id)
        if changed := [row_id for row_id, is_new in rows if is_new]:
            with self._store.transaction() as tx:
                self._rows.update((row.id, row) for row in tx.resources.get(changed))
        edges = [
            Edge(
                resource_id,
                needed_by,
                bool(ready),
                level=None if level is None else ReadinessLevel(level),
            )
            for resource_id, needed_by, ready, level in self._driver.execute(_EDGES, (stack_id,))
        ]
        ids = [row_id for row_id, _is_new in rows]
        quarantined = frozenset(
            row_id for (row_id,) in self._driver.execute(_QUARANTINED, (stack_id,))
        )
        same = not fresh and not changed and self._edges.get(stack_id) == edges
        same = same and self._quarantined.get(stack_id) == quarantined
        self._quarantined[stack_id] = quarantined
        if same and self._ids.get(stack_id) == ids:
            return None
        self._edges[stack_id], self._ids[stack_id] = edges, ids
        return ids

    def _raw_rows(self, query: str, *values: Any) -> list[tuple[str, bool]]:
        """Return pairs of a row's id and a flag that is True if the row is new or changed."""
        cursor = self._driver.execute(query, values)
        id_column = [column[0] for column in cursor.description].index("id")
        found = []
        for row in cursor.fetchall():
            found.append((row[id_column], self._raw.get(row[id_column]) != row))
            self._raw[row[id_column]] = row
        return found


def _stack_state(
    stack: Stack, rows: Iterable[Resource], edges: Iterable[Edge], quarantined: frozenset[str]
) -> StackState:
    def order(edge: Edge) -> tuple[str, str]:
        return edge.resource_id, edge.needed_by or ""

    return StackState(stack, tuple(rows), tuple(sorted(edges, key=order)), quarantined)
