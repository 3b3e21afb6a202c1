"""The hints that notifications have given since they were taken last.

Filled by the threads of the listeners, emptied by the observer's loop. Its memory is bounded:
too many ids become their types, and too many types those of any project.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from heat_convergence.convergence.drift.change_hints import ANY_PROJECT, ChangeHints
from heat_convergence.observer.notifications.parsing import ChangedResources


@dataclass(frozen=True, slots=True)
class HintLimits:
    """The limits of the buffer.

    Attributes:
        ids: The largest number of ids.
        types: The largest number of pairs of project and type, beside those of any project.
        ids_pause: The shortest time between two takings of ids.
        types_pause: The shortest time between two takings of types.
    """

    ids: int = 2000
    types: int = 2000
    ids_pause: timedelta = timedelta(seconds=0.2)
    types_pause: timedelta = timedelta(seconds=1)


class HintBuffer:
    """Hints that wait for the observer.

    Args:
        limits: The limits.
        request_tick: Called when hints wait that were not there before.
    """

    def __init__(self, limits: HintLimits, request_tick: Callable[[], None]) -> None:
        self._limits = limits
        self._request_tick = request_tick
        self._lock = threading.Lock()
        self._ids: set[str] = set()
        self._types: set[tuple[str, str]] = set()
        self._ids_from: datetime | None = None
        self._types_from: datetime | None = None

    def add(self, changed: ChangedResources) -> bool:
        """Add what a notification is about.

        Returns:
            Whether all of it was added; else wider hints were.
        """
        with self._lock:
            was_empty = not self._ids and not self._types
            is_whole = len(self._ids) + len(changed.physical_ids) <= self._limits.ids
            types = list(changed.types_without_ids)
            if is_whole:
                self._ids.update(changed.physical_ids)
            else:
                types += changed.resource_types
            is_whole = self._add_types(changed.project_id, types) and is_whole
        if was_empty:
            self._request_tick()
        return is_whole

    def _add_types(self, project_id: str, names: Iterable[str]) -> bool:
        is_whole = True
        for name in names:
            key = (project_id, name)
            if key not in self._types and len(self._types) >= self._limits.types:
                key, is_whole = (ANY_PROJECT, name), False
            self._types.add(key)
        return is_whole

    @property
    def is_empty(self) -> bool:
        """Return whether no hints wait; those that come meanwhile request a tick."""
        return not self._ids and not self._types

    def take(self, now: datetime) -> ChangeHints:
        """Return the hints whose time has come, and forget them."""
        with self._lock:
            ids: set[str] = set()
            types: set[tuple[str, str]] = set()
            if self._ids and (self._ids_from is None or now >= self._ids_from):
                ids, self._ids = self._ids, set()
                self._ids_from = now + self._limits.ids_pause
            if self._types and (self._types_from is None or now >= self._types_from):
                types, self._types = self._types, set()
                self._types_from = now + self._limits.types_pause
        return ChangeHints(frozenset(ids), frozenset(types))

    def restore(self, hints: ChangeHints) -> None:
        """Add hints again that could not be used, if there is room for them."""
        with self._lock:
            if len(self._ids) + len(hints.physical_ids) <= self._limits.ids:
                self._ids.update(hints.physical_ids)
            if len(self._types) + len(hints.types) <= self._limits.types:
                self._types.update(hints.types)

    def get_next_time(self) -> datetime | None:
        """Return when hints can be taken; None if there are none, or if they can be at once."""
        with self._lock:
            times = [
                time
                for waiting, time in ((self._ids, self._ids_from), (self._types, self._types_from))
                if waiting and time is not None
            ]
        return min(times, default=None)
