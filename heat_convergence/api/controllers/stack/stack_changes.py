"""The list of stacks that have changed, for which clients can wait.

Called by the list of stacks. Reads alone; what it costs does not depend on the number of stacks
that have not changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from heat_convergence.api.change_wait import WAIT_KEY, ChangeWait, ChangeWatch
from heat_convergence.api.controllers.stack.stack_lists import EncodedStack, list_encoded
from heat_convergence.api.http import ApiRequest
from heat_convergence.api.requests.list_queries import StackListQuery
from heat_convergence.api.requests.stack_changes import (
    ChangeMarker,
    ChangesQuery,
    first_marker_time,
)
from heat_convergence.api.services import ApiServices
from heat_convergence.db.reads import stack_changes
from heat_convergence.db.reads.stack_changes import WatchedProject


@dataclass(frozen=True, slots=True)
class ChangedStacks:
    """Stacks that have changed, and the marker for the next request.

    Attributes:
        has_changed: Whether there is a change since the client's marker.
        stacks: Those in progress or started since then, deleted ones too; empty without a change.
    """

    has_changed: bool
    stacks: list[EncodedStack]
    marker: ChangeMarker


class StackChanges:
    """Reads of changed stacks, and the waits for changes of this process."""

    def __init__(self, services: ApiServices) -> None:
        self._services = services
        self._watch = ChangeWatch(self._find_newest)

    def find(
        self, request: ApiRequest, query: StackListQuery, changes: ChangesQuery
    ) -> ChangedStacks:
        """Return the stacks that have changed, or hold the request until there are some."""
        now = self._services.clock()
        marked = WatchedProject(request.project_id, changes.marker.since)
        newest = WatchedProject(request.project_id, first_marker_time(now))
        with self._services.database.read() as conn:
            # In this order: a change between two reads shows in this answer or in the next.
            marker = ChangeMarker(newest.since, _read_digest(conn, newest))
            digest = _read_digest(conn, marked)
            has_changed = digest != changes.marker.digest
            found = _list(conn, request, query, marked.since) if has_changed else []
        wait: ChangeWait | None = request.environ.get(WAIT_KEY)
        may_wait = changes.wait_s > 0 and changes.marker.is_recent(now)
        if may_wait and not has_changed and wait is not None:
            wait.hold(self._watch, {_key_of(marked): digest}, changes.wait_s)
        return ChangedStacks(has_changed, found, marker)

    def _find_newest(self, keys: Collection[str]) -> Mapping[str, str]:
        watched = {_watched(key): key for key in keys}
        with self._services.database.read() as conn:
            found = stack_changes.find_digests(conn, watched)
        return {watched[each]: digest for each, digest in found.items()}


def _read_digest(conn: Any, watched: WatchedProject) -> str:
    return stack_changes.find_digests(conn, [watched])[watched]


def _list(
    conn: Any, request: ApiRequest, query: StackListQuery, since: datetime
) -> list[EncodedStack]:
    filters = replace(query.filters, deleted=True, unfinished_or_started_since=since)
    return list_encoded(conn, request, filters, query.page)


def _key_of(watched: WatchedProject) -> str:
    return f"{int(watched.since.timestamp())} {watched.project_id}"


def _watched(key: str) -> WatchedProject:
    since_s, _, project_id = key.partition(" ")
    return WatchedProject(project_id, datetime.fromtimestamp(int(since_s), UTC))
