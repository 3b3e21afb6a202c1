"""Marks: the times that job transitions record in a resource's row, as one text.

``job_transitions`` makes them; stores append them to ``resource.timeline`` in the statement of
the transition, and events of ended jobs keep them.  ``resource_timeline`` reads them.  Knows no
row and no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

MAX_CHARS = 4000
"""Marks are appended while the text is shorter, so that endless retries do not fill the row."""

_END = ";"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class MarkType(StrEnum):
    """The type of a mark; the text after its time is given in brackets."""

    JOB = "i"  # [id of the resource]; without a time, in events alone
    UNBLOCKED = "u"  # the last resource that it needs is ready [its id]
    HELD = "h"  # at a breakpoint [the hook]
    RELEASED = "l"  # from a breakpoint after the job
    QUEUED = "q"  # the stack has as many jobs in flight as it may have
    SCHEDULED = "s"  # the project's other jobs have their turn
    PREDECESSOR = "w"  # a worker of an earlier traversal still acts on the resource
    POSTED = "p"
    REPOSTED = "x"  # the message or the worker was lost
    CLAIMED = "k"  # [the worker]
    CALL_STARTED = "b"
    CALL_ENDED = "c"  # [the observed state, such as BUSY]
    RETRIED = "r"  # the pause before the next try or step [the time when it ends]
    OBSERVED = "o"  # the observation that shows the final state
    WINDOW_ENDED = "z"  # the stack's stabilization window; in the event of its end alone


@dataclass(frozen=True, slots=True)
class TimelineMark:
    """A recorded moment in the life of a job."""

    type: MarkType
    at: datetime
    detail: str = ""


def format_mark(mark_type: MarkType, at: datetime, detail: str = "") -> str:
    """Return the text of a mark; ``detail`` is a name or an id of this service."""
    return f"{mark_type.value}{_ticks(at)}{f':{detail}' if detail else ''}{_END}"


def format_retry(now: datetime, due: datetime | None) -> str:
    """Return the mark of a pause that ends at ``due``."""
    return format_mark(MarkType.RETRIED, now, "" if due is None else str(_ticks(due)))


def format_call(started_at: datetime, ended_at: datetime, observed: str = "") -> str:
    """Return the marks of a call to a service, and of what it has shown of the resource."""
    started = format_mark(MarkType.CALL_STARTED, started_at)
    return started + format_mark(MarkType.CALL_ENDED, ended_at, observed)


def for_stack_event(now: datetime, *, had_window: bool) -> str | None:
    """Return the text that the event of a stack's end keeps; None if no window was open."""
    return format_mark(MarkType.WINDOW_ENDED, now) if had_window else None


def has_window(timeline: str | None) -> bool:
    """Return whether the text of a stack's event says that a stabilization window was open."""
    return any(mark.type is MarkType.WINDOW_ENDED for mark in parse_marks(timeline)[1])


def append_marks(timeline: str | None, added: str) -> str:
    """Return the text with further marks, as long as there is room; stores do it in SQL."""
    text = timeline or ""
    return text + added if len(text) < MAX_CHARS else text


def for_event(resource_id: str, timeline: str | None) -> str | None:
    """Return the text that an event keeps of a job that has ended; None without marks."""
    return f"{MarkType.JOB.value}{resource_id}{_END}{timeline}" if timeline else None


def parse_marks(timeline: str | None) -> tuple[str | None, tuple[TimelineMark, ...]]:
    """Return the resource's id, if the text is an event's, and the marks.

    Marks of other releases, which this one does not know, are left out.
    """
    resource_id, found = None, []
    for part in (timeline or "").split(_END):
        if part[:1] == MarkType.JOB.value:
            resource_id = part[1:]
            continue
        mark = _parse_mark(part)
        if mark is not None:
            found.append(mark)
    return resource_id, tuple(found)


def parse_time(ticks: str) -> datetime | None:
    """Return the time that the detail of a mark says; None if it says none."""
    if not ticks.isdecimal():
        return None
    try:
        return _EPOCH + int(ticks) * _MICROSECOND
    except OverflowError:
        return None


def _parse_mark(part: str) -> TimelineMark | None:
    ticks, _, detail = part[1:].partition(":")
    at = parse_time(ticks)
    if at is None or part[0] not in _TYPES:
        return None
    return TimelineMark(_TYPES[part[0]], at, detail)


def _ticks(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


_TYPES: Mapping[str, MarkType] = {each.value: each for each in MarkType}
