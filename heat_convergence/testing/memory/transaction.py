"""A transaction of the in-memory store: every verb is a loop over all rows.

It must not be cleverer than its reader; see ``testing.store``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from heat_convergence.common import errors
from heat_convergence.common.content_map import ContentMap
from heat_convergence.common.sanitization import sanitize_text
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.breakpoint_location import BreakpointLocation
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import COUNTED_IN_FLIGHT, DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports import JobRef, Workload
from heat_convergence.testing.memory.tables import GraphRow, MemoryTables

_JSON = frozenset({"definition", "properties", "attributes", "data"})
_NAMES = frozenset(
    {"requires", "referenced_names", "physical_dependencies", "hooks_and_restrictions"}
)
_APPLYING = (Verb.CONVERGE, Verb.ADOPT)
_WAKING = (Verb.CONVERGE, Verb.RESUME)
_REASONS = frozenset({"status_reason", "first_failure_reason"})
POSTED_OR_RUNNING = frozenset({JobState.POSTED, JobState.RUNNING})


class MemoryTransaction:
    """``convergence.ports.Transaction``; nobody else is inside meanwhile."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    # -- stacks and goals

    def lock_stack(self, stack_id: str) -> Stack | None:
        return self._tables.stacks.get(stack_id)

    get_stack = lock_stack

    def get_stacks(self, ids: Collection[str]) -> Mapping[str, Stack]:
        return {key: stack for key in ids if (stack := self.get_stack(key)) is not None}

    def get_stack_with_workload(self, stack_id: str) -> tuple[Stack, Workload] | None:
        stack = self.get_stack(stack_id)
        return None if stack is None else (stack, self.get_workload(stack.project_id))

    def get_descendant_stacks(self, root_id: str) -> list[Stack]:
        found = [
            stack
            for stack in self._tables.stacks.values()
            if stack.root_id == root_id and stack.id != root_id and stack.deleted_at is None
        ]
        return sorted(found, key=lambda stack: (-stack.depth, stack.id))

    def insert_stack(self, stack: Stack) -> None:
        self._check_name(stack)
        self._tables.stacks[stack.id] = replace(stack, tags=())
        self._tables.tags[stack.id] = tuple(stack.tags)

    def update_stack(self, stack_id: str, **values: Any) -> None:
        if stack_id not in self._tables.stacks:
            return
        values = _stored(values)
        if "tags" in values:
            self._tables.tags[stack_id] = tuple(values.pop("tags"))
        stack = replace(self._tables.stacks[stack_id], **values)
        if "owner_id" in values:
            self._check_name(stack)
        self._tables.stacks[stack_id] = stack

    def _check_name(self, stack: Stack) -> None:
        for other in self._tables.stacks.values():
            rivals = other.owner_id is None and other.deleted_at is None and other.id != stack.id
            same = other.name == stack.name and other.project_id == stack.project_id
            if stack.owner_id is None and rivals and same:
                raise errors.StackExists(stack.name)

    def get_tags(self, stack_id: str) -> tuple[str, ...]:
        return self._tables.tags.get(stack_id, ())

    def insert_goal(self, goal: Goal) -> None:
        self._tables.goals[goal.id] = goal

    def get_goal(self, goal_id: str) -> Goal | None:
        found = self._tables.goals.get(goal_id)
        return None if found is None else restore_full(found, self.get_contents)

    def get_goal_row(self, goal_id: str) -> Goal | None:
        return self._tables.goals.get(goal_id)

    def get_goal_rows(self, ids: Collection[str]) -> Mapping[str, Goal]:
        return {key: goal for key, goal in self._tables.goals.items() if key in ids}

    def delete_goals_except(self, stack_id: str, keep: Collection[str]) -> None:
        saved = {saved.goal_id for saved in self._saved(stack_id)}
        for goal in list(self._tables.goals.values()):
            if goal.stack_id == stack_id and goal.id not in keep and goal.id not in saved:
                del self._tables.goals[goal.id]

    def put_contents(self, contents: Mapping[str, str]) -> None:
        for key, body in contents.items():
            self._tables.contents.setdefault(key, body)

    def get_contents(self, hashes: Collection[str]) -> Mapping[str, str]:
        kept = self._tables.contents
        return ContentMap((key, kept[key]) for key in hashes if key in kept)

    # -- users' snapshots

    def insert_snapshot(self, snapshot: Snapshot) -> None:
        self._tables.snapshots[snapshot.id] = snapshot

    def get_snapshot(self, stack_id: str, snapshot_id: str) -> Snapshot | None:
        found = self._tables.snapshots.get(snapshot_id)
        return found if found is not None and found.stack_id == stack_id else None

    def count_snapshots(self, stack_id: str) -> int:
        return len(self._saved(stack_id))

    def finish_snapshot(self, stack_id: str, version: int, **values: Any) -> None:
        for saved in self._saved(stack_id):
            if saved.version == version:
                self.update_snapshot(saved.id, **values)

    def update_snapshot(self, snapshot_id: str, **values: Any) -> None:
        saved = self._tables.snapshots.get(snapshot_id)
        if saved is not None:
            self._tables.snapshots[snapshot_id] = replace(saved, **_stored(values))

    def delete_snapshot(self, snapshot_id: str) -> None:
        self._tables.snapshots.pop(snapshot_id, None)

    def schedule_snapshot_deletion(self, stack_id: str, now: datetime) -> None:
        for saved in self._saved(stack_id):
            doomed = {"action": Action.DELETE, "status": Status.IN_PROGRESS}
            self.update_snapshot(saved.id, **doomed, delete_at=now, tries=0)

    def delete_stack_snapshots(self, stack_id: str) -> None:
        for saved in self._saved(stack_id):
            self.delete_snapshot(saved.id)

    def _saved(self, stack_id: str) -> list[Snapshot]:
        return [row for row in self._tables.snapshots.values() if row.stack_id == stack_id]

    # -- resources

    def insert_resources(self, resources: Sequence[Resource]) -> None:
        for row in resources:
            if row.stack_id not in self._tables.stacks or row.id in self._tables.resources:
                raise ValueError(f"resource {row.id} is of no stack, or there already")
            columns = {name: getattr(row, name) for name in _JSON | {"status_reason"}}
            self._tables.resources[row.id] = replace(row, **_stored(columns))

    def lock_claimable(self, ids: Collection[str]) -> list[Resource]:
        return self.get_resources(ids)

    def lock_leased(self, ids: Collection[str], token: str) -> Mapping[str, int]:
        return {row.id: row.version for row in self._of(ids) if row.lease_token == token}

    def save_leased(
        self, resource_id: str, token: str, version: int, values: Mapping[str, Any]
    ) -> bool:
        held = self.lock_leased([resource_id], token) == {resource_id: version}
        if held:
            self.update_resources([resource_id], **values)
        return held

    def lock_resources(self, ids: Collection[str]) -> list[Resource]:
        return [_light(row) for row in self._of(ids)]

    def lock_resources_with_jobs(self, stack_id: str) -> list[Resource]:
        return [_light(row) for row in self._of_stack(stack_id) if row.job is not None]

    def lock_stack_resources(self, stack_id: str) -> list[Resource]:
        return [_planned(row) for row in self._of_stack(stack_id)]

    def get_stack_resources(self, stack_id: str) -> list[Resource]:
        return self._of_stack(stack_id)

    def get_resources(self, ids: Collection[str]) -> list[Resource]:
        return self._of(ids)

    def get_inputs(self, stack_id: str, names: Collection[str]) -> Mapping[str, InputResource]:
        return {
            row.name: InputResource.from_resource(row)
            for row in self._of_stack(stack_id)
            if row.name in names and row.desired is DesiredState.PRESENT
        }

    def update_resources(self, ids: Collection[str], **values: Any) -> None:
        for row in self._of(ids):
            self._tables.resources[row.id] = replace(row, **_stored(values))

    def save_resources(self, changes: Mapping[str, Mapping[str, Any]]) -> None:
        if len({frozenset(values) for values in changes.values()}) > 1:
            raise ValueError("the mappings name different columns")
        for row_id, values in changes.items():
            self.update_resources([row_id], **values)

    def set_resource_versions(self, stack_id: str, version: int) -> None:
        self.update_resources([row.id for row in self._of_stack(stack_id)], version=version)

    def mark_complete(self, ids: Collection[str], now: datetime) -> None:
        for row in self._of(ids):
            self.update_resources(
                [row.id],
                status=Status.COMPLETE,
                job=None,
                job_state=None,
                observe_at=None,
                observed_at=now,
                updated_at=now,
                applied_hash=row.definition_hash if row.job in _APPLYING else row.applied_hash,
                suspended=row.suspended and row.job not in _WAKING,
            )

    def delete_resources(self, ids: Collection[str]) -> None:
        for row_id in ids:
            if any(row_id in (edge.resource_id, edge.needed_by) for edge in self._edges()):
                raise ValueError(f"resource {row_id} is still in the graph")
            self._tables.resources.pop(row_id, None)

    def delete_absent_resources(self, stack_id: str) -> None:
        gone = {
            row.id
            for row in self._of_stack(stack_id)
            if row.desired is DesiredState.ABSENT and row.job is None
        }
        self._keep_edges(lambda row: row.resource_id not in gone and row.needed_by not in gone)
        self.delete_resources(gone)

    def delete_stack_resources(self, stack_id: str) -> None:
        self.clear_graph(stack_id)
        self.delete_resources([row.id for row in self._of_stack(stack_id)])

    def list_incarnations(self, stack_id: str, names: Collection[str]) -> list[Resource]:
        rows = [row for row in self._of_stack(stack_id) if row.name in names]
        return sorted(rows, key=lambda row: row.id)

    def any_status_reason_startswith(self, stack_id: str, action: Action, beginning: str) -> bool:
        return any(
            row.status_reason.startswith(beginning)
            for row in self._of_stack(stack_id)
            if row.desired is DesiredState.PRESENT and row.action is action
        )

    def find_physical_dependents(self, stack_id: str, ids: Collection[str]) -> list[Resource]:
        noted = (key for key in self._tables.physical_dependencies if key[0] == stack_id)
        found = {holder for _stack, held, holder in noted if held in ids}
        return [row for row in self.lock_resources_with_jobs(stack_id) if row.id in found]

    # -- the graph

    def clear_graph(self, stack_id: str) -> None:
        self._keep_edges(lambda row: row.stack_id != stack_id)
        for key in [key for key in self._tables.physical_dependencies if key[0] == stack_id]:
            del self._tables.physical_dependencies[key]

    def add_physical_dependencies(self, stack_id: str, pairs: Iterable[tuple[str, str]]) -> None:
        for holder, held in pairs:
            key = (stack_id, held, holder)
            if key in self._tables.physical_dependencies:
                raise ValueError(f"hold {key} is there already")
            self._tables.physical_dependencies[key] = None

    def add_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        for edge in edges:
            row = GraphRow(
                stack_id,
                version,
                edge.resource_id,
                edge.needed_by,
                edge.observed_ready,
                edge.retry_count,
            )
            ends = {edge.resource_id, edge.needed_by} - {None}
            if row.key in self._tables.graph or not ends <= self._tables.resources.keys():
                raise ValueError(f"edge {row.key} is there already, or an end of it is not")
            self._tables.graph[row.key] = row

    def get_edges_at(self, stack_id: str, version: int, ids: Collection[str]) -> list[Edge]:
        return [
            Edge(row.resource_id, row.needed_by, row.observed_ready)
            for row in self._edges(version)
            if row.stack_id == stack_id and (row.resource_id in ids or row.needed_by in ids)
        ]

    def get_unready_edges(self, stack_id: str, version: int) -> list[Edge]:
        return [
            Edge(row.resource_id, row.needed_by)
            for row in self._edges(version)
            if row.stack_id == stack_id and row.needed_by is not None and not row.observed_ready
        ]

    def delete_edges(self, stack_id: str, version: int, edges: Iterable[Edge]) -> None:
        keys = {(version, edge.resource_id, edge.needed_by) for edge in edges}
        self._keep_edges(lambda row: row.stack_id != stack_id or row.key not in keys)

    def find_with_unready_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        return frozenset(
            row.needed_by
            for row in self._edges(version)
            if row.needed_by is not None and row.needed_by in ids and not row.observed_ready
        )

    def find_unready(self, version: int, ids: Collection[str]) -> frozenset[str]:
        return frozenset(
            row.resource_id
            for row in self._edges(version)
            if row.resource_id in ids and not row.observed_ready
        )

    def mark_ready(self, version: int, ids: Collection[str]) -> None:
        for row in self._edges(version):
            if row.resource_id in ids:
                self._tables.graph[row.key] = replace(row, observed_ready=True)

    def find_unblocked_by(self, version: int, ids: Collection[str]) -> list[Resource]:
        waited = [
            row.needed_by
            for row in self._edges(version)
            if row.resource_id in ids and row.needed_by is not None
        ]
        waits = self.find_with_unready_requirements(version, waited)
        return [
            _light(row)
            for row in self._of(waited)
            if row.job_state is JobState.BLOCKED and row.id not in waits
        ]

    def find_with_touched_requirements(self, version: int, ids: Collection[str]) -> frozenset[str]:
        return frozenset(
            row.needed_by
            for row in self._edges(version)
            if row.needed_by is not None
            and row.needed_by in ids
            and self._tables.resources[row.resource_id].touched_version == version
        )

    def has_unready(self, stack_id: str, version: int) -> bool:
        return any(
            row.stack_id == stack_id and not row.observed_ready for row in self._edges(version)
        )

    def find_wrongly_blocked(self, stack_id: str, version: int) -> list[str]:
        blocked = [row.id for row in self._of_stack(stack_id) if row.job_state is JobState.BLOCKED]
        waits = self.find_with_unready_requirements(version, blocked)
        return [row_id for row_id in blocked if row_id not in waits]

    def get_retry_counts(self, version: int, ids: Collection[str]) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for row in self._edges(version):
            if row.resource_id in ids:
                counts[row.resource_id] = max(row.retry_count, counts.get(row.resource_id, 0))
        return counts

    def increment_retry_counts(self, version: int, ids: Collection[str]) -> None:
        for row in self._edges(version):
            if row.resource_id in ids:
                self._tables.graph[row.key] = replace(row, retry_count=row.retry_count + 1)

    def find_breakpoint_locations(self, stacks: Collection[Stack]) -> list[BreakpointLocation]:
        asked = {stack.id for stack in stacks if stack.in_progress}
        found = []
        for row in self._tables.resources.values():
            at: Stack | None = self._tables.stacks.get(row.stack_id)
            path: tuple[str, ...] = (row.name,)
            while row.job_state is JobState.AT_BREAKPOINT and at is not None:
                if at.id in asked:
                    found.append(BreakpointLocation(at.id, path, row.hook or ""))
                path = (at.parent_resource or "", *path)
                at = self._tables.stacks.get(at.owner_id or "") if at.in_progress else None
        return sorted(found, key=lambda place: (place.stack_id, place.path))

    def list_ancestor_resources(self, stack_id: str) -> list[Resource]:
        found = []
        stack = self._tables.stacks.get(stack_id)
        while stack is not None and stack.owner_id is not None:
            found += self.lock_resources([stack.owner_resource_id or ""])
            stack = self._tables.stacks.get(stack.owner_id)
        return found

    def count_tree_resources(self, root_id: str) -> int:
        rows = self._tables.resources.values()
        return sum(row.root_id == root_id and row.desired is DesiredState.PRESENT for row in rows)

    # -- jobs and the rest

    def get_workload(self, project_id: str, stack_id: str | None = None) -> Workload:
        rows = self._tables.resources.values()
        projects = Counter(row.job_state for row in rows if row.project_id == project_id)
        stacks = Counter(row.job_state for row in rows if row.stack_id == stack_id)
        return Workload(
            posted=projects[JobState.POSTED],
            running=projects[JobState.RUNNING],
            has_schedulable=projects[JobState.SCHEDULABLE] > 0,
            in_flight=sum(stacks[state] for state in COUNTED_IN_FLIGHT),
            has_queued=stacks[JobState.QUEUED] > 0,
        )

    def next_schedulable(self, project_id: str, after: str, limit: int) -> list[JobRef]:
        due = [
            row
            for row in self._tables.resources.values()
            if row.project_id == project_id and row.job_state is JobState.SCHEDULABLE
        ]
        due.sort(key=lambda row: (row.root_id <= after, row.root_id, row.id))
        return [JobRef(row.stack_id, row.version, row.id) for row in due[:limit]]

    def repost_jobs(self, ids: Collection[str], now: datetime) -> None:
        begun = [row.id for row in self._of(ids) if row.job_state is JobState.RUNNING]
        self.update_resources(begun, job_state=JobState.POSTED, posted_at=now)

    def next_queued(self, stack_id: str, limit: int) -> list[str]:
        queued = [row.id for row in self._of_stack(stack_id) if row.job_state is JobState.QUEUED]
        return queued[:limit]

    def insert_events(self, events: Sequence[Event]) -> None:
        self._tables.events.extend(
            replace(event, reason=sanitize_text(event.reason)) for event in events
        )

    # -- helpers

    def _of(self, ids: Collection[str]) -> list[Resource]:
        rows = self._tables.resources
        return [rows[row_id] for row_id in sorted(set(ids)) if row_id in rows]

    def _of_stack(self, stack_id: str) -> list[Resource]:
        rows = self._tables.resources
        return [rows[row_id] for row_id in sorted(rows) if rows[row_id].stack_id == stack_id]

    def _edges(self, version: int | None = None) -> list[GraphRow]:
        rows = self._tables.graph.values()
        return [row for row in rows if version is None or row.version == version]

    def _keep_edges(self, keep: Any) -> None:
        self._tables.graph = {row.key: row for row in self._edges() if keep(row)}


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """As a column gives it back: JSON loses the difference of tuple and list."""
    stored = dict(values)
    for name in _JSON & values.keys():
        if values[name] is not None:
            stored[name] = json.loads(json.dumps(values[name]))
    for name in _REASONS & values.keys():
        stored[name] = sanitize_text(values[name]) if values[name] else values[name]
    for name in _NAMES & values.keys():
        stored[name] = tuple(values[name])
    return stored


def _planned(row: Resource) -> Resource:
    return replace(row, properties=None if row.properties is None else {}, attributes={})


def _light(row: Resource) -> Resource:
    return replace(row, definition={}, properties=None, attributes={}, data={})
