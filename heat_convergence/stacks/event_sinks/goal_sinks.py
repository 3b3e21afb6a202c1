"""The event sinks of goals, of which each environment is read once in a process.

Called by ``event_dispatcher``. All stacks of a tree, and most trees of a cloud, have the same
common part of their goals (``convergence.model.goal_storage``), whose environment names the sinks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from heat_convergence.common.values.value_size import SizedCache, value_bytes

Json = Any
Sinks = Sequence[Mapping[str, Json]]
FindCommonParts = Callable[[Collection[str]], Mapping[str, str]]
LoadSinks = Callable[[Collection[str]], Mapping[str, Sinks]]
_MAX_BYTES = 2**20  # of the sinks, and of the names of goals
_GOAL_BYTES = 200  # of the names of a goal and of its common part


class GoalSinks:
    """The sinks of the goals that a process has seen; nothing changes those of a goal.

    Args:
        find_common_parts: returns the hashes of the common parts of goals, by goal.
        load_sinks: returns the sinks that common parts name, by hash.
    """

    def __init__(self, find_common_parts: FindCommonParts, load_sinks: LoadSinks) -> None:
        self._find_common_parts = find_common_parts
        self._load_sinks = load_sinks
        self._parts = SizedCache[str](_MAX_BYTES)  # by goal
        self._sinks = SizedCache[Sinks](_MAX_BYTES)  # by common part

    def note(self, common_parts: Mapping[str, str]) -> None:
        """Keep the hashes of the common parts of goals, which need not be read then."""
        for goal_id, common_part in common_parts.items():
            self._parts.put(goal_id, common_part, _GOAL_BYTES)

    def find(self, goal_id: str) -> Sinks | None:
        """Return the sinks of a goal, None if they have not been read."""
        return self._sinks.get(self._parts.get(goal_id))

    def read(self, goal_ids: Collection[str]) -> None:
        """Read the sinks of goals that are not known."""
        unknown = [goal_id for goal_id in goal_ids if self._parts.get(goal_id) is None]
        if unknown:
            self.note(self._find_common_parts(unknown))
        parts = {part for goal_id in goal_ids if (part := self._parts.get(goal_id)) is not None}
        missing = [part for part in parts if self._sinks.get(part) is None]
        if missing:
            for part, sinks in self._load_sinks(missing).items():
                self._sinks.put(part, sinks, value_bytes(sinks))
