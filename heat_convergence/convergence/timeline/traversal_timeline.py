"""The timeline of a traversal, and its critical path through nested stacks.

Built by ``stacks.reads``.  The path is walked backwards from the resource that ended last, along
what unblocked each: the times of both ends of such a step are those of one transaction, so that
the steps leave no gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from heat_convergence.convergence.timeline.resource_timeline import (
    Phase,
    ResourceTimeline,
    Segment,
)

_WINDOW_REASON = "the stack waits until its resources have stayed healthy"


@dataclass(frozen=True, slots=True)
class Traversal:
    """One attempt of a stack to reach a goal.

    Attributes:
        ended_at: None while it is under way.
        has_window: a stabilization window follows the end of its last resource.
    """

    stack_id: str
    version: int
    action: str
    status: str
    started_at: datetime
    ended_at: datetime | None = None
    has_window: bool = False


@dataclass(frozen=True, slots=True)
class PathStep:
    """A part of the critical path: one resource from its release on, or a part of that.

    A resource with a nested stack has a step before the critical path of that stack, and
    another one after it.
    """

    resource: ResourceTimeline
    segments: Sequence[Segment]

    @property
    def started_at(self) -> datetime:
        """The start of the first phase."""
        return self.segments[0].started_at

    @property
    def ended_at(self) -> datetime:
        """The end of the last phase."""
        return self.segments[-1].ended_at

    @property
    def seconds(self) -> float:
        """The duration."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True)
class TraversalTimeline:
    """The record of one traversal.

    Attributes:
        resources: those with a job, by id.
        nested: timelines of nested stacks, by the id of the resource that they belong to.
    """

    traversal: Traversal
    now: datetime
    resources: Mapping[str, ResourceTimeline]
    nested: Mapping[str, TraversalTimeline] = field(default_factory=dict)

    @property
    def wall_seconds(self) -> float:
        """The duration, so far if it is under way."""
        end = self.traversal.ended_at or self.now
        return (end - self.traversal.started_at).total_seconds()

    def walk(self) -> Sequence[ResourceTimeline]:
        """Return all resources of the tree, in the order of their release."""
        found = list(self.resources.values())
        for inner_timeline in self.nested.values():
            found.extend(inner_timeline.walk())
        return sorted(found, key=lambda each: (each.released_at, each.path))

    def critical_path(self) -> Sequence[PathStep]:
        """Return the steps that the duration of the traversal consists of, in their order.

        The last step has the stabilization window, too, if the stack has one.
        """
        current = self._last_resource()
        steps = [] if current is None else self._window_steps(current)
        until = None if current is None else current.end
        passed: set[str] = set()
        while current is not None and until is not None and current.resource_id not in passed:
            passed.add(current.resource_id)
            # A resource may unblock others at a readiness level, before its own end.
            steps[:0] = self._steps_of(current, until)
            until = current.released_at
            current = self.resources.get(current.cause_id or "")
        return _joined(steps)

    @property
    def window(self) -> Segment | None:
        """The stabilization window; None if none is or was open."""
        last = self._last_resource()
        if not self.traversal.has_window or last is None or last.ended_at is None:
            return None
        start, end = last.ended_at, self.traversal.ended_at or self.now
        return Segment(Phase.STABILIZATION, start, end, _WINDOW_REASON) if end > start else None

    def _window_steps(self, last: ResourceTimeline) -> list[PathStep]:
        return [] if self.window is None else [PathStep(last, [self.window])]

    def _last_resource(self) -> ResourceTimeline | None:
        """Return the resource that ended last; of a traversal under way, one that has started."""
        worked_on = [each for each in self.resources.values() if each.marks]
        running = [each for each in worked_on if each.ended_at is None]
        found = running or worked_on or list(self.resources.values())
        return max(found, key=lambda each: (each.end, each.released_at), default=None)

    def _steps_of(self, resource: ResourceTimeline, until: datetime) -> list[PathStep]:
        segments = _clip(resource.own_segments, resource.released_at, until)
        inner_timeline = self.nested.get(resource.resource_id)
        inner = [] if inner_timeline is None else inner_timeline.critical_path()
        if not inner:
            return [PathStep(resource, segments)] if segments else []
        before = _clip(segments, resource.released_at, inner[0].started_at)
        after = _clip(segments, inner[-1].ended_at, until)
        own = [PathStep(resource, each) if each else None for each in (before, after)]
        return [step for step in (own[0], *inner, own[1]) if step is not None]


def _joined(steps: Sequence[PathStep]) -> list[PathStep]:
    """Return the steps, those of one resource that follow each other as one."""
    found: list[PathStep] = []
    for step in steps:
        if found and found[-1].resource.resource_id == step.resource.resource_id:
            found[-1] = PathStep(step.resource, [*found[-1].segments, *step.segments])
        else:
            found.append(step)
    return found


def _clip(segments: Sequence[Segment], start: datetime, end: datetime) -> list[Segment]:
    """Return the parts of segments between two times."""
    clipped = [
        Segment(each.phase, max(each.started_at, start), min(each.ended_at, end), each.reason)
        for each in segments
    ]
    return [each for each in clipped if each.ended_at > each.started_at]
