"""An estimate of when a traversal under way ends, by the history of its types in the project.

Called by the API.  Reads one statement, whatever the number of resources; takes every job to start
as soon as what it needs is ready.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.plans.duration import TypeHistory, longest_path
from heat_convergence.convergence.timeline.marks import MarkType
from heat_convergence.convergence.timeline.resource_timeline import ResourceTimeline
from heat_convergence.convergence.timeline.traversal_timeline import TraversalTimeline
from heat_convergence.db.plans.history import read_usual_durations
from heat_convergence.db.reads.timelines import RecordedJob
from heat_convergence.stacks.reads.timelines import Jobs, ReadTimeline


@dataclass(frozen=True, slots=True)
class RemainingTime:
    """The estimated rest of a traversal under way.

    Attributes:
        seconds: None if nothing is known of any type.
        ends_at: when it ends by that; None likewise.
        unknown_count: unfinished resources of whose type and action nothing is known.
    """

    seconds: float | None
    ends_at: datetime | None
    unknown_count: int


def estimate_remaining(conn: Any, project_id: str, found: ReadTimeline) -> RemainingTime | None:
    """Return the estimate; None for a traversal that has ended."""
    timeline = found.timeline
    if timeline.traversal.ended_at is not None:
        return None
    types = {each.resource_type for each in timeline.walk() if each.ended_at is None}
    history = read_usual_durations(conn, project_id, types) if types else {}
    estimate = _Estimate(found.jobs, history)
    seconds = estimate.remaining_of(timeline)
    unfinished = estimate.list_leaves(timeline)
    unknown = sum(estimate.usual(each) is None for each in unfinished)
    if unfinished and unknown == len(unfinished):
        return RemainingTime(None, None, unknown)
    return RemainingTime(seconds, timeline.now + timedelta(seconds=seconds), unknown)


@dataclass(frozen=True, slots=True)
class _Estimate:
    jobs: Jobs
    history: TypeHistory

    def remaining_of(self, timeline: TraversalTimeline) -> float:
        """Return the longest path through what is unfinished in a stack."""
        durations = {}
        for each in _unfinished(timeline):
            inner_timeline = timeline.nested.get(each.resource_id)
            durations[each.name] = (
                self._own(each) if inner_timeline is None else self.remaining_of(inner_timeline)
            )
        traversal = timeline.traversal
        recorded = self.jobs.get((traversal.stack_id, traversal.version), ())
        return longest_path(_requirements(recorded, durations), durations)

    def list_leaves(self, timeline: TraversalTimeline) -> list[ResourceTimeline]:
        """Return the unfinished resources of the tree without nested stacks of their own."""
        found = []
        for each in _unfinished(timeline):
            inner_timeline = timeline.nested.get(each.resource_id)
            found += [each] if inner_timeline is None else self.list_leaves(inner_timeline)
        return found

    def usual(self, resource: ResourceTimeline) -> float | None:
        """Return the seconds that its action usually takes; None if unknown."""
        action = resource.action if resource.action != Action.INIT else Action.CREATE
        return self.history.get((resource.resource_type, str(action)))

    def _own(self, resource: ResourceTimeline) -> float:
        usual, claimed_at = self.usual(resource) or 0.0, resource.last(MarkType.CLAIMED)
        if claimed_at is None:
            return usual
        return max(0.0, usual - (resource.now - claimed_at).total_seconds())


def _unfinished(timeline: TraversalTimeline) -> list[ResourceTimeline]:
    return [each for each in timeline.resources.values() if each.ended_at is None]


def _requirements(
    recorded: Sequence[RecordedJob], unfinished: Collection[str]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = dict.fromkeys(unfinished, ())
    for job in recorded:
        if job.name in found and job.requires and job.status is not Status.FAILED:
            found[job.name] = job.requires
    return found
