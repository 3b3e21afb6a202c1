"""The rows of the in-memory store, and their copies for a rollback.

Used by ``testing.store`` and, to read what is there, by the simulator.  Knows
no verb of the ports.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack


@dataclass(frozen=True, slots=True)
class GraphRow:
    """A row of ``resource_graph``."""

    stack_id: str
    version: int
    resource_id: str
    needed_by: str | None
    observed_ready: bool
    retry_count: int = 0

    @property
    def key(self) -> tuple[int, str, str | None]:
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
    physical_dependencies: dict[tuple[str, str, str], None] = field(
        default_factory=dict
    )  # of a row
    events: list[Event] = field(default_factory=list)
    services: dict[str, ServiceRecord] = field(default_factory=dict)

    def copy(self) -> MemoryTables:
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
        )
