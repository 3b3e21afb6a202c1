"""The marker of the list of stacks that have changed.

Called by the controller of stacks. A marker states a time, and what the stacks looked like that
were in progress or started since then; it holds nothing of a project, and a changed one does no
harm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from heat_convergence.api.change_wait import MAX_WAIT_S
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.common import errors

CHANGED_SINCE = "changed_since"
_FIRST = "0"
_PATTERN = re.compile(r"([0-9]{1,10})-([0-9a-f]{16})", re.ASCII)
# Clocks of two hosts, and the time from a row's time to its commit, differ by less.
_OVERLAP = timedelta(minutes=2)
_MAX_WATCHED_AGE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ChangeMarker:
    """The state of a project's root stacks.

    Attributes:
        since: Stacks count that are in progress, or whose last traversal started at this time or
            later.
        digest: Another text after each change; empty in a client's first request.
    """

    since: datetime
    digest: str = ""

    def __str__(self) -> str:
        return f"{int(self.since.timestamp())}-{self.digest}"

    def is_recent(self, now: datetime) -> bool:
        """Return whether reads since its time are small enough to be repeated."""
        return self.since >= now - _MAX_WATCHED_AGE


@dataclass(frozen=True, slots=True)
class ChangesQuery:
    """The marker of a client, and the seconds that it waits for a change."""

    marker: ChangeMarker
    wait_s: int


def first_marker_time(now: datetime) -> datetime:
    """Return the time of a new marker: a whole minute, so that clients have it in common."""
    return (now - _OVERLAP).replace(second=0, microsecond=0)


def parse_changes_query(query: QueryParams, now: datetime) -> ChangesQuery | None:
    """Return what a client asks of changes; None if it asks for all stacks.

    Raises:
        HTTPBadRequest: The marker is none, or the query asks for all projects, too.
    """
    text = query.last(CHANGED_SINCE)
    if text is None:
        return None
    if query.boolean("global_tenant"):
        raise errors.HTTPBadRequest('"changed_since" lists the stacks of one project.')
    wait_s = min(query.non_negative_int("wait") or 0, MAX_WAIT_S)
    return ChangesQuery(_parse_marker(text, now), wait_s)


def _parse_marker(text: str, now: datetime) -> ChangeMarker:
    if text == _FIRST:
        return ChangeMarker(first_marker_time(now))
    found = _PATTERN.fullmatch(text)
    if found is None:
        raise errors.HTTPBadRequest(
            f'"changed_since" must be 0 or the "changes_marker" of an answer, not "{text}".'
        )
    since = datetime.fromtimestamp(int(found[1]), UTC)
    return ChangeMarker(min(since, now.replace(microsecond=0)), found[2])
