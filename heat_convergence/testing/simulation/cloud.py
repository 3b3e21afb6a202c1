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
from heat_convergence.convergence.invariants.transition import ActualResource

Json = Any


@dataclass(slots=True)
class CloudObject:
    """One thing; its states change with time: ``ready_at_s``, ``deleted_at_s``."""

    id: str
    name: str
    type: str
    stack_id: str
    resource_id: str
    properties: dict[str, Json]
    ready_at_s: float = 0.0
    in_error: bool = False
    deleted_at_s: float = math.inf
    suspended: bool = False
    changed_externally: bool = False
    state_unknown: bool = False  # nobody knows how it came to be as it is
    creation_number: int = field(default=0)
    first_ready_at_s: float = 0.0  # when it was up for the first time

    def referenced_ids(self) -> frozenset[str]:
        if self.state_unknown:
            return frozenset()
        read = [text.rpartition("/")[0] for text in self.properties.get("reads", ())]
        return frozenset((*self.properties.get("refs", ()), *read))


@dataclass(slots=True)
class CloudSnapshot:
    """What was saved of a thing."""

    id: str
    name: str
    source_id: str
    stack_id: str
    ready_at_s: float
    exists: bool = True


class SimulatedCloud:
    """What exists; ``elapsed_s`` is the world's time."""

    def __init__(self, at_s: Callable[[], float]) -> None:
        self._at_s = at_s
        self.objects: dict[str, CloudObject] = {}
        self.snapshots: dict[str, CloudSnapshot] = {}
        self._left: set[str] = set()  # stacks that were abandoned
        self._entrusted: set[str] = set()  # ids of things

    # -- what a service offers

    def create(
        self,
        *,
        name: str,
        type_name: str,
        owner: tuple[str, str],
        properties: Mapping[str, Json],
        duration_s: float,
    ) -> CloudObject:
        """A new thing, even where one of the name exists: names are not unique."""
        number = len(self.objects) + 1
        thing = CloudObject(
            id=f"t{number}",
            name=name,
            type=type_name,
            stack_id="" if owner[0] in self._left else owner[0],
            resource_id=owner[1],
            properties=dict(properties),
            ready_at_s=self._at_s() + duration_s,
            creation_number=number,
            first_ready_at_s=self._at_s() + duration_s,
        )
        self.objects[thing.id] = thing
        return thing

    def find(self, name: str) -> CloudObject | None:
        found = [thing for thing in self.objects.values() if thing.name == name]
        alive = [thing for thing in found if self.exists(thing)]
        return alive[0] if alive else None

    def get(self, thing_id: str | None) -> CloudObject | None:
        thing = self.objects.get(thing_id or "")
        return thing if thing is not None and self.exists(thing) else None

    def update(
        self, object_id: str | None, properties: Mapping[str, Json], duration_s: float
    ) -> CloudObject:
        thing = self._existing(object_id)
        if self.is_busy(thing):
            raise Conflict(f"{thing.id} is being worked on")
        thing.properties = dict(properties)
        thing.ready_at_s = self._at_s() + duration_s
        return thing

    def delete(self, object_id: str | None, duration_s: float) -> CloudObject:
        thing = self._existing(object_id)
        thing.deleted_at_s = min(thing.deleted_at_s, self._at_s() + duration_s)
        return thing

    def suspend(self, thing_id: str | None) -> None:
        self._existing(thing_id).suspended = True

    def resume(self, thing_id: str | None) -> None:
        self._existing(thing_id).suspended = False

    def create_snapshot(
        self, object_id: str | None, name: str, stack_id: str, duration_s: float
    ) -> CloudSnapshot:
        """A copy of the thing, to be found by the name, which is its maker's affair."""
        thing = self._existing(object_id)
        copy = CloudSnapshot(
            f"c{len(self.snapshots) + 1}",
            name,
            thing.id,
            "" if stack_id in self._left else stack_id,
            self._at_s() + duration_s,
        )
        self.snapshots[copy.id] = copy
        return copy

    def find_snapshot(self, name: str) -> CloudSnapshot | None:
        found = (copy for copy in self.snapshots.values() if copy.name == name and copy.exists)
        return next(found, None)

    def delete_snapshot(self, copy_id: str) -> None:
        if copy_id in self.snapshots:
            self.snapshots[copy_id].exists = False

    def _existing(self, thing_id: str | None) -> CloudObject:
        thing = self.get(thing_id)
        if thing is None:
            raise ResourceGone(f"{thing_id} does not exist")
        return thing

    # -- how it stands

    def exists(self, thing: CloudObject) -> bool:
        return self._at_s() < thing.deleted_at_s

    def is_busy(self, thing: CloudObject) -> bool:
        return self._at_s() < thing.ready_at_s

    def can_be_snapshotted(self, thing: CloudObject) -> bool:
        """Whether there is anything in it that could be saved."""
        return (
            self.has_passed(thing.first_ready_at_s)
            and not thing.in_error
            and not self.is_deleting(thing)
        )

    def has_passed(self, at_s: float) -> bool:
        return at_s <= self._at_s()

    def is_deleting(self, thing: CloudObject) -> bool:
        return thing.deleted_at_s != math.inf

    def active_objects(self) -> list[CloudObject]:
        """What exists and is not being deleted, oldest first."""
        things = [t for t in self.objects.values() if self.exists(t) and not self.is_deleting(t)]
        return sorted(things, key=lambda thing: thing.creation_number)

    # -- what others do to it

    def delete_externally(self, thing: CloudObject) -> None:
        thing.deleted_at_s = self._at_s()
        thing.changed_externally = True

    def change_externally(self, thing: CloudObject, properties: Mapping[str, Json]) -> None:
        thing.properties.update(properties)
        thing.changed_externally = True

    def release_object(self, resource_id: str) -> None:
        """What was made for the resource is its user's own from now on."""
        for thing in self.objects.values():
            if thing.resource_id == resource_id:
                thing.stack_id = ""

    def release_stack_objects(self, stack_id: str) -> None:
        """What belongs to the stack, and what is still being made for it, is nobody's."""
        self._left.add(stack_id)
        for thing in (*self.objects.values(), *self.snapshots.values()):
            if thing.stack_id == stack_id:
                thing.stack_id = ""

    def mark_state_unknown(self, thing: CloudObject) -> None:
        """It is not as its new owner was told, nor uses what it was said to."""
        thing.changed_externally = thing.state_unknown = True

    def assign_owner(self, thing_id: str | None, stack_id: str, resource_id: str) -> None:
        """What is nobody's belongs to the resource that has adopted it, or until then to
        the one that it is to be adopted behind."""
        thing = self.objects.get(thing_id or "")
        if thing is not None and (not thing.stack_id or thing.id in self._entrusted):
            thing.stack_id, thing.resource_id = stack_id, resource_id
            self._entrusted.discard(thing.id)

    def reserve_for_owner(self, thing_id: str | None, stack_id: str, resource_id: str) -> None:
        """It is handed over together with the stack behind that resource."""
        thing = self.objects.get(thing_id or "")
        if thing is not None and (not thing.stack_id or thing.id in self._entrusted):
            thing.stack_id, thing.resource_id = stack_id, resource_id
            self._entrusted.add(thing.id)

    # -- the account

    def inventory(self) -> dict[str, ActualResource]:
        """Everything that ever was."""
        return {
            thing.id: ActualResource(
                id=thing.id,
                name=thing.name,
                type=thing.type,
                stack_id=thing.stack_id,
                resource_id=thing.resource_id,
                properties=thing.properties,
                used_ids=thing.referenced_ids(),
                exists=self.exists(thing),
                ready=not self.is_busy(thing) and not thing.in_error,
                suspended=thing.suspended,
                changed_externally=thing.changed_externally,
            )
            for thing in self.objects.values()
        }
