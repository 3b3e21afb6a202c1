"""Timelines of traversals, assembled from rows and events.

Called by the API.  Reads what was recorded; the number of statements depends on the number of
nested stacks only beyond some hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.timeline.marks import has_window, parse_marks
from heat_convergence.convergence.timeline.resource_timeline import ResourceTimeline
from heat_convergence.convergence.timeline.traversal_timeline import (
    Traversal,
    TraversalTimeline,
)
from heat_convergence.db.reads import stacks, timelines
from heat_convergence.db.reads.timelines import RecordedJob, StackEvent

Jobs = Mapping[tuple[str, int], Sequence[RecordedJob]]  # by stack and version


@dataclass(frozen=True, slots=True)
class ReadTimeline:
    """A timeline with what it was read from.

    Attributes:
        traversals: the recorded traversals of the stack, the oldest first.
        jobs: the recorded jobs of the tree, by stack and version.
    """

    timeline: TraversalTimeline
    traversals: Sequence[Traversal]
    jobs: Jobs


@dataclass(frozen=True, slots=True)
class TimelineReader:
    """A reader of timelines.

    Attributes:
        connection: an open connection of the database.
        levels: how many levels of nested stacks are read.
    """

    connection: Any
    now: datetime
    levels: int = 0

    def read(self, stack: Stack, version: int | None = None) -> ReadTimeline:
        """Return the timeline of a traversal, the newest one by default.

        Raises:
            EntityNotFound: the traversal is not recorded, or not any more.
        """
        tree = {stack.id: stack}
        if self.levels:
            tree |= {s.id: s for s, _ in stacks.get_tree(self.connection, stack.id, self.levels)}
        traversals = _find_traversals(
            tree, timelines.list_stack_events(self.connection, tree.keys())
        )
        own = {each.version: each for each in traversals[stack.id]}
        number = stack.version if version is None else version
        if number not in own:
            raise errors.EntityNotFound("Traversal", str(number))
        chosen = {stack.id: own[number], **_choose_nested(stack.id, own[number], traversals)}
        jobs = self._read_jobs(chosen)
        assembly = _Assembly(_children(tree.values()), chosen, jobs, self.now)
        return ReadTimeline(assembly.build(stack.id), traversals[stack.id], jobs)

    def _read_jobs(self, chosen: Mapping[str, Traversal]) -> Jobs:
        """Return the jobs of the chosen traversals; rows and events of one job are both there."""
        versions = {each.version for each in chosen.values()}
        found: dict[tuple[str, int], list[RecordedJob]] = {}
        for job in (
            *timelines.list_ended_jobs(self.connection, chosen.keys(), versions),
            *timelines.list_rows(self.connection, chosen.keys()),
        ):
            if chosen[job.stack_id].version == job.version:
                found.setdefault((job.stack_id, job.version), []).append(job)
        return found


def _find_traversals(
    tree: Mapping[str, Stack], events: Iterable[StackEvent]
) -> dict[str, list[Traversal]]:
    """Return the traversals of each stack, the oldest first.

    The event of the start is among the first that are purged; the stack's own row has the start
    of its newest traversal.
    """
    found: dict[str, dict[int, Traversal]] = {stack_id: {} for stack_id in tree}
    ends: dict[tuple[str, int], StackEvent] = {}
    for each in events:
        if each.status is Status.IN_PROGRESS:
            found[each.stack_id][each.version] = Traversal(
                each.stack_id, each.version, each.action, each.status, each.created_at
            )
        else:
            ends[each.stack_id, each.version] = each
    for stack in tree.values():
        if stack.started_at is not None:
            found[stack.id][stack.version] = Traversal(
                stack.id, stack.version, stack.action, stack.status, stack.started_at,
                has_window=stack.stabilizing,
            )  # fmt: skip
    for (stack_id, version), end in ends.items():
        if version in found[stack_id]:
            found[stack_id][version] = replace(
                found[stack_id][version],
                status=end.status,
                ended_at=end.created_at,
                has_window=has_window(end.marks),
            )
    return {
        stack_id: [each for _, each in sorted(by_version.items())]
        for stack_id, by_version in found.items()
    }


def _choose_nested(
    stack_id: str, chosen: Traversal, traversals: Mapping[str, Sequence[Traversal]]
) -> dict[str, Traversal]:
    """Return the last traversal of each nested stack that started during the chosen one."""
    found = {}
    for nested_id, several in traversals.items():
        during = [
            each
            for each in several
            if each.started_at >= chosen.started_at
            and (chosen.ended_at is None or each.started_at <= chosen.ended_at)
        ]
        if nested_id != stack_id and during:
            found[nested_id] = during[-1]
    return found


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The timelines of a tree, in the making.

    Attributes:
        children: the nested stacks by the id of the stack that owns them.
    """

    children: Mapping[str, Sequence[Stack]]
    chosen: Mapping[str, Traversal]
    jobs: Jobs
    now: datetime

    def build(self, stack_id: str, prefix: str = "") -> TraversalTimeline:
        """Return the timeline of a stack with those of its nested stacks."""
        traversal = self.chosen[stack_id]
        recorded = self.jobs.get((stack_id, traversal.version), ())
        resources = _merge(self._make(job, prefix) for job in recorded)
        nested = {}
        for nested_stack in self.children.get(stack_id, ()):
            owner = resources.get(nested_stack.owner_resource_id or "")
            if owner is not None and nested_stack.id in self.chosen:
                nested[owner.resource_id] = self.build(nested_stack.id, f"{owner.path}/")
        return TraversalTimeline(traversal, self.now, resources, nested)

    def _make(self, job: RecordedJob, prefix: str) -> ResourceTimeline:
        resource_id, marks = parse_marks(job.marks)
        traversal = self.chosen[job.stack_id]
        return ResourceTimeline(
            resource_id=job.resource_id or resource_id or "",
            stack_id=job.stack_id,
            path=prefix + job.name,
            resource_type=job.resource_type,
            action=job.action,
            status=job.status,
            marks=marks,
            origin_at=traversal.started_at,
            ended_at=job.ended_at or traversal.ended_at,
            now=self.now,
        )


def _children(tree: Iterable[Stack]) -> dict[str, list[Stack]]:
    found: dict[str, list[Stack]] = {}
    for stack in tree:
        found.setdefault(stack.owner_id or "", []).append(stack)
    return found


def _merge(found: Iterable[ResourceTimeline]) -> dict[str, ResourceTimeline]:
    """Return the fullest record of each resource: rows lack the last observation."""
    merged: dict[str, ResourceTimeline] = {}
    for each in found:
        other = merged.get(each.resource_id)
        if other is None or len(each.marks) >= len(other.marks):
            merged[each.resource_id] = each
    return merged
