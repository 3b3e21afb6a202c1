"""What a case of the conformance suite says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

Json = Any
Prerequisite = tuple[str, str, Mapping[str, Json]]


class SupportedCloud(StrEnum):
    """Which clouds can host a case."""

    BOTH = "both"
    REAL_ONLY = "a real cloud alone"
    EMULATION_ONLY = "the emulation alone"


@dataclass(frozen=True)
class ConformanceCase:
    """A type, what must be there before, its properties at first and after each
    update, and attributes as they are in the end.

    ``format_resource_changes`` go one over the other, None takes a property away; ``updates``
    are whole.
    ``replacement_properties`` is what the replacement differs in; None: there can't be two at
    once.
    """

    type: str
    prerequisites: Sequence[Prerequisite] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Json]] = ()
    updates: Sequence[Mapping[str, Json]] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    replacement_properties: Mapping[str, Json] | None = field(default_factory=dict)
    needs_admin: bool = False
    can_be_found: bool = True
    case_label: str = ""
    runs_on: SupportedCloud = SupportedCloud.BOTH
    always_exists: bool = False  # it can be found at all times, as quotas can

    @property
    def id(self) -> str:
        return self.case_label or self.type

    def properties_after_updates(self) -> Iterator[Mapping[str, Json]]:
        """The properties after each update."""
        yield from self.updates
        now = dict(self.properties)
        for change in self.changes:
            now = merge_properties(now, change)
            yield now

    @property
    def final_properties(self) -> Mapping[str, Json]:
        return ([self.properties, *self.properties_after_updates()])[-1]

    def updated_property_names(self) -> set[str]:
        """Names of properties that some update changes."""
        steps = [self.properties, *self.properties_after_updates()]
        return {
            name
            for before, after in pairwise(steps)
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }


def merge_properties(under: Mapping[str, Json], change: Mapping[str, Json]) -> dict[str, Json]:
    merged = {**under, **change}
    return {name: value for name, value in merged.items() if value is not None}
