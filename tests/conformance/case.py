"""Cases of the conformance suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

Json = Any
Prerequisite = tuple[str, str, Mapping[str, Json]]


class SupportedCloud(StrEnum):
    """The clouds that can run a case."""

    BOTH = "both"
    REAL_ONLY = "a real cloud alone"
    EMULATION_ONLY = "the emulation alone"


@dataclass(frozen=True)
class ConformanceCase:
    """A type with its properties at each step of its lifecycle.

    Attributes:
        type: The type's name.
        prerequisites: Resources to be created first: name, type and properties.
        properties: The properties of the create.
        changes: Properties that each update changes; None removes a property.
        updates: Complete properties of updates, which come before ``changes``.
        attributes: Expected values after the last update; placeholders are replaced.
        emulation_attributes: Further expected values, of the emulation alone.
        replacement_properties: Properties that differ in the replacement; None if two resources
            cannot exist at once.
        needs_admin: Whether the user must be an administrator.
        can_be_found: Whether a resource is found whose create call was never answered.
        case_label: An id instead of the type's name.
        runs_on: The clouds that can run the case.
        always_exists: Whether it is found at all times, as quotas are.
    """

    type: str
    prerequisites: Sequence[Prerequisite] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Json]] = ()
    updates: Sequence[Mapping[str, Json]] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    emulation_attributes: Mapping[str, Json] = field(default_factory=dict)
    replacement_properties: Mapping[str, Json] | None = field(default_factory=dict)
    needs_admin: bool = False
    can_be_found: bool = True
    case_label: str = ""
    runs_on: SupportedCloud = SupportedCloud.BOTH
    always_exists: bool = False  # it can be found at all times, as quotas can

    @property
    def id(self) -> str:
        """The id of the test."""
        return self.case_label or self.type

    def properties_after_updates(self) -> Iterator[Mapping[str, Json]]:
        """Yield the properties after each update."""
        yield from self.updates
        now = dict(self.properties)
        for change in self.changes:
            now = merge_properties(now, change)
            yield now

    @property
    def type_names(self) -> frozenset[str]:
        """The types of the tested resource and of those that it needs."""
        return frozenset({self.type, *(name for _, name, _ in self.prerequisites)})

    @property
    def final_properties(self) -> Mapping[str, Json]:
        """The properties after the last update."""
        return ([self.properties, *self.properties_after_updates()])[-1]

    def updated_property_names(self) -> set[str]:
        """Return the names of properties that some update changes."""
        steps = [self.properties, *self.properties_after_updates()]
        return {
            name
            for before, after in pairwise(steps)
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }


def merge_properties(
    properties: Mapping[str, Json], change: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the properties with the change; None removes a property."""
    merged = {**properties, **change}
    return {name: value for name, value in merged.items() if value is not None}
