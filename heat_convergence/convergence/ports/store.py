"""The store: transactions, the observer's sweeps, and what workers report.

The repositories' methods are small, a statement or two each.  What happens between them
is written once, in this package and in the daemons, and runs the same on the in-memory
store and on every database.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.repair_repository import RepairRepository
from heat_convergence.convergence.drift.repository import WatchRepository
from heat_convergence.convergence.model.job import JobRef
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.plans.repository import PlanRepository
from heat_convergence.convergence.ports.contents import ContentRepository
from heat_convergence.convergence.ports.events import EventRepository
from heat_convergence.convergence.ports.goals import GoalRepository
from heat_convergence.convergence.ports.graph import GraphRepository
from heat_convergence.convergence.ports.incarnations import IncarnationRepository
from heat_convergence.convergence.ports.jobs import JobRepository
from heat_convergence.convergence.ports.leases import LeaseRepository
from heat_convergence.convergence.ports.readiness import ReadinessRepository
from heat_convergence.convergence.ports.resources import ResourceRepository
from heat_convergence.convergence.ports.snapshots import SnapshotRepository
from heat_convergence.convergence.ports.stacks import StackRepository
from heat_convergence.convergence.ports.tree import TreeRepository
from heat_convergence.convergence.quarantine.repository import QuarantineRepository


class Transaction(Protocol):
    """One transaction over all nouns: either all of it happens, or nothing.

    Methods called ``lock…`` hold what they return until the end.  Order of locks
    everywhere: the stack, then resources by id; a transaction that locks no stack locks
    resources only. The lock of a project's quotas comes last.
    """

    @property
    def stacks(self) -> StackRepository:
        """Rows of stacks."""

    @property
    def goals(self) -> GoalRepository:
        """Rows of goals."""

    @property
    def contents(self) -> ContentRepository:
        """Texts by hash."""

    @property
    def snapshots(self) -> SnapshotRepository:
        """Rows of users' snapshots."""

    @property
    def plans(self) -> PlanRepository:
        """Rows of stored plans."""

    @property
    def tree(self) -> TreeRepository:
        """Reads across a tree of stacks."""

    @property
    def resources(self) -> ResourceRepository:
        """Rows of resources."""

    @property
    def incarnations(self) -> IncarnationRepository:
        """Rows of resources by name."""

    @property
    def leases(self) -> LeaseRepository:
        """Workers' leases on resources."""

    @property
    def jobs(self) -> JobRepository:
        """Jobs of resources."""

    @property
    def graph(self) -> GraphRepository:
        """Edges between resources."""

    @property
    def readiness(self) -> ReadinessRepository:
        """Readiness of resources."""

    @property
    def events(self) -> EventRepository:
        """Events."""

    @property
    def quarantine(self) -> QuarantineRepository:
        """Resources that could not be deleted with their stacks."""


class SweepRepository(Protocol):
    """Periodic searches of the observer; each method is a transaction of its own."""

    def is_anything_due(self, now: datetime, before: datetime) -> bool:
        """Return whether a search of the sweep would find anything.

        Args:
            now: the time.
            before: jobs posted and traversals started before this time are late.
        """

    def take_lost_jobs(self, now: datetime, posted_before: datetime, limit: int) -> list[JobRef]:
        """Take POSTED and RUNNING jobs without a live lease, posted before that time.

        Jobs whose resource is due to be observed (``observe_at``) are not lost.  Those
        taken are POSTED at ``now``, so that no second observer takes them meanwhile.
        """

    def take_due_observations(self, now: datetime, until: datetime, limit: int) -> list[Resource]:
        """Take resources whose ``observe_at`` has come, and postpone it to ``until``."""

    def advance_observations(self, hints: ChangeHints, now: datetime, limit: int) -> int:
        """Make resources due that wait for an observation, and to which hints apply.

        Hints without a project are left out.

        Args:
            hints: what may have changed.
            now: the time, to which a later ``observe_at`` is set.
            limit: the largest number of resources of each project and of ids.

        Returns:
            The number of resources.
        """

    def take_snapshots_to_delete(
        self, now: datetime, until: datetime, limit: int
    ) -> list[Snapshot]:
        """Take snapshots whose ``delete_at`` has come, and postpone it to ``until``."""

    def get_next_observation_time(self) -> datetime | None:
        """Return the earliest ``observe_at`` of all resources."""

    def find_overdue_stacks(self, now: datetime, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS stacks whose deadline has passed."""

    def find_cancelled_nested_stacks(self, limit: int) -> list[str]:
        """Return ids of IN_PROGRESS nested stacks that their parents have cancelled.

        The parent's resource is CANCELLED, and was BUSY when it was last observed.
        """

    def find_stalled_stacks(self, before: datetime, limit: int) -> list[tuple[str, int]]:
        """Return (id, version) of IN_PROGRESS stacks without a job in flight or SCHEDULABLE.

        Those in their stabilization window are stalled if no resource is to be read.

        Args:
            before: the time before which their traversals started.
            limit: the largest number of stacks.
        """

    def find_projects_with_schedulable_jobs(self, before: datetime, limit: int) -> list[str]:
        """Return ids of projects with stacks in progress and jobs SCHEDULABLE too long.

        Args:
            before: the time since before which such a job waits.
            limit: the largest number of projects.
        """


class WorkerRepository(Protocol):
    """Reports of worker processes; each method is a transaction of its own."""

    def renew_leases(self, owner: str, tokens: Collection[str], until: datetime) -> int:
        """Extend the owner's leases of these tokens; return the number of rows."""

    def take_jobs_of_ended(
        self, owners: Collection[str], now: datetime, limit: int
    ) -> list[JobRef]:
        """End leases of workers whose processes have ended, and take their jobs.

        RUNNING jobs are POSTED at ``now``, so that no sweep takes them meanwhile.

        Args:
            owners: ids of the workers, which must certainly not run any more.
            now: the time.
            limit: the largest number of leases; fewer are returned when none is left.
        """

    def record_heartbeat(self, service: ServiceRecord, now: datetime) -> None:
        """Record that the worker process was alive at ``now``."""

    def remove_worker(self, worker_id: str) -> None:
        """Remove the record of a worker process that ends orderly."""


class Store(Protocol):
    """The rows of all stacks."""

    @property
    def sweeps(self) -> SweepRepository:
        """Periodic searches of the observer."""

    @property
    def workers(self) -> WorkerRepository:
        """Reports of worker processes."""

    @property
    def watch(self) -> WatchRepository:
        """The watch of resources whose stacks are complete."""

    @property
    def repairs(self) -> RepairRepository:
        """The repairs that the service starts by itself."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: commit at the end of the block, roll back on an exception."""

    def read(self) -> AbstractContextManager[Transaction]:
        """Open a transaction for reading: it locks nothing, and nothing is committed."""
