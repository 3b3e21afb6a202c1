"""The simulated cloud: objects that are created, fail, or are changed by third parties.

Called by the simulated resource types as a service would be, and read by the
invariant checker through ``inventory``.  Keeps its own records, including those of
deleted objects; never reads a row of the store.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.convergence.invariants.transition import ActualResource
from heat_convergence.template.environment.readiness import ReadinessLevel

Json = Any


@dataclass(frozen=True, slots=True)
class ObjectOwner:
    """The stack and the resource that an object belongs to."""

    stack_id: str
    resource_id: str


@dataclass(slots=True)
class CloudObject:
    """One object; its state follows from the time, ``ready_at_s`` and ``deleted_at_s``.

    ``stack_id`` is empty for an object that belongs to no stack.
    """

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
    state_unknown: bool = False  # no row says how the object came to its present state
    creation_number: int = 0
    first_ready_at_s: float = 0.0
    configured_at_s: float = 0.0
    healthy_at_s: float = 0.0
    degraded_from_s: float = math.inf
    degraded_until_s: float = math.inf

    def referenced_ids(self) -> frozenset[str]:
        """Return the ids of the objects that the properties refer to."""
        if self.state_unknown:
            return frozenset()
        read = [text.rpartition("/")[0] for text in self.properties.get("attributes", ())]
        return frozenset((*self.properties.get("references", ()), *read))


@dataclass(slots=True)
class CloudSnapshot:
    """A saved copy of an object."""

    id: str
    name: str
    source_id: str
    stack_id: str
    ready_at_s: float
    exists: bool = True


class SimulatedCloud:
    """All objects and snapshots that ever existed.

    Args:
        elapsed_s: returns the simulated time in seconds.
    """

    def __init__(self, elapsed_s: Callable[[], float]) -> None:
        self._elapsed_s = elapsed_s
        self.objects: dict[str, CloudObject] = {}
        self.snapshots: dict[str, CloudSnapshot] = {}
        self._abandoned_stack_ids: set[str] = set()
        self._reserved_ids: set[str] = set()  # objects reserved for a later adoption
        self._described: dict[str, tuple[tuple[Any, ...], ActualResource]] = {}  # by id

    # -- the service's API

    def create(
        self,
        *,
        name: str,
        type_name: str,
        owner: ObjectOwner,
        properties: Mapping[str, Json],
        duration_s: float,
    ) -> CloudObject:
        """Create an object, even if one with the same name exists."""
        number = len(self.objects) + 1
        ready_at_s = self._elapsed_s() + duration_s
        created = CloudObject(
            id=f"t{number}",
            name=name,
            type=type_name,
            stack_id="" if owner.stack_id in self._abandoned_stack_ids else owner.stack_id,
            resource_id=owner.resource_id,
            properties=dict(properties),
            ready_at_s=ready_at_s,
            creation_number=number,
            first_ready_at_s=ready_at_s,
        )
        self._start_levels(created, duration_s)
        self.objects[created.id] = created
        return created

    def find(self, name: str) -> CloudObject | None:
        """Return the oldest existing object with the name, or None."""
        found = (each for each in self.objects.values() if each.name == name)
        return next((each for each in found if self.exists(each)), None)

    def get(self, object_id: str | None) -> CloudObject | None:
        """Return the existing object with the id, or None."""
        found = self.objects.get(object_id or "")
        return found if found is not None and self.exists(found) else None

    def update(
        self, object_id: str | None, properties: Mapping[str, Json], duration_s: float
    ) -> CloudObject:
        """Replace the properties of an object.

        Raises:
            Conflict: an earlier change is still in progress.
            ResourceGone: the object does not exist.
        """
        found = self._existing(object_id)
        if self.is_busy(found):
            raise Conflict(f"{found.id} is being worked on")
        found.properties = dict(properties)
        found.ready_at_s = self._elapsed_s() + duration_s
        self._start_levels(found, duration_s)
        return found

    def _start_levels(self, changed: CloudObject, duration_s: float) -> None:
        """Let an object reach its levels one after the other."""
        changed.configured_at_s = self._elapsed_s() + duration_s / 2
        changed.healthy_at_s = changed.ready_at_s + duration_s

    def delete(self, object_id: str | None, duration_s: float) -> CloudObject:
        """Start to delete an object; ``ResourceGone`` if it does not exist."""
        found = self._existing(object_id)
        found.deleted_at_s = min(found.deleted_at_s, self._elapsed_s() + duration_s)
        return found

    def suspend(self, object_id: str | None) -> None:
        """Suspend an object; ``ResourceGone`` if it does not exist."""
        self._existing(object_id).suspended = True

    def resume(self, object_id: str | None) -> None:
        """Resume an object; ``ResourceGone`` if it does not exist."""
        self._existing(object_id).suspended = False

    def create_snapshot(
        self, object_id: str | None, name: str, stack_id: str, duration_s: float
    ) -> CloudSnapshot:
        """Start to save an object under a name; names need not be unique."""
        source = self._existing(object_id)
        snapshot = CloudSnapshot(
            f"c{len(self.snapshots) + 1}",
            name,
            source.id,
            "" if stack_id in self._abandoned_stack_ids else stack_id,
            self._elapsed_s() + duration_s,
        )
        self.snapshots[snapshot.id] = snapshot
        return snapshot

    def find_snapshot(self, name: str) -> CloudSnapshot | None:
        """Return the oldest existing snapshot with the name, or None."""
        found = (each for each in self.snapshots.values() if each.name == name and each.exists)
        return next(found, None)

    def delete_snapshot(self, snapshot_id: str) -> None:
        """Delete a snapshot, if there is one with the id."""
        if snapshot_id in self.snapshots:
            self.snapshots[snapshot_id].exists = False

    def _existing(self, object_id: str | None) -> CloudObject:
        found = self.get(object_id)
        if found is None:
            raise ResourceGone(f"{object_id} does not exist")
        return found

    # -- states

    def exists(self, cloud_object: CloudObject) -> bool:
        """Return whether the object is not deleted yet."""
        return self._elapsed_s() < cloud_object.deleted_at_s

    def is_busy(self, cloud_object: CloudObject) -> bool:
        """Return whether a creation or update is still in progress."""
        return self._elapsed_s() < cloud_object.ready_at_s

    def level_of(self, cloud_object: CloudObject) -> ReadinessLevel | None:
        """Return the readiness level of an object, None once it shows that it is in error."""
        if cloud_object.in_error and self.has_passed(cloud_object.configured_at_s):
            return None
        level = self._reached_level(cloud_object)
        is_healthy = level is ReadinessLevel.HEALTHY
        return ReadinessLevel.ACTIVE if is_healthy and self.is_degraded(cloud_object) else level

    def is_degraded(self, cloud_object: CloudObject) -> bool:
        """Return whether an object has lost its health for now."""
        since_s, until_s = cloud_object.degraded_from_s, cloud_object.degraded_until_s
        return since_s <= self._elapsed_s() < until_s

    def _reached_level(self, cloud_object: CloudObject) -> ReadinessLevel:
        """Return the highest level that an object has reached, whatever it has lost since."""
        if cloud_object.in_error:
            return ReadinessLevel.EXISTS
        reached = (
            (cloud_object.healthy_at_s, ReadinessLevel.HEALTHY),
            (cloud_object.ready_at_s, ReadinessLevel.ACTIVE),
            (cloud_object.configured_at_s, ReadinessLevel.CONFIGURED),
        )
        found = (level for at_s, level in reached if self.has_passed(at_s))
        return next(found, ReadinessLevel.EXISTS)

    def can_be_snapshotted(self, cloud_object: CloudObject) -> bool:
        """Return whether the object has content that a snapshot could save."""
        return (
            self.has_passed(cloud_object.first_ready_at_s)
            and not cloud_object.in_error
            and not self.is_deleting(cloud_object)
        )

    def has_passed(self, at_s: float) -> bool:
        """Return whether a time has been reached."""
        return at_s <= self._elapsed_s()

    def is_deleting(self, cloud_object: CloudObject) -> bool:
        """Return whether the deletion of the object was started or is complete."""
        return cloud_object.deleted_at_s != math.inf

    def active_objects(self) -> list[CloudObject]:
        """Return the objects that exist and are not being deleted, oldest first."""
        found = [
            each
            for each in self.objects.values()
            if self.exists(each) and not self.is_deleting(each)
        ]
        return sorted(found, key=lambda each: each.creation_number)

    # -- changes by third parties

    def delete_externally(self, cloud_object: CloudObject) -> None:
        """Delete an object at once, without its owner's knowledge."""
        cloud_object.deleted_at_s = self._elapsed_s()
        cloud_object.changed_externally = True

    def change_externally(self, cloud_object: CloudObject, properties: Mapping[str, Json]) -> None:
        """Change properties of an object without its owner's knowledge."""
        cloud_object.properties = {**cloud_object.properties, **properties}
        cloud_object.changed_externally = True

    def degrade(self, cloud_object: CloudObject, duration_s: float) -> None:
        """Have an object lose its health for some seconds."""
        cloud_object.degraded_from_s = self._elapsed_s()
        cloud_object.degraded_until_s = self._elapsed_s() + duration_s

    def end_degradations(self) -> None:
        """Have all objects regain their health."""
        for each in self.objects.values():
            each.degraded_from_s = math.inf

    # -- ownership

    def release_object(self, resource_id: str) -> None:
        """Mark the objects of a resource as owned by no stack."""
        for each in self.objects.values():
            if each.resource_id == resource_id:
                each.stack_id = ""

    def release_stack_objects(self, stack_id: str) -> None:
        """Mark all objects of a stack, also those created later, as owned by no stack."""
        self._abandoned_stack_ids.add(stack_id)
        for each in self.objects.values():
            if each.stack_id == stack_id:
                each.stack_id = ""
        for snapshot in self.snapshots.values():
            if snapshot.stack_id == stack_id:
                snapshot.stack_id = ""

    def mark_state_unknown(self, cloud_object: CloudObject) -> None:
        """Note that an object may differ from what its new owner's rows record."""
        cloud_object.changed_externally = cloud_object.state_unknown = True

    def assign_owner(self, object_id: str | None, stack_id: str, resource_id: str) -> None:
        """Give an object without owner, or reserved for one, to the resource adopting it."""
        if self._take_over(object_id, stack_id, resource_id):
            self._reserved_ids.discard(object_id or "")

    def reserve_for_owner(self, object_id: str | None, stack_id: str, resource_id: str) -> None:
        """Give an object to the parent resource of the nested stack that will adopt it."""
        if self._take_over(object_id, stack_id, resource_id):
            self._reserved_ids.add(object_id or "")

    def _take_over(self, object_id: str | None, stack_id: str, resource_id: str) -> bool:
        found = self.objects.get(object_id or "")
        if found is None or (found.stack_id and found.id not in self._reserved_ids):
            return False
        found.stack_id, found.resource_id = stack_id, resource_id
        return True

    # -- for the invariant checker

    def inventory(self) -> dict[str, ActualResource]:
        """Return every object that ever existed, by id."""
        now_s = self._elapsed_s()
        return {each.id: self._describe(each, now_s) for each in self.objects.values()}

    def _describe(self, each: CloudObject, now_s: float) -> ActualResource:
        """Return the object as the rules see it, anew only if anything has changed."""
        exists = now_s < each.deleted_at_s
        ready = now_s >= each.ready_at_s and not each.in_error
        owner = (each.stack_id, each.resource_id)
        level = self._reached_level(each)
        flags = (exists, ready, each.suspended, each.changed_externally, each.state_unknown, level)
        state = (owner, flags, each.properties)
        known = self._described.get(each.id)
        if known is not None and known[0] == state:
            return known[1]
        described = ActualResource(
            id=each.id,
            name=each.name,
            type=each.type,
            stack_id=each.stack_id,
            resource_id=each.resource_id,
            properties=each.properties,
            used_ids=each.referenced_ids(),
            exists=exists,
            ready=ready,
            suspended=each.suspended,
            changed_externally=each.changed_externally,
            level=level,
        )
        self._described[each.id] = (state, described)
        return described
