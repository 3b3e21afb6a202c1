"""The rows of the in-memory store, and their copies for a rollback.

Used by the repositories beside this module and, to read what is stored, by the
simulator.  Knows no method of the ports.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from heat_convergence.testing.memory.values import as_stored


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

    @property
    def key(self) -> tuple[int, str, str | None]:
        """The columns that are unique."""
        return (self.version, self.resource_id, self.needed_by)


@dataclass(slots=True)
class MemoryTables:
    """Everything a store keeps.  The rows are immutable, so copies may be shallow."""

    stacks: dict[str, Stack] = field(default_factory=dict)
    tags: dict[str, tuple[str, ...]] = field(default_factory=dict)
    goals: dict[str, Goal] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=dict)
    graph: dict[tuple[int, str, str | None], GraphRow] = field(default_factory=dict)
    # (stack id, id of the one that may be used, id of its dependent)
    physical_dependencies: dict[tuple[str, str, str], None] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    services: dict[str, ServiceRecord] = field(default_factory=dict)
    watch_groups: dict[tuple[str, str], WatchGroup] = field(default_factory=dict)
    observations: dict[str, ResourceObservation] = field(default_factory=dict)
    drift_controls: dict[str, StackDriftControl] = field(default_factory=dict)
    drift_repairs: dict[tuple[str, str], ResourceRepair] = field(default_factory=dict)
    drift_breakers: dict[str, MassLossBreaker] = field(default_factory=dict)

    def copy(self) -> MemoryTables:
        """Return tables with the same rows."""
        return MemoryTables(
            stacks=dict(self.stacks),
            tags=dict(self.tags),
            goals=dict(self.goals),
            contents=dict(self.contents),
            snapshots=dict(self.snapshots),
            resources=dict(self.resources),
            graph=dict(self.graph),
            physical_dependencies=dict(self.physical_dependencies),
            events=list(self.events),
            services=dict(self.services),
            watch_groups=dict(self.watch_groups),
            observations=dict(self.observations),
            drift_controls=dict(self.drift_controls),
            drift_repairs=dict(self.drift_repairs),
            drift_breakers=dict(self.drift_breakers),
        )

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
        self.graph = {row.key: row for row in self.edges() if keep(row)}

    def snapshots_of_stack(self, stack_id: str) -> list[Snapshot]:
        """Return the stack's snapshots."""
        return [row for row in self.snapshots.values() if row.stack_id == stack_id]


class MemoryRepository:
    """A repository on the tables of one transaction."""

    def __init__(self, tables: MemoryTables) -> None:
        """Use ``tables``, which the transaction's end keeps or drops."""
        self._tables = tables
