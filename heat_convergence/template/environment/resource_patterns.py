"""The patterns by which an environment's registry names resources.

Used by ``resource_registry``.  Decides which entries match the name of a resource.  Must not know
what an entry says.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template.evaluation_budget import ENTRIES_PER_STEP, charge_if_bounded

Json = Any
_WILDCARD = re.compile(r"[*?\[]")
STEPS_PER_PATTERN = 100  # to compile it
_STEPS_PER_PATTERN_CHAR = 10
_COMPARED_CHARS_PER_STEP = 256


class ResourcePatterns:
    """The entries of ``resources``, found by the names of resources.

    Patterns are compiled once: there may be many of them, for many resources.
    """

    def __init__(self, resources: Mapping[str, Json]) -> None:
        self._bodies = {name: each for name, each in resources.items() if isinstance(each, dict)}
        patterns = [name for name in self._bodies if _WILDCARD.search(name)]
        self._chars = sum(map(len, patterns))
        _charge(STEPS_PER_PATTERN * len(patterns) + _STEPS_PER_PATTERN_CHAR * self._chars)
        self._matchers = {name: re.compile(fnmatch.translate(name)).match for name in patterns}

    def __bool__(self) -> bool:
        """Return whether there are any entries."""
        return bool(self._bodies)

    def entries_for(self, resource_name: str) -> list[tuple[str, Mapping[str, Json]]]:
        """Return the entries that match a resource by their patterns, an exact one last."""
        if not self._bodies:
            return []
        compared = self._chars * len(resource_name) // _COMPARED_CHARS_PER_STEP
        _charge(compared + len(self._matchers) // ENTRIES_PER_STEP)
        found = [name for name, matches in self._matchers.items() if matches(resource_name)]
        if resource_name in self._bodies and resource_name not in self._matchers:
            found.append(resource_name)
        found.sort(key=lambda name: name == resource_name)
        return [(name, self._bodies[name]) for name in found]


def _charge(steps: int) -> None:
    if not steps:
        return  # an error of what has taken the steps is not that of the registry
    try:
        charge_if_bounded(steps)
    except RequestLimitExceeded as error:
        error.path = error.path or "resource_registry.resources"
        raise
