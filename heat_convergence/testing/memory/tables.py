"""The rows of the in-memory store, and their rollback.

Used by the repositories beside this module and, to read what is stored, by the
simulator.  Knows no method of the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from heat_convergence.convergence.drift.observation import (
    MassLossBreaker,
    ResourceObservation,
    StackDriftControl,
    WatchGroup,
)
from heat_convergence.convergence.drift.repair_budget import ResourceRepair
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_values
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.stored_plan import StoredPlan
from heat_convergence.convergence.quarantine.entry import QuarantineEntry
from heat_convergence.template.environment.readiness import ReadinessLevel
from heat_convergence.testing.memory.values import as_stored

Key = TypeVar("Key")
Row = TypeVar("Row")


class Table(dict[Key, Row]):
    """Rows by key, whose changes since the start of a transaction can be undone.

    Attributes:
        change_count: How often rows were written, deleted or restored.
        changed_tables: The list to which the table adds itself at the first change.
    """

    def __init__(self, rows: Mapping[Key, Row] | Iterable[tuple[Key, Row]] = ()) -> None:
        super().__init__(rows)
        self.change_count = 0
        self.changed_tables: list[Table[Any, Any]] = []
        self._before: dict[Key, Row] | None = None

    def keep(self) -> None:
        """Keep all changes; later ones can be undone."""
        self._before = None

    def undo(self) -> None:
        """Restore the rows that there were at the last ``keep``."""
        before, self._before = self._before, None
        if before is not None:
            self.change_count += 1
            super().clear()
            super().update(before)

    def _note_change(self) -> None:
        self.change_count += 1
        if self._before is None:
            self._before = dict(self)
            self.changed_tables.append(self)

    def __setitem__(self, key: Key, row: Row) -> None:
        self._note_change()
        super().__setitem__(key, row)

    def __delitem__(self, key: Key) -> None:
        self._note_change()
        super().__delitem__(key)

    def setdefault(self, key: Key, row: Row) -> Row:
        """Return the row with the key; insert ``row`` if there is none."""
        self._note_change()
        return super().setdefault(key, row)

    def pop(self, key: Key, default: Any = None) -> Any:
        """Delete the row with the key and return it, or ``default`` if there is none."""
        self._note_change()
        return super().pop(key, default)

    def update(self, rows: Mapping[Key, Row]) -> None:  # type: ignore[override]
        """Write rows."""
        self._note_change()
        super().update(rows)

    def clear(self) -> None:
        """Delete all rows."""
        self._note_change()
        super().clear()


@dataclass(frozen=True, slots=True)
class GraphRow:
    """A row of ``resource_graph``."""

    stack_id: str
    version: int
    resource_id: str
    needed_by: str | None
    observed_ready: bool
    retry_count: int = 0
    takeover_count: int = 0
    level: ReadinessLevel | None = None

    @property
    def key(self) -> tuple[int, str, str | None]:
        """The columns that are unique."""
        return (self.version, self.resource_id, self.needed_by)


@dataclass(slots=True)
class MemoryTables:
    """Everything a store keeps.  The rows are immutable, so copies may be shallow."""

    stacks: Table[str, Stack] = field(default_factory=Table)
    tags: Table[str, tuple[str, ...]] = field(default_factory=Table)
    goals: Table[str, Goal] = field(default_factory=Table)
    contents: Table[str, str] = field(default_factory=Table)
    snapshots: Table[str, Snapshot] = field(default_factory=Table)
    resources: Table[str, Resource] = field(default_factory=Table)
    graph: Table[tuple[int, str, str | None], GraphRow] = field(default_factory=Table)
    # (stack id, id of the one that may be used, id of its dependent)
    physical_dependencies: Table[tuple[str, str, str], None] = field(default_factory=Table)
    events: list[Event] = field(default_factory=list)
    services: Table[str, ServiceRecord] = field(default_factory=Table)
    watch_groups: Table[tuple[str, str], WatchGroup] = field(default_factory=Table)
    observations: Table[str, ResourceObservation] = field(default_factory=Table)
    drift_controls: Table[str, StackDriftControl] = field(default_factory=Table)
    drift_repairs: Table[tuple[str, str], ResourceRepair] = field(default_factory=Table)
    drift_breakers: Table[str, MassLossBreaker] = field(default_factory=Table)
    quarantine: Table[str, QuarantineEntry] = field(default_factory=Table)
    plans: Table[str, StoredPlan] = field(default_factory=Table)
    _changed: list[Table[Any, Any]] = field(default_factory=list, compare=False, repr=False)
    _event_count: int = field(default=0, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Have the tables report their changes."""
        for name in _TABLE_NAMES:
            getattr(self, name).changed_tables = self._changed
        self._event_count = len(self.events)

    def copy(self) -> MemoryTables:
        """Return tables with the same rows."""
        tables: dict[str, Any] = {name: Table(getattr(self, name)) for name in _TABLE_NAMES}
        return MemoryTables(events=list(self.events), **tables)

    def keep_changes(self) -> None:
        """Keep all changes; later ones can be undone."""
        for table in self._changed:
            table.keep()
        self._changed.clear()
        self._event_count = len(self.events)

    def undo_changes(self) -> None:
        """Restore the rows that there were at the last ``keep_changes``."""
        for table in self._changed:
            table.undo()
        self._changed.clear()
        del self.events[self._event_count :]

    def resources_by_id(self, ids: Collection[str]) -> list[Resource]:
        """Return those of the resources that exist, by id."""
        return [self.resources[key] for key in sorted(set(ids)) if key in self.resources]

    def resources_of_stack(self, stack_id: str) -> list[Resource]:
        """Return the stack's resources, by id."""
        rows = self.resources
        return [rows[key] for key in sorted(rows) if rows[key].stack_id == stack_id]

    def update_resources(self, ids: Collection[str], values: Mapping[str, Any]) -> None:
        """Set the same columns in all of the resources that exist."""
        for row in self.resources_by_id(ids):
            self.resources[row.id] = with_values(row, as_stored(values))

    def update_each_resource(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        """Set columns by resource id; all of them the same columns, as in a statement."""
        if len({frozenset(values) for values in changes.values()}) > 1:
            raise ValueError("the mappings name different columns")
        for row_id, values in changes.items():
            self.update_resources([row_id], values)

    def has_lease(self, row_id: str, token: str, version: int) -> bool:
        """Return whether the resource has this lease token and version."""
        row = self.resources.get(row_id)
        return row is not None and row.lease.token == token and row.job.version == version

    def edges(self, version: int | None = None) -> list[GraphRow]:
        """Return all rows of the graph, or those of a version."""
        return [row for row in self.graph.values() if version is None or row.version == version]

    def find_blocked(self, version: int) -> frozenset[str | None]:
        """Return the ids of resources that need something not observed ready."""
        return frozenset(row.needed_by for row in self.edges(version) if not row.observed_ready)

    def keep_edges(self, keep: Callable[[GraphRow], bool]) -> None:
        """Delete the rows of the graph for which ``keep`` returns false."""
        for row in self.edges():
            if not keep(row):
                del self.graph[row.key]

    def snapshots_of_stack(self, stack_id: str) -> list[Snapshot]:
        """Return the stack's snapshots."""
        return [row for row in self.snapshots.values() if row.stack_id == stack_id]


_TABLE_NAMES = tuple(each.name for each in fields(MemoryTables) if each.default_factory is Table)


class MemoryRepository:
    """A repository on the tables of one transaction."""

    def __init__(self, tables: MemoryTables) -> None:
        """Use ``tables``, which the transaction's end keeps or drops."""
        self._tables = tables
