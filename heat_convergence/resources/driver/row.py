"""What a catalogue row can say of a resource type.

Decides nothing: data, read by ``declared``.  A path such as ``fixed_ips.subnet`` names
a property, or one inside a map or inside the maps of a list.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.lookups import Lookups
from heat_convergence.resources.driver.things import Thing
from heat_convergence.resources.plugin import Implied, View

Json = Any


@dataclass(frozen=True, slots=True)
class Arg:
    """How a property becomes an argument: under which name (None: it is not sent),
    with its value looked up as the id of which noun."""

    to: str | None
    find: str | None = None


def sent(**names: str) -> dict[str, Arg]:
    """Properties that are arguments under another name."""
    return {name: Arg(to) for name, to in names.items()}


def not_sent(*names: str) -> dict[str, Arg]:
    """Properties that something else than the create and update call sees to."""
    return {name: Arg(None) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Which field says how things stand; ``ready`` None: whatever is neither busy nor
    failed.  Words are compared in lower case."""

    key: str | None = "status"
    busy: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset({"error"})
    ready: frozenset[str] | None = None
    gone: frozenset[str] = frozenset({"deleted"})
    reason: str | None = None


STATELESS = Status(key=None)


@dataclass(frozen=True, slots=True)
class Made:
    """A thing that exists, as parts of it are put in place."""

    calls: Calls
    thing_id: str
    body: Mapping[str, Json]
    lookups: Lookups
    view: View


class Part(ABC):
    """Something that takes calls of its own, after the create and at an update.

    ``put`` may be called again after a crash: it must then change nothing twice.
    """

    names: frozenset[str]

    @abstractmethod
    def put(
        self, made: Made, wanted: Mapping[str, Json], before: Mapping[str, Json] | None
    ) -> None:
        """``before`` None: the thing is new."""

    def remove(self, made: Made, wanted: Mapping[str, Json]) -> None:
        """What must go before the thing can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One resource type.

    ``schema`` is the schemas' file, ``service`` the catalogue's word for it as users
    know it (neutron, nova).  ``places`` fill the thing's path from properties.
    ``fixed`` are arguments that every create sends.  ``blank_is_null`` are properties
    whose empty text means none.  An update that takes a property away sends what stands
    for none in its type, but null for ``null_when_unset`` and nothing for
    ``kept_when_unset``.  ``found_by_content``: no two things are alike.
    ``stays_as_made``: the service changes nothing of it.  ``together`` are properties of
    which an update sends all when it sends one, ``renamed`` arguments that an update
    calls otherwise than a create.
    ``attributes`` maps attributes to the body's keys where they differ, dots leading
    inwards.  ``waits_for_delete``: the service deletes in its own time.
    """

    name: str
    schema: str
    service: str
    thing: Thing
    arguments: Mapping[str, Arg] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    place_nouns: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Json] = field(default_factory=dict)
    blank_is_null: frozenset[str] = frozenset()
    null_when_unset: frozenset[str] = frozenset()
    kept_when_unset: frozenset[str] = frozenset()
    found_by_content: bool = False
    stays_as_made: bool = False
    together: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    status: Status = STATELESS
    attributes: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    waits_for_delete: bool = False
    named: bool = True
    implied: tuple[Implied, ...] = ()
    tested_on: str = "emulation"
