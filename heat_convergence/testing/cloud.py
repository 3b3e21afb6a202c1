"""Reality: what exists, slowly comes up, fails, or is changed by others.

Used by the simulator's resource types, which call it as they would a service, and
by the rules, which read its account.  The account is kept apart from every row, and
holds what is gone as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.common.errors import Conflict, ResourceGone
from heat_convergence.convergence.rules import Physical

Json = Any


@dataclass(slots=True)
class Thing:
    """One thing; its states change with time: ``up_at_s``, ``gone_at_s``."""

    id: str
    name: str
    type: str
    stack_id: str
    resource_id: str
    properties: dict[str, Json]
    up_at_s: float = 0.0
    broken: bool = False
    gone_at_s: float = math.inf
    paused: bool = False
    disturbed: bool = False
    strange: bool = False  # nobody knows how it came to be as it is
    made: int = field(default=0)
    whole_at_s: float = 0.0  # when it was up for the first time

    def uses(self) -> frozenset[str]:
        if self.strange:
            return frozenset()
        read = [text.rpartition("/")[0] for text in self.properties.get("reads", ())]
        return frozenset((*self.properties.get("refs", ()), *read))


@dataclass(slots=True)
class Copy:
    """What was saved of a thing."""

    id: str
    name: str
    thing_id: str
    stack_id: str
    up_at_s: float
    alive: bool = True


class Cloud:
    """What exists; ``at_s`` is the world's time."""

    def __init__(self, at_s: Callable[[], float]) -> None:
        self._at_s = at_s
        self.things: dict[str, Thing] = {}
        self.copies: dict[str, Copy] = {}
        self._left: set[str] = set()  # stacks that were abandoned
        self._entrusted: set[str] = set()  # ids of things

    # -- what a service offers

    def create(self, *, name: str, type_name: str, owner: tuple[str, str],
               properties: Mapping[str, Json], takes_s: float) -> Thing:
        """A new thing, even where one of the name exists: names are not unique."""
        number = len(self.things) + 1
        thing = Thing(
            id=f"t{number}",
            name=name,
            type=type_name,
            stack_id="" if owner[0] in self._left else owner[0],
            resource_id=owner[1],
            properties=dict(properties),
            up_at_s=self._at_s() + takes_s,
            made=number,
            whole_at_s=self._at_s() + takes_s,
        )
        self.things[thing.id] = thing
        return thing

    def find(self, name: str) -> Thing | None:
        found = [thing for thing in self.things.values() if thing.name == name]
        alive = [thing for thing in found if self.exists(thing)]
        return alive[0] if alive else None

    def get(self, thing_id: str | None) -> Thing | None:
        thing = self.things.get(thing_id or "")
        return thing if thing is not None and self.exists(thing) else None

    def update(
        self, thing_id: str | None, properties: Mapping[str, Json], takes_s: float
    ) -> Thing:
        thing = self._existing(thing_id)
        if self.at_work(thing):
            raise Conflict(f"{thing.id} is being worked on")
        thing.properties = dict(properties)
        thing.up_at_s = self._at_s() + takes_s
        return thing

    def delete(self, thing_id: str | None, takes_s: float) -> Thing:
        thing = self._existing(thing_id)
        thing.gone_at_s = min(thing.gone_at_s, self._at_s() + takes_s)
        return thing

    def pause(self, thing_id: str | None) -> None:
        self._existing(thing_id).paused = True

    def wake(self, thing_id: str | None) -> None:
        self._existing(thing_id).paused = False

    def copy(self, thing_id: str | None, name: str, stack_id: str, takes_s: float) -> Copy:
        """A copy of the thing, to be found by the name, which is its maker's affair."""
        thing = self._existing(thing_id)
        copy = Copy(
            f"c{len(self.copies) + 1}",
            name,
            thing.id,
            "" if stack_id in self._left else stack_id,
            self._at_s() + takes_s,
        )
        self.copies[copy.id] = copy
        return copy

    def copy_named(self, name: str) -> Copy | None:
        found = (copy for copy in self.copies.values() if copy.name == name and copy.alive)
        return next(found, None)

    def drop_copy(self, copy_id: str) -> None:
        if copy_id in self.copies:
            self.copies[copy_id].alive = False

    def _existing(self, thing_id: str | None) -> Thing:
        thing = self.get(thing_id)
        if thing is None:
            raise ResourceGone(f"{thing_id} does not exist")
        return thing

    # -- how it stands

    def exists(self, thing: Thing) -> bool:
        return self._at_s() < thing.gone_at_s

    def at_work(self, thing: Thing) -> bool:
        return self._at_s() < thing.up_at_s

    def is_whole(self, thing: Thing) -> bool:
        """Whether there is anything in it that could be saved."""
        return self.is_past(thing.whole_at_s) and not thing.broken and not self.leaving(thing)

    def is_past(self, at_s: float) -> bool:
        return at_s <= self._at_s()

    def leaving(self, thing: Thing) -> bool:
        return thing.gone_at_s != math.inf

    def alive(self) -> list[Thing]:
        """What exists and is not being deleted, oldest first."""
        things = [t for t in self.things.values() if self.exists(t) and not self.leaving(t)]
        return sorted(things, key=lambda thing: thing.made)

    # -- what others do to it

    def vanish(self, thing: Thing) -> None:
        thing.gone_at_s = self._at_s()
        thing.disturbed = True

    def change(self, thing: Thing, properties: Mapping[str, Json]) -> None:
        thing.properties.update(properties)
        thing.disturbed = True

    def disown(self, resource_id: str) -> None:
        """What was made for the resource is its user's own from now on."""
        for thing in self.things.values():
            if thing.resource_id == resource_id:
                thing.stack_id = ""

    def leave(self, stack_id: str) -> None:
        """What belongs to the stack, and what is still being made for it, is nobody's."""
        self._left.add(stack_id)
        for thing in (*self.things.values(), *self.copies.values()):
            if thing.stack_id == stack_id:
                thing.stack_id = ""

    def estrange(self, thing: Thing) -> None:
        """It is not as its new owner was told, nor uses what it was said to."""
        thing.disturbed = thing.strange = True

    def hand_over(self, thing_id: str | None, stack_id: str, resource_id: str) -> None:
        """What is nobody's belongs to the resource that has adopted it, or until then to
        the one that it is to be adopted behind."""
        thing = self.things.get(thing_id or "")
        if thing is not None and (not thing.stack_id or thing.id in self._entrusted):
            thing.stack_id, thing.resource_id = stack_id, resource_id
            self._entrusted.discard(thing.id)

    def entrust(self, thing_id: str | None, stack_id: str, resource_id: str) -> None:
        """It is handed over together with the stack behind that resource."""
        thing = self.things.get(thing_id or "")
        if thing is not None and (not thing.stack_id or thing.id in self._entrusted):
            thing.stack_id, thing.resource_id = stack_id, resource_id
            self._entrusted.add(thing.id)

    # -- the account

    def account(self) -> dict[str, Physical]:
        """Everything that ever was."""
        return {
            thing.id: Physical(
                id=thing.id,
                name=thing.name,
                type=thing.type,
                stack_id=thing.stack_id,
                resource_id=thing.resource_id,
                properties=thing.properties,
                uses=thing.uses(),
                alive=self.exists(thing),
                up=not self.at_work(thing) and not thing.broken,
                paused=thing.paused,
                disturbed=thing.disturbed,
            )
            for thing in self.things.values()
        }
