"""Readiness levels: how far a resource has come, and which level users demand of it.

Decides which words an environment may have under ``readiness``, and how they are stored with a
resource.  Called by ``resource_registry`` and, for the stored form, by ``convergence``.  Must not
know resource types: which level a type reaches is their data.

Source: docs/use/readiness.rst.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from heat_convergence.common.errors import HTTPBadRequest
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.policy_entries import EntryForm

Json = Any
READINESS = "readiness"  # key of a resource's level in the ``resource_registry``
LEVEL = "level"
_FORM = EntryForm("a readiness level", (LEVEL,))
_PREFIX = f"{READINESS}="


class ReadinessLevel(StrEnum):
    """The level that a resource has reached; each includes those before it."""

    EXISTS = "exists"  # the service has accepted the call, and the resource has its id
    CONFIGURED = "configured"  # nothing is left to be set
    ACTIVE = "active"  # the service has finished: the resource is COMPLETE, unless more is asked
    HEALTHY = "healthy"  # active, and in the state that its type calls healthy

    @property
    def rank(self) -> int:
        """The number of levels before this one."""
        return list(ReadinessLevel).index(self)

    def includes(self, other: ReadinessLevel) -> bool:
        """Return whether a resource of this level has reached the other one, too."""
        return self.rank >= other.rank


def highest(levels: Iterable[ReadinessLevel]) -> ReadinessLevel | None:
    """Return the highest of some levels, None if there are none."""
    return max(levels, key=lambda level: level.rank, default=None)


def levels_up_to(level: ReadinessLevel) -> tuple[ReadinessLevel, ...]:
    """Return the levels that a resource of this level has reached."""
    return tuple(each for each in ReadinessLevel if level.includes(each))


def parse_readiness(value: Json, path: str) -> ReadinessLevel | None:
    """Return the level of an entry ``readiness``; None if it names none.

    Args:
        value: the level, or a map with it.
        path: where it stands, for the error.

    Raises:
        HTTPBadRequest: the entry has another form, or an unknown level.
    """
    level = _FORM.read(value, path).get(LEVEL)
    return None if level is None else _parse_level(level, _FORM.word_path(value, path))


def _parse_level(value: Json, path: str) -> ReadinessLevel:
    try:
        return ReadinessLevel(value)
    except ValueError as error:
        hint = did_you_mean(value, tuple(ReadinessLevel)) if isinstance(value, str) else ""
        raise HTTPBadRequest(
            f'"{value}" is not a readiness level ({path}); it is one of'
            f" {', '.join(ReadinessLevel)}{hint}"
        ) from error


def level_word(level: ReadinessLevel) -> str:
    """Return the form of a demanded level that is stored among a resource's restrictions."""
    return f"{_PREFIX}{level}"


def level_from_words(words: Iterable[str]) -> ReadinessLevel | None:
    """Return the level that is demanded of a resource, by the words among its restrictions.

    Words of a later release are left out.
    """
    known = set(ReadinessLevel)
    found = (word.removeprefix(_PREFIX) for word in words if word.startswith(_PREFIX))
    return highest(ReadinessLevel(each) for each in found if each in known)


def demands_health(words: Iterable[str]) -> bool:
    """Return whether a resource is ready only when it is healthy."""
    return level_from_words(words) is ReadinessLevel.HEALTHY
