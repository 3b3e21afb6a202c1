"""The effects that a repair at a user's request would have, from what was observed last.

Called by the API for a dry run. Must read nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from heat_convergence.convergence.drift.observation import DriftStatus
from heat_convergence.convergence.drift.policy import is_restored, select_restorable

Json = Any


class RepairAction(StrEnum):
    """The effect of a repair on a resource."""

    RECREATE = "recreate"  # it is created anew
    RESTORE = "restore"  # its properties are set to the applied values
    UPDATE = "update"  # it refers to a resource that is created anew
    OBSERVE = "observe"  # it is read, and changed if it has drifted since
    FAIL = "fail"  # the environment restricts what would be needed
    NONE = "none"


@dataclass(frozen=True, slots=True)
class RepairableResource:
    """A resource of a stack, with what was observed last.

    Attributes:
        words: The hooks, restrictions and policies that the environment sets for it.
        referenced_names: Names of the resources of the stack whose ids or attributes it uses.
        properties: The properties that differ, as stored.
    """

    stack_id: str
    stack_name: str
    name: str
    type: str
    implementation: str
    physical_id: str
    words: tuple[str, ...] = ()
    referenced_names: frozenset[str] = frozenset()
    status: DriftStatus = DriftStatus.NOT_CHECKED
    observed_at: datetime | None = None
    properties: Sequence[Mapping[str, Json]] = ()
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class PreviewedRepair:
    """The effect of a repair on one resource.

    Attributes:
        properties: The properties that are restored.
        reason: The reason why nothing is done, or why it fails; else empty.
    """

    resource: RepairableResource
    action: RepairAction
    properties: Sequence[Mapping[str, Json]] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TypeTraits:
    """The traits of a resource type that decide how its resources are repaired.

    Attributes:
        restored_in_place: Whether a missing resource is created without a replacement.
        select_restorable: Function of properties that returns those an update can restore.
    """

    restored_in_place: bool = False
    select_restorable: Callable[[Iterable[str]], frozenset[str]] = frozenset


def preview_repairs(
    observed: Iterable[RepairableResource],
    others: Iterable[RepairableResource],
    traits_of: Callable[[str], TypeTraits],
) -> list[PreviewedRepair]:
    """Return the effects of a repair, by stack and name; of other resources only the changes.

    Args:
        observed: the resources that the repair reads.
        others: the other resources of their stacks.
        traits_of: function of the implementation of a resource.
    """
    found: list[PreviewedRepair] = []
    renewed: dict[str, set[str]] = {}  # names of resources with new ids, by stack
    for resource in observed:
        traits = traits_of(resource.implementation)
        previewed = _preview(resource, traits)
        found.append(previewed)
        if previewed.action is RepairAction.RECREATE and not _is_in_place(resource, traits):
            renewed.setdefault(resource.stack_id, set()).add(resource.name)
    for other in others:
        names = other.referenced_names & renewed.get(other.stack_id, set())
        if names:
            reason = f"it refers to {', '.join(sorted(names))}"
            found.append(PreviewedRepair(other, RepairAction.UPDATE, reason=reason))
    return sorted(found, key=lambda each: (each.resource.stack_name, each.resource.name))


def _preview(resource: RepairableResource, traits: TypeTraits) -> PreviewedRepair:
    if not is_restored(resource.words):
        return PreviewedRepair(
            resource, RepairAction.NONE, reason="the environment leaves it alone"
        )
    if resource.status in (DriftStatus.DELETED, DriftStatus.ERROR):
        restricted_action = "update" if _is_in_place(resource, traits) else "replace"
        return _unless_restricted(resource, RepairAction.RECREATE, restricted_action)
    if resource.status is not DriftStatus.MODIFIED:
        return PreviewedRepair(resource, RepairAction.OBSERVE)
    names = [str(each["property"]) for each in resource.properties]
    restored = select_restorable(resource.words, names) & traits.select_restorable(names)
    if not restored:
        reason = f"{', '.join(sorted(names))}: not restored by a repair"
        return PreviewedRepair(resource, RepairAction.NONE, reason=reason)
    properties = [each for each in resource.properties if each["property"] in restored]
    return _unless_restricted(resource, RepairAction.RESTORE, "update", properties)


def _is_in_place(resource: RepairableResource, traits: TypeTraits) -> bool:
    """Return whether a resource that is created anew keeps its id."""
    return traits.restored_in_place and resource.status is DriftStatus.DELETED


def _unless_restricted(
    resource: RepairableResource,
    action: RepairAction,
    restricted_action: str,
    properties: Sequence[Mapping[str, Json]] = (),
) -> PreviewedRepair:
    if restricted_action in resource.words:
        reason = f"the environment restricts {restricted_action}"
        return PreviewedRepair(resource, RepairAction.FAIL, properties, reason)
    return PreviewedRepair(resource, action, properties)
