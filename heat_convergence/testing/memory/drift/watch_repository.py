"""The watch in memory: every method is a loop over all rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from heat_convergence.convergence.drift.change_hints import ANY_PROJECT, ChangeHints
from heat_convergence.convergence.drift.observation import (
    ControlValues,
    MassLossBreaker,
    ReadPause,
    ResourceObservation,
    StackDriftControl,
    WatchedResource,
    WatchedResources,
    WatchGroup,
    WatchResult,
)
from heat_convergence.convergence.drift.repair_budget import RepairStatus
from heat_convergence.convergence.drift.repository import WatchRepository
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.testing.memory.transaction import MemorySession


class MemoryWatchRepository(WatchRepository):
    """The watch over dictionaries."""

    def __init__(self, session: MemorySession) -> None:
        """Use the tables of ``session``."""
        self._session = session

    def add_groups(
        self,
        stack_ids: Collection[str],
        implementations: Collection[str],
        next_at: datetime,
        interval_s: float,
    ) -> int:
        """Add the missing groups of the stacks' resources."""
        with self._session.transaction():
            tables = self._session.tables
            found = {
                (row.identity.project_id, row.desired.implementation)
                for row in tables.resources.values()
                if row.stack_id in stack_ids
                and row.desired.implementation in implementations
                and _exists(row)
            }
            missing = sorted(found - tables.watch_groups.keys())
            for project_id, implementation in missing:
                tables.watch_groups[project_id, implementation] = WatchGroup(
                    project_id=project_id,
                    implementation=implementation,
                    interval_s=interval_s,
                    next_at=next_at,
                )
        return len(missing)

    def list_complete_stacks(self, after: str, limit: int) -> list[str]:
        """Return ids of COMPLETE stacks that follow ``after``, in order."""
        stacks = self._session.tables.stacks.values()
        found = [each.id for each in stacks if each.id > after and self._is_complete(each.id)]
        return sorted(found)[:limit]

    def take_due_groups(self, now: datetime, until: datetime, limit: int) -> list[WatchGroup]:
        """Take groups whose ``next_at`` has come, and postpone it to ``until``."""
        with self._session.transaction():
            groups = self._session.tables.watch_groups
            due = [group for group in groups.values() if group.next_at <= now]
            taken = sorted(due, key=lambda group: (group.next_at, group.key))[:limit]
            for group in taken:
                groups[group.key] = replace(group, next_at=until)
        return taken

    def advance_groups(self, hints: ChangeHints, now: datetime, pause: ReadPause) -> int:
        """Make groups due to whose resources hints apply."""
        with self._session.transaction():
            tables = self._session.tables
            hinted = {
                (row.identity.project_id, row.desired.implementation)
                for row in tables.resources.values()
                if row.physical.id in hints.physical_ids and self._is_watched(row)
            } | hints.types
            count = 0
            for key, group in sorted(tables.watch_groups.items()):
                if key not in hinted and (ANY_PROJECT, key[1]) not in hinted:
                    continue
                shortest = pause.known if key in hinted else pause.any_project
                is_early = bool(group.reason) or (
                    group.observed_at is not None and group.observed_at > now - shortest
                )
                next_at = now + shortest if is_early else now
                if next_at < group.next_at:
                    tables.watch_groups[key] = replace(group, next_at=next_at)
                    count += 1
        return count

    def get_next_time(self) -> datetime | None:
        """Return the earliest ``next_at`` of all groups."""
        groups = self._session.tables.watch_groups.values()
        return min((group.next_at for group in groups), default=None)

    def list_watched(self, project_id: str, implementations: Collection[str]) -> WatchedResources:
        """Return a project's resources of the types, in COMPLETE stacks, that nothing acts on."""
        tables = self._session.tables
        rows = {
            row.id: row
            for _id, row in sorted(tables.resources.items())
            if row.identity.project_id == project_id
            and row.desired.implementation in implementations
        }
        obsolete: dict[str, tuple[str, ...]] = {}
        for key, each in sorted(tables.observations.items()):
            of_types = each.project_id == project_id and each.implementation in implementations
            if of_types and key not in rows:
                name = each.implementation
                obsolete[name] = (*obsolete.get(name, ()), key)
        return WatchedResources(
            tuple(
                WatchedResource(
                    row,
                    tables.stacks[row.stack_id],
                    tables.observations.get(row.id),
                    self._stack_policy(tables.stacks[row.stack_id]),
                )
                for row in rows.values()
                if self._is_watched(row)
            ),
            obsolete,
            frozenset(row.desired.implementation for row in rows.values()),
            tuple(
                each
                for each in self.list_breakers(project_id)
                if each.implementation in implementations
            ),
            frozenset(
                row.desired.implementation
                for row in rows.values()
                if _exists(row) and not self._is_watched(row)
            ),
        )

    def get_control(self, stack_id: str) -> StackDriftControl:
        """Return what users have set for the drift of a stack."""
        controls = self._session.tables.drift_controls
        return controls.get(stack_id, StackDriftControl(stack_id=stack_id))

    def get_stack_policy(self, stack_id: str) -> DriftPolicy | None:
        """Return the policy that a user has set for the stack, else for its root."""
        stack = self._session.tables.stacks.get(stack_id)
        return None if stack is None else self._stack_policy(stack)

    def change_control(self, stack_id: str, **values: Unpack[ControlValues]) -> StackDriftControl:
        """Change what users have set for the drift of a stack; return all of it."""
        with self._session.transaction():
            changed = replace(self.get_control(stack_id), **values)
            self._session.tables.drift_controls[stack_id] = changed
            if "repair_window" in values:
                self._reset_deferred(stack_id)
        return changed

    def _reset_deferred(self, stack_id: str) -> None:
        """Let deferred repairs of a stack, and of those below a root stack, be decided again."""
        repairs, stacks = self._session.tables.drift_repairs, self._session.tables.stacks
        for key, row in sorted(repairs.items()):
            of_tree = row.stack_id == stack_id or stacks[row.stack_id].root_id == stack_id
            if of_tree and row.status is RepairStatus.DEFERRED:
                repairs[key] = replace(row, version=None)

    def _stack_policy(self, stack: Stack) -> DriftPolicy | None:
        return self.get_control(stack.id).policy or self.get_control(stack.tree_id).policy

    def list_breakers(self, project_id: str) -> list[MassLossBreaker]:
        """Return the breakers of a project, by type and region."""
        found = self._session.tables.drift_breakers.values()
        return sorted(
            (each for each in found if each.project_id == project_id),
            key=lambda each: (each.implementation, each.region, each.id),
        )

    def confirm_breakers(self, project_id: str, ids: Collection[str]) -> int:
        """Mark breakers of a project confirmed, all or none; return how many of the ids exist."""
        with self._session.transaction():
            found = [each for each in self.list_breakers(project_id) if each.id in ids]
            for each in found if len(found) == len(ids) else ():
                self._session.tables.drift_breakers[each.id] = replace(each, confirmed=True)
        return len(found)

    def record(self, group: WatchGroup, result: WatchResult) -> int:
        """Record what a read has found, and the group's times and reason."""
        with self._session.transaction():
            tables = self._session.tables
            valid = [each for each in result.changed if self._is_unchanged(each)]
            tables.observations.update({each.resource_id: each for each in valid})
            for key in result.obsolete:
                tables.observations.pop(key, None)
            for key in result.closed_breakers:
                tables.drift_breakers.pop(key, None)
            if result.is_empty:
                tables.watch_groups.pop(group.key, None)
                self._delete_breakers(group)
            elif group.key in tables.watch_groups:
                hinted_at = tables.watch_groups[group.key].next_at
                if result.taken_until is not None and hinted_at < result.taken_until:
                    group = replace(group, next_at=min(hinted_at, group.next_at))
                tables.watch_groups[group.key] = group
                for breaker in result.open_breakers:
                    self._store_breaker(breaker)
        return len(valid)

    def _store_breaker(self, breaker: MassLossBreaker) -> None:
        """Store a breaker, unless another read has opened one of the same region."""
        rows = self._session.tables.drift_breakers
        known = rows.get(breaker.id)
        if known is not None:
            rows[breaker.id] = replace(known, lost=breaker.lost, total=breaker.total)
        elif not any(_region_of(each) == _region_of(breaker) for each in rows.values()):
            rows[breaker.id] = breaker

    def _delete_breakers(self, group: WatchGroup) -> None:
        """Delete the breakers of a type of which the project has no resource any more."""
        rows = self._session.tables.drift_breakers
        for each in self.list_breakers(group.project_id):
            if each.implementation == group.implementation:
                del rows[each.id]

    def _is_unchanged(self, observation: ResourceObservation) -> bool:
        row = self._session.tables.resources.get(observation.resource_id)
        at_rest = row is not None and self._is_watched(row)
        return (
            at_rest and row is not None and row.state.updated_at == observation.resource_updated_at
        )

    def _is_complete(self, stack_id: str) -> bool:
        stack = self._session.tables.stacks[stack_id]
        return stack.status is Status.COMPLETE and stack.deleted_at is None

    def _is_watched(self, row: Resource) -> bool:
        at_rest = row.job.state is None and row.state.status is Status.COMPLETE
        return at_rest and self._is_complete(row.stack_id) and _exists(row)


def _exists(row: Resource) -> bool:
    return row.desired.state is DesiredState.PRESENT and row.physical.id is not None


def _region_of(breaker: MassLossBreaker) -> tuple[str, str, str]:
    """Return the project, the resource type and the region, which have one breaker at most."""
    return breaker.project_id, breaker.implementation, breaker.region
