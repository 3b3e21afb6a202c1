"""What a case of the conformance suite says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

Json = Any
Resource = tuple[str, str, Mapping[str, Json]]


class On(StrEnum):
    """Which clouds can host a case."""

    BOTH = "both"
    REAL = "a real cloud alone"
    EMULATION = "the emulation alone"


@dataclass(frozen=True)
class Case:
    """A type, what must be there before, its properties at first and after each
    update, and attributes as they are in the end.

    ``changes`` go one over the other, None takes a property away; ``updates`` are whole.
    ``successor`` is what the replacement differs in; None: there can't be two at once.
    """

    type: str
    before: Sequence[Resource] = ()
    properties: Mapping[str, Json] = field(default_factory=dict)
    changes: Sequence[Mapping[str, Json]] = ()
    updates: Sequence[Mapping[str, Json]] = ()
    attributes: Mapping[str, Json] = field(default_factory=dict)
    successor: Mapping[str, Json] | None = field(default_factory=dict)
    admin: bool = False
    findable: bool = True
    label: str = ""
    on: On = On.BOTH
    lasting: bool = False  # it can be found at all times, as quotas can

    @property
    def id(self) -> str:
        return self.label or self.type

    def goals(self) -> Iterator[Mapping[str, Json]]:
        """The properties after each update."""
        yield from self.updates
        now = dict(self.properties)
        for change in self.changes:
            now = over(now, change)
            yield now

    @property
    def last(self) -> Mapping[str, Json]:
        return ([self.properties, *self.goals()])[-1]

    def changed(self) -> set[str]:
        """Names of properties that some update changes."""
        steps = [self.properties, *self.goals()]
        return {
            name
            for before, after in pairwise(steps)
            for name in before.keys() | after.keys()
            if before.get(name) != after.get(name)
        }


def over(under: Mapping[str, Json], change: Mapping[str, Json]) -> dict[str, Json]:
    merged = {**under, **change}
    return {name: value for name, value in merged.items() if value is not None}
