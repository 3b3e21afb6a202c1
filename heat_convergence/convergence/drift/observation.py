"""Observations of resources whose stack is complete, as nouns.

A ``ResourceObservation`` is written when it differs from the one before; that a
resource was seen again unchanged is known from the time of its ``WatchGroup``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypedDict

from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow

Json = Any


class DriftStatus(StrEnum):
    """The difference between a physical resource and the properties applied last."""

    IN_SYNC = "IN_SYNC"
    MODIFIED = "MODIFIED"  # properties were changed by others
    DELETED = "DELETED"  # the physical resource is missing
    ERROR = "ERROR"  # it exists and its service reports a failure
    UNKNOWN = "UNKNOWN"  # it could not be read
    NOT_CHECKED = "NOT_CHECKED"  # it was not read since the last action on it


DRIFTED = frozenset({DriftStatus.MODIFIED, DriftStatus.DELETED, DriftStatus.ERROR})
"""The states that users must know of."""


class ObservationSource(StrEnum):
    """The way in which the watch learned of a resource's state."""

    NOTIFICATION = "notification"  # a list that a notification of the service has caused
    SWEEP = "sweep"  # a list that shows many resources
    READ = "read"  # a read of the one resource


@dataclass(frozen=True, slots=True)
class PropertyDrift:
    """A property that others have changed.

    Attributes:
        name: The property.
        applied: The value that the service was called with.
        observed: The value that the service shows.
    """

    name: str
    applied: Json
    observed: Json

    def as_document(self) -> dict[str, Json]:
        """Return the JSON form that is stored and shown."""
        return {"property": self.name, "applied": self.applied, "observed": self.observed}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceObservation:
    """The last observation of one resource that differed from the one before.

    Attributes:
        implementation: The resource type of the watch group.
        properties: JSON forms of ``PropertyDrift``, by property.
        values_hash: Hash of the observed values that are compared.
        reason: Why the resource is in error or could not be read; else empty.
        since: When the status was first observed.
        observed_at: When the observation was made.
        resource_updated_at: ``updated_at`` of the resource when it was made; it says nothing
            about a resource that an action has changed since.
        sensitive: Whether the properties have secrets and are encrypted at rest.
        policy: The policy of the difference; None in rows of an earlier release.
    """

    resource_id: str
    stack_id: str
    project_id: str
    implementation: str
    status: DriftStatus
    properties: tuple[Mapping[str, Json], ...] = ()
    values_hash: str = ""
    reason: str = ""
    source: ObservationSource = ObservationSource.SWEEP
    since: datetime
    observed_at: datetime
    resource_updated_at: datetime | None = None
    sensitive: bool = False
    policy: DriftPolicy | None = None

    def shows_same_as(self, other: ResourceObservation | None) -> bool:
        """Return whether the other one tells users the same, apart from its times."""
        return other is not None and self._content() == other._content()

    def _content(self) -> tuple[Any, ...]:
        return (
            self.stack_id,
            self.status,
            self.values_hash,
            self.properties,
            self.reason,
            self.resource_updated_at,
            self.policy,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StackDriftControl:
    """The control of a stack's drift, as a user has set it.

    Attributes:
        policy: The policy of the stack's resources and of those below a root stack; None for
            that of their types.
        paused: Whether the service repairs nothing.
        repair_window: The window of repairs of the stack and of those below a root stack; None
            for the operator's.
    """

    stack_id: str
    policy: DriftPolicy | None = None
    paused: bool = False
    repair_window: RepairWindow | None = None


class ControlValues(TypedDict, total=False):
    """The fields of a ``StackDriftControl`` that a user changes; the others stay."""

    policy: DriftPolicy | None
    paused: bool
    repair_window: RepairWindow | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MassLossBreaker:
    """A breaker that keeps missing resources from being repaired, because too many are missing.

    RULE 10: they count as unknown until they are back, or until a user confirms that they are
    lost. Without the breaker, the loss was never seen or is over.

    Attributes:
        implementation: The resource type of the watch group.
        region: The region; empty for that of the service.
        lost: The number of resources that were missing in the last read.
        total: The number of resources that should be there.
        since: When so many were first missing.
        confirmed: Whether a user has confirmed the loss.
    """

    id: str
    project_id: str
    implementation: str
    region: str
    lost: int
    total: int
    since: datetime
    confirmed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchGroup:
    """The resources of one type in one project, which are read together.

    Attributes:
        interval_s: Seconds between two reads; it grows while nothing changes.
        next_at: When the group is read next.
        observed_at: Start of the last read that succeeded.
        reason: Why the last read failed; else empty.
    """

    project_id: str
    implementation: str
    interval_s: float
    next_at: datetime
    observed_at: datetime | None = None
    reason: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The project and the resource type."""
        return self.project_id, self.implementation


@dataclass(frozen=True, slots=True)
class ReadPause:
    """The shortest times between two reads of a group that hints cause.

    Attributes:
        known: For hints about a physical resource, or a type of a project.
        any_project: For hints about a type whose project is not known.
    """

    known: timedelta
    any_project: timedelta


@dataclass(frozen=True, slots=True)
class WatchedResource:
    """A resource of a complete stack, with the observation recorded last.

    Attributes:
        stack_policy: The policy that a user has set for the stack or its root.
    """

    row: Resource
    stack: Stack
    recorded: ResourceObservation | None = None
    stack_policy: DriftPolicy | None = None


@dataclass(frozen=True, slots=True)
class WatchedResources:
    """The watched resources of one project and some types.

    Attributes:
        resources: Those that can be read and compared now, by id.
        obsolete: Type → ids of recorded observations whose resources do not exist any more.
        existing: The types of which the project has resources, perhaps with an action under way.
        breakers: The breakers of the types.
        unread: The types of which the project has resources that cannot be read and compared now:
            something acts on them, or their stack is not COMPLETE.
    """

    resources: tuple[WatchedResource, ...]
    obsolete: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    existing: frozenset[str] = frozenset()
    breakers: tuple[MassLossBreaker, ...] = ()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WatchResult:
    """The result of one read of a watch group.

    Attributes:
        changed: Observations to record, because they differ from the recorded ones.
        obsolete: Ids of recorded observations to delete.
        is_empty: Whether the group has no resource any more.
        open_breakers: Breakers to store; of those that exist only the numbers change, and none
            is opened where another read has opened one, or has found no resource any more.
        closed_breakers: Ids of breakers to delete.
        taken_until: The time until which the group was taken. An earlier time in the row is
            that of a hint, and stays.
    """

    changed: tuple[ResourceObservation, ...] = ()
    obsolete: tuple[str, ...] = ()
    is_empty: bool = False
    open_breakers: tuple[MassLossBreaker, ...] = ()
    closed_breakers: tuple[str, ...] = ()
    taken_until: datetime | None = None
