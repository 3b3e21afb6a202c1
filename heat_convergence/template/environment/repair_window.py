"""Repair windows: the times in which the service may start repairs by itself.

Decides what a window may be, and whether it is open.  Called when an environment, a request or
the options are read, and by the budget of repairs.  Must not know what is repaired.

Source: docs/use/drift.rst, "Repair windows".
"""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from croniter import CroniterError, croniter

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.environment.policy_entries import EntryForm

Json = Any
REPAIR_WINDOW = "repair_window"  # key of a window in an environment and in requests
DEFAULT_DURATION_S = 3600
MIN_DURATION_S, MAX_DURATION_S = 60, 7 * 86400
DEFAULT_TIMEZONE = "UTC"
_CRON, _DURATION, _TIMEZONE = "cron", "duration", "timezone"
_FORM = EntryForm("a cron expression", (_CRON, _DURATION, _TIMEZONE))
_PREFIX = "drift-window="
_MAX_LENGTH = 100
_FIELD_COUNT = 5
# Croniter also knows random and hashed fields, which would open at other times in each process.
_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat|l"
_FIELD = re.compile(rf"(?:[0-9*/,#-]|{_NAMES})+", re.IGNORECASE)
_YEARS_BETWEEN = 9  # the longest time between two 29ths of February


@dataclass(frozen=True, slots=True)
class RepairWindow:
    """A time that returns, in which repairs may start.

    Attributes:
        cron: When it opens: minute, hour, day, month and weekday.
        duration_s: How long it stays open.
        timezone: The time zone of the expression.
    """

    cron: str
    duration_s: int = DEFAULT_DURATION_S
    timezone: str = DEFAULT_TIMEZONE

    def find_start(self, now: datetime) -> datetime:
        """Return the earliest time at which a repair may start: now, if the window is open."""
        return _find_start(self, now)

    def as_document(self) -> dict[str, Json]:
        """Return the JSON form, as users write it."""
        return {_CRON: self.cron, _DURATION: self.duration_s, _TIMEZONE: self.timezone}

    def to_text(self) -> str:
        """Return the form that is stored."""
        return f"{self.cron};{self.duration_s};{self.timezone}"

    def __str__(self) -> str:
        return f'"{self.cron}" {self.timezone}, {self.duration_s} s'


@lru_cache(maxsize=256)
def _find_start(window: RepairWindow, now: datetime) -> datetime:
    local = now.astimezone(zoneinfo.ZoneInfo(window.timezone))
    # The search for the last opening leaves out its start, which may be now.
    after = croniter(
        window.cron, local + timedelta(microseconds=1), max_years_between_matches=_YEARS_BETWEEN
    )
    opened: datetime = after.get_prev(datetime)
    if now < opened.astimezone(UTC) + timedelta(seconds=window.duration_s):
        return now
    following = croniter(window.cron, local, max_years_between_matches=_YEARS_BETWEEN)
    opens: datetime = following.get_next(datetime)
    return opens.astimezone(UTC)


def check_window(cron: Json, duration_s: Json, timezone: Json) -> str:
    """Return why these values are no repair window; empty if they are one."""
    fields = cron.split() if isinstance(cron, str) and len(cron) <= _MAX_LENGTH else []
    is_plain = len(fields) == _FIELD_COUNT and all(map(_FIELD.fullmatch, fields))
    if not is_plain or not croniter.is_valid(" ".join(fields)):
        return f'"{cron}" is not a cron expression of five fields'
    is_number = isinstance(duration_s, int) and not isinstance(duration_s, bool)
    if not is_number or not MIN_DURATION_S <= duration_s <= MAX_DURATION_S:
        return (
            f'"{duration_s}" is not a duration in seconds, from {MIN_DURATION_S} to'
            f" {MAX_DURATION_S}"
        )
    if not _is_timezone(timezone):
        return f'"{timezone}" is not a time zone'
    try:
        _find_start(RepairWindow(" ".join(fields), duration_s, timezone), _ANY_TIME)
    except CroniterError:
        return f'"{cron}" names no date'
    return ""


_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def _is_timezone(name: Json) -> bool:
    try:
        return isinstance(name, str) and bool(name) and zoneinfo.ZoneInfo(name) is not None
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False


def parse_window(value: Json, path: str) -> RepairWindow:
    """Return the window of an entry or a request.

    Args:
        value: A cron expression, or a map with ``cron``, ``duration`` and ``timezone``.
        path: Where it stands, for the error.

    Raises:
        HTTPBadRequest: It has another form, an unknown key, or a value that is no window.
    """
    body = _FORM.read(value, path)
    duration_s: Any = body.get(_DURATION, DEFAULT_DURATION_S)
    timezone: Any = body.get(_TIMEZONE, DEFAULT_TIMEZONE)
    problem = check_window(body.get(_CRON), duration_s, timezone)
    if problem:
        raise HTTPBadRequest(f"{path}: {problem}")
    return RepairWindow(" ".join(body[_CRON].split()), duration_s, timezone)


def from_text(text: str) -> RepairWindow:
    """Return the window of a text that ``to_text`` has made.

    Raises:
        ValueError: It is none, or this host lacks the time zone.
    """
    cron, duration, timezone = text.split(";")
    problem = check_window(cron, int(duration), timezone)
    if problem:
        raise ValueError(problem)
    return RepairWindow(cron, int(duration), timezone)


def window_word(window: RepairWindow) -> str:
    """Return the form of a window that is stored among a resource's restrictions."""
    return f"{_PREFIX}{window.to_text()}"


def window_from_words(words: Iterable[str]) -> RepairWindow | None:
    """Return the window among a resource's restrictions.

    Raises:
        ValueError: It cannot be decoded.
    """
    word = next((each for each in words if each.startswith(_PREFIX)), None)
    return None if word is None else from_text(word.removeprefix(_PREFIX))
