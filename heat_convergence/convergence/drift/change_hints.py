"""Hints that something has changed in other services.

A hint says what to read soon and nothing about its state (RULE 1): whatever a lost hint would have
told, the next read of the same resources finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ANY_PROJECT = ""


@dataclass(frozen=True, slots=True)
class ChangeHints:
    """The resources to read soon.

    Attributes:
        physical_ids: Ids of physical resources.
        types: Pairs of project and resource type of which any resource may have changed;
            ``ANY_PROJECT`` instead of a project that is not known.
    """

    physical_ids: frozenset[str] = frozenset()
    types: frozenset[tuple[str, str]] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.physical_ids or self.types)

    def types_by_project(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each known project with its types, in order."""
        by_project: dict[str, list[str]] = {}
        for project_id, name in sorted(self.types):
            if project_id != ANY_PROJECT:
                by_project.setdefault(project_id, []).append(name)
        yield from by_project.items()

    def types_of_any_project(self) -> list[str]:
        """Return the types whose project is not known."""
        return sorted(name for project_id, name in self.types if project_id == ANY_PROJECT)
