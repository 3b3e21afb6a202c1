"""The rows of the watch: groups of resources that are read together, and observations.

Implemented by ``db.drift`` and in memory. Each method is a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Protocol, Unpack

from heat_convergence.convergence.drift.change_hints import ChangeHints
from heat_convergence.convergence.drift.observation import (
    ControlValues,
    MassLossBreaker,
    ReadPause,
    StackDriftControl,
    WatchedResources,
    WatchGroup,
    WatchResult,
)
from heat_convergence.template.environment.drift_policies import DriftPolicy


class WatchRepository(Protocol):
    """The watch groups and observations of all projects."""

    def add_groups(
        self,
        stack_ids: Collection[str],
        implementations: Collection[str],
        next_at: datetime,
        interval_s: float,
    ) -> int:
        """Add the missing groups of the stacks' resources.

        Args:
            stack_ids: the stacks.
            implementations: the resource types that can be watched.
            next_at: when a new group is read first.
            interval_s: the interval of a new group.

        Returns:
            The number of new groups.
        """

    def list_complete_stacks(self, after: str, limit: int) -> list[str]:
        """Return ids of COMPLETE stacks that follow ``after``, in order."""

    def take_due_groups(self, now: datetime, until: datetime, limit: int) -> list[WatchGroup]:
        """Take groups whose ``next_at`` has come, and postpone it to ``until``."""

    def advance_groups(self, hints: ChangeHints, now: datetime, pause: ReadPause) -> int:
        """Make groups due to whose resources hints apply.

        A physical resource counts while its resource is listed by ``list_watched``.

        Args:
            hints: what may have changed.
            now: the time.
            pause: the shortest times between two reads of a group.

        Returns:
            The number of groups that are read earlier than planned.
        """

    def get_next_time(self) -> datetime | None:
        """Return the earliest ``next_at`` of all groups."""

    def list_watched(self, project_id: str, implementations: Collection[str]) -> WatchedResources:
        """Return a project's resources of the types, in COMPLETE stacks, that nothing acts on."""

    def get_control(self, stack_id: str) -> StackDriftControl:
        """Return what users have set for the drift of a stack."""

    def get_stack_policy(self, stack_id: str) -> DriftPolicy | None:
        """Return the policy that a user has set for the stack, else for its root."""

    def change_control(self, stack_id: str, **values: Unpack[ControlValues]) -> StackDriftControl:
        """Change what users have set for the drift of a stack; return all of it."""

    def list_breakers(self, project_id: str) -> list[MassLossBreaker]:
        """Return the breakers of a project, by type and region."""

    def confirm_breakers(self, project_id: str, ids: Collection[str]) -> int:
        """Mark breakers of a project confirmed, all or none; return how many of the ids exist."""

    def record(self, group: WatchGroup, result: WatchResult) -> int:
        """Record what a read has found, and the group's times and reason.

        An observation is dropped when an action on its resource has begun since it was listed.
        A group that has no resource any more is deleted. If hints have made the group due
        since it was taken, its next time stays as it is.

        Returns:
            The number of observations written.
        """
