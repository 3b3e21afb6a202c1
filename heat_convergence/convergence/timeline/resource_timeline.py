"""The timeline of one resource: the phases of its job, read from marks.

Built by ``stacks.reads``; everything is recorded, nothing estimated.  Knows no row and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from heat_convergence.convergence.timeline.marks import MarkType, TimelineMark


class Phase(StrEnum):
    """A reason why a resource is not ready yet."""

    DEPENDENCIES = "dependencies"
    BREAKPOINT = "breakpoint"
    QUEUE = "queue"
    SERVICE_CALL = "service_call"
    CLOUD = "waiting_for_cloud"
    OBSERVATION = "observation"
    RETRY = "retry_pause"
    STABILIZATION = "stabilization"


@dataclass(frozen=True, slots=True)
class Segment:
    """A phase between two recorded times.

    Attributes:
        reason: what has held the resource, in words; empty where the phase says it.
    """

    phase: Phase
    started_at: datetime
    ended_at: datetime
    reason: str = ""

    @property
    def seconds(self) -> float:
        """The duration."""
        return (self.ended_at - self.started_at).total_seconds()


_PHASES: Mapping[MarkType, tuple[Phase, str]] = {
    MarkType.UNBLOCKED: (Phase.QUEUE, ""),
    MarkType.HELD: (Phase.BREAKPOINT, "breakpoint {detail}"),
    MarkType.RELEASED: (Phase.OBSERVATION, ""),
    MarkType.QUEUED: (Phase.QUEUE, "the stack has as many jobs in flight as it may have"),
    MarkType.SCHEDULED: (Phase.QUEUE, "other jobs of the project have their turn"),
    MarkType.PREDECESSOR: (Phase.QUEUE, "a worker of an earlier traversal acts on it"),
    MarkType.POSTED: (Phase.QUEUE, "no engine has claimed it"),
    MarkType.REPOSTED: (Phase.QUEUE, "its message was lost, and it was posted again"),
    MarkType.CLAIMED: (Phase.QUEUE, "earlier calls to the service have their turn"),
    MarkType.CALL_STARTED: (Phase.SERVICE_CALL, ""),
    MarkType.CALL_ENDED: (Phase.OBSERVATION, ""),
    MarkType.RETRIED: (Phase.RETRY, "pause before the next try or step"),
    MarkType.OBSERVED: (Phase.OBSERVATION, ""),
    MarkType.WINDOW_ENDED: (Phase.OBSERVATION, ""),
}
_TAKEN_OVER = "its worker was lost, and another one took it over"
_BUSY = "BUSY"


@dataclass(frozen=True, slots=True)
class ResourceTimeline:
    """The record of one resource in one traversal.

    Attributes:
        path: names of the resources above it and its own, joined by ``/``.
        origin_at: when its traversal started.
        ended_at: when it was ready, or has failed; None while its job is unfinished.
        now: the end of the phase of an unfinished job.
    """

    resource_id: str
    stack_id: str
    path: str
    resource_type: str
    action: str
    status: str
    marks: Sequence[TimelineMark]
    origin_at: datetime
    ended_at: datetime | None
    now: datetime

    @property
    def name(self) -> str:
        """The name of the resource."""
        return self.path.rpartition("/")[2]

    @property
    def released_at(self) -> datetime:
        """The time since which nothing that it needs is unready."""
        mark = self._last_before_end(MarkType.UNBLOCKED)
        return self.origin_at if mark is None else mark.at

    @property
    def cause_id(self) -> str | None:
        """Id of the resource that has unblocked it; None if its traversal has."""
        mark = self._last_before_end(MarkType.UNBLOCKED)
        return None if mark is None else mark.detail or None

    @property
    def end(self) -> datetime:
        """The time of its end, or now."""
        return self.now if self.ended_at is None else self.ended_at

    @property
    def retry_count(self) -> int:
        """The number of pauses before further tries or steps."""
        return sum(mark.type is MarkType.RETRIED for mark in self.marks)

    @property
    def takeover_count(self) -> int:
        """The workers that were lost over it."""
        return sum(segment.reason == _TAKEN_OVER for segment in self.segments)

    def last(self, mark_type: MarkType) -> datetime | None:
        """Return when something happened last; None if it never has."""
        found = self._last_before_end(mark_type)
        return None if found is None else found.at

    @property
    def segments(self) -> Sequence[Segment]:
        """All phases from the start of the traversal to the end, without empty ones."""
        return [each for each in self._split() if each.ended_at > each.started_at]

    @property
    def own_segments(self) -> Sequence[Segment]:
        """The phases since nothing that it needs was unready."""
        return [each for each in self.segments if each.started_at >= self.released_at]

    def _last_before_end(self, mark_type: MarkType) -> TimelineMark | None:
        found = [mark for mark in self.marks if mark.type is mark_type and mark.at <= self.end]
        return found[-1] if found else None

    def _split(self) -> Iterator[Segment]:
        """Yield the phases; each mark ends one and starts the next."""
        phase, reason, start = Phase.QUEUE, "", self.origin_at
        previous: TimelineMark | None = None
        for mark in self.marks:
            at = min(max(mark.at, start), self.end)
            if mark.type is MarkType.UNBLOCKED:
                phase, reason = Phase.DEPENDENCIES, ""
            yield Segment(phase, start, at, reason)
            phase, reason = _phase_after(mark, previous)
            start, previous = at, mark
        if previous is None and self.ended_at is None:
            phase = Phase.DEPENDENCIES
        yield Segment(phase, start, max(self.end, start), reason)


def _phase_after(mark: TimelineMark, previous: TimelineMark | None) -> tuple[Phase, str]:
    phase, reason = _PHASES[mark.type]
    if mark.type is MarkType.CALL_ENDED and mark.detail == _BUSY:
        return Phase.CLOUD, ""
    claimed = previous is not None and previous.type is MarkType.CLAIMED
    if mark.type is MarkType.REPOSTED and claimed:
        return phase, _TAKEN_OVER
    return phase, reason.format(detail=mark.detail)


def sum_phases(segments: Iterable[Segment]) -> dict[Phase, float]:
    """Return the seconds of each phase, of all phases."""
    totals = dict.fromkeys(Phase, 0.0)
    for segment in segments:
        totals[segment.phase] += segment.seconds
    return totals
