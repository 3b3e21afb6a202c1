"""The port to jobs: what a traversal wants done to resources, and whose turn it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol, Unpack

from heat_convergence.convergence.model.job import JobRef, Workload
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import ResourceColumns
from heat_convergence.convergence.model.transition_rules import JobTransition


class JobRepository(Protocol):
    """The jobs of resources; a row without one has ``job`` None."""

    def lock_by_stack(self, stack_id: str) -> list[Resource]:
        """Lock the stack's rows that have a job; return them narrow, by id."""

    def next_queued(self, stack_id: str, limit: int) -> list[str]:
        """Return ids of up to ``limit`` QUEUED jobs of the stack, oldest first."""

    def next_schedulable(self, project_id: str, after: str, limit: int) -> list[JobRef]:
        """Lock SCHEDULABLE jobs of the project that no other transaction has locked.

        Args:
            project_id: whose turn it is.
            after: the root stack after which the round goes on: jobs of later trees come
                first, then those from the first tree on.
            limit: the largest number of jobs.
        """

    def get_workload(self, project_id: str, stack_id: str | None = None) -> Workload:
        """Return how much is under way in the project and, if named, in the stack."""

    def get_workloads(self, project_id: str, stack_ids: Collection[str]) -> Mapping[str, Workload]:
        """Return how much is under way in the project and in each of its stacks, by stack."""

    def apply(
        self, ids: Collection[str], transition: JobTransition, **columns: Unpack[ResourceColumns]
    ) -> None:
        """Apply a transition to jobs, and set the same further columns of their rows."""

    def apply_each(
        self, changes: Mapping[str, tuple[JobTransition, Mapping[str, object]]]
    ) -> None:
        """Apply transitions and set further columns by row, with one prepared statement.

        Args:
            changes: resource id → (transition, column → value); all with the same columns.
        """

    def apply_leased(
        self,
        resource_id: str,
        token: str,
        version: int,
        transition: JobTransition,
        columns: Mapping[str, object],
    ) -> bool:
        """Apply a transition if the row still has this lease token and version (RULE 3).

        Returns:
            Whether the row was written; a late writer matches no row.
        """

    def repost(self, ids: Collection[str], now: datetime) -> None:
        """Make those of the jobs that are RUNNING POSTED again."""

    def mark_complete(self, ids: Collection[str], now: datetime) -> None:
        """Mark resources COMPLETE and remove their jobs, leaving nothing to observe.

        After CONVERGE or ADOPT the row's ``applied_hash`` becomes its definition's; after
        CONVERGE or RESUME the row is not suspended any more.
        """
