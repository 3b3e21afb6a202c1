"""The values that a resource type's verbs receive and return.

Made by ``resource_context`` for a verb, and by the verb for its caller; they decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from random import Random
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import TemporaryFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.scaling_adjustment import ScalingAdjustment
from heat_convergence.resources.protocol.stack_source import NO_STACK_SOURCE, StackSource
from heat_convergence.template.environment.readiness import ReadinessLevel

Json = Any
REOBSERVE_AFTER_S = 5.0  # when an observation has shown nothing
UNHEALTHY = "waiting to become healthy"
CloudFactory = Callable[[str], Any]  # id of a stack tree → what its types see as the cloud


def no_cloud(tree_id: str) -> None:
    """Return no cloud: the ``CloudFactory`` of a process that runs without one."""


@dataclass(frozen=True)
class ResourceContext:
    """All that a verb may know about its resource.

    Attributes:
        properties: Resolved properties with defaults; on update and delete, those recorded last.
        started_at: The time at which the current action started.
        metadata: The resource's metadata, for verbs that create or change it.
        resource_snapshot_name: The name to save a snapshot under: the same at every attempt of
            one
        snapshot, and unique to it.
        cloud: A ``clients.clouds.StackCloud``, for types that reach a service.
        dependencies: Resources that this one refers to, by name, for types that set
        ``observes_dependencies``.
        predecessors: Physical ids of other incarnations that are being deleted, for types that
            set
        ``releases_identity``: create and update take from them what only one can have.
        stack_source: For types that set ``stack_source_property``.
    """

    stack_id: str
    stack_name: str
    project_id: str
    resource_id: str
    name: str
    type: str
    physical_name: str
    physical_id: str | None
    properties: Mapping[str, Json]
    attributes: Mapping[str, Json]
    data: Mapping[str, Json]
    action: Action
    started_at: datetime
    now: datetime
    timeout_s: float | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    resource_snapshot_name: str = ""
    cloud: Any = None
    dependencies: Mapping[str, ResourceContext] = field(default_factory=dict)
    predecessors: tuple[str, ...] = ()
    stack_source: StackSource = NO_STACK_SOURCE

    @cached_property
    def random(self) -> Random:
        """Seeded by the resource's id and action: a repeated verb draws the same numbers."""
        seed = f"{self.resource_id} {self.action}"
        return Random(seed)  # nosec B311  # jitter, never a secret


@dataclass(frozen=True, slots=True)
class VerbResult:
    """The observed state of a physical resource after a verb.

    Attributes:
        attributes: None leaves the recorded attributes unchanged.
        data: None leaves the recorded data unchanged.
        poll_after_s: Seconds until a BUSY resource is observed again; None waits for the end of
            its
        nested stack.
        poll_grid_s: Seconds of a grid: a BUSY resource is observed at the first of its times after
            ``poll_after_s``, together with others of its type; None for no grid.
        retry_with_new_incarnation: True when a new resource is FAILED and another one may become
            ready: it is deleted and created anew, up to ``action_retry_limit`` times.
        level: The readiness level of a READY or BUSY resource; None where the type does not say:
            a READY one is healthy then.
        error_name: The error class of the failure; empty for that of the observed state.
        data_resets: Data of other resources, by resource id, which a successful delete resets;
            they
        are written in the transaction that completes it, or not at all.
    """

    observed: ObservedState
    physical_id: str | None = None
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    reason: str = ""
    poll_after_s: float | None = 1.0
    poll_grid_s: float | None = None
    retry_with_new_incarnation: bool = False
    error_name: str = ""
    data_resets: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    level: ReadinessLevel | None = None

    @property
    def failure_type(self) -> str:
        """The error class that a status reason shows for the failure."""
        is_missing = self.observed is ObservedState.ABSENT
        return self.error_name or ("NotFound" if is_missing else "ResourceInError")

    @property
    def next_step_after_s(self) -> float:
        """The seconds after which another step of the same job follows, 0 if nothing is said."""
        return max(self.poll_after_s or 0.0, self.poll_grid_s or 0.0)

    @property
    def is_healthy(self) -> bool:
        """True if the resource is READY and its type calls it healthy."""
        ready = self.observed is ObservedState.READY
        return ready and self.level in (None, ReadinessLevel.HEALTHY)

    @property
    def reached_level(self) -> ReadinessLevel | None:
        """The level that the resource has certainly reached, None if nothing is known."""
        if self.observed is ObservedState.READY:
            return ReadinessLevel.HEALTHY if self.is_healthy else ReadinessLevel.ACTIVE
        if self.observed is not ObservedState.BUSY or self.level is None:
            return None
        return min(self.level, ReadinessLevel.CONFIGURED, key=lambda level: level.rank)

    def as_demanded(self, demands_health: bool) -> VerbResult:
        """Return the result as it counts for a job: READY only if it is all that is demanded."""
        if not demands_health or self.observed is not ObservedState.READY or self.is_healthy:
            return self
        return replace(
            self,
            observed=ObservedState.BUSY,
            reason=self.reason or UNHEALTHY,
            poll_after_s=self.poll_after_s or REOBSERVE_AFTER_S,
        )

    @classmethod
    def from_error(cls, error: Error) -> VerbResult:
        """Return the FAILED result of a verb that raised a permanent error."""
        return cls(ObservedState.FAILED, reason=str(error), error_name=error.shown_type)

    @classmethod
    def undecided(cls, error: Error) -> VerbResult:
        """Return the BUSY result of an observation that raised an error of the moment."""
        requested_s = error.retry_after_s if isinstance(error, TemporaryFailure) else None
        return cls(ObservedState.BUSY, poll_after_s=max(requested_s or 0.0, REOBSERVE_AFTER_S))


NOT_CREATED = VerbResult(  # of a check
    ObservedState.FAILED, reason="Resource not created", error_name="Exception"
)


@dataclass(frozen=True, slots=True)
class SignalResult:
    """The effect of a signal on a resource.

    Attributes:
        reason: The reason that the event shows; None derives it from the signal.
        data: None leaves the recorded data unchanged.
        scaling_adjustment: The requested change of the group that ``scaled_group_id`` names.
    """

    reason: str | None = None
    data: Mapping[str, Json] | None = None
    scaling_adjustment: ScalingAdjustment | None = None


class NeedsReplacement(Exception):
    """Raised by ``update`` when only a new incarnation can have these properties."""
