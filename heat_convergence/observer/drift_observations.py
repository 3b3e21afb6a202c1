"""One read of a watch group, and the observations that follow from it.

Called by ``drift_watch`` outside any transaction, perhaps in a thread of its own. Decides the
drift status of each resource; changes nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.common.stored_values import UnreadableValue
from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    MassLossBreaker,
    ResourceObservation,
    WatchedResource,
    WatchGroup,
)
from heat_convergence.convergence.drift.policy import ResourcePolicy
from heat_convergence.convergence.drift.settings import MassLossLimits
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.resources.redaction import redact_secrets
from heat_convergence.template.environment.drift_policies import DriftPolicy

Json = Any
_UNREAD = "it is missing in the service's list, and was not read alone yet"


@dataclass(frozen=True, slots=True)
class WatchMember:
    """A resource of a group that is being read."""

    watched: WatchedResource
    context: ResourceContext
    policy: ResourcePolicy = field(default_factory=ResourcePolicy)


@dataclass(frozen=True, slots=True)
class RegionLoss:
    """The missing resources of a group in one region, too many to be believed."""

    region: str
    lost: int
    total: int

    def open_breaker(self, breaker_id: str, group: WatchGroup, since: datetime) -> MassLossBreaker:
        """Return a new breaker of the group in this region."""
        return MassLossBreaker(
            id=breaker_id,
            project_id=group.project_id,
            implementation=group.implementation,
            region=self.region,
            lost=self.lost,
            total=self.total,
            since=since,
        )


@dataclass(frozen=True, slots=True)
class LossRule:
    """The rule about missing resources of a group.

    Attributes:
        limits: The numbers that are too many.
        breakers: The open breakers by region.
    """

    limits: MassLossLimits = field(default_factory=MassLossLimits)
    breakers: Mapping[str, MassLossBreaker] = field(default_factory=dict)

    def find_loss(self, region: str, lost: int, total: int) -> RegionLoss | None:
        """Return the loss of a region, None if it is to be believed.

        RULE 10: fewer missing resources than before are no proof that the others are back: users
        may have replaced some, or deleted their stacks, and those of a stack that is in progress
        are not read. A loss that was not confirmed is over when nothing is missing any more.
        """
        if self.limits.exceeded_by(lost, total):
            return RegionLoss(region, lost, total)
        known = self.breakers.get(region)
        if known is None or not lost:
            return None
        if known.confirmed and total >= known.total:
            return None
        return RegionLoss(region, known.lost, known.total)

    def is_confirmed(self, region: str) -> bool:
        """Return whether a user has confirmed the loss of a region."""
        known = self.breakers.get(region)
        return known is not None and known.confirmed


@dataclass(frozen=True, slots=True)
class WatchRead:
    """The result of one read of a group's resources.

    Attributes:
        changed: Observations that differ from the recorded ones.
        reason: Why resources could not be read; empty if all were.
        losses: Losses that are too large, confirmed or not.
        unread_regions: Regions that could not be read.
    """

    changed: tuple[ResourceObservation, ...] = ()
    reason: str = ""
    losses: tuple[RegionLoss, ...] = ()
    unread_regions: frozenset[str] = frozenset()


def read_group(
    resource_type: ResourceType,
    members: Sequence[WatchMember],
    now: datetime,
    errors: ErrorLog,
    loss_rule: LossRule,
) -> WatchRead:
    """Read the resources of a group, each region's together."""
    boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors)
    regions: dict[str, list[WatchMember]] = {}
    found: list[ResourceObservation] = []
    for member in members:
        damage = _damage(member.context)
        if damage is not None:  # a type that came upon it would read none of the others
            unknown = _new_observation(member, now, DriftStatus.UNKNOWN)
            found.append(replace(unknown, reason=damage.description))
            continue
        # RULE 11: a stack whose credential cannot be read stops the reads of no other one.
        region = boundary.fail_resource(
            partial(_region_of, member), lambda failure: failure, _subject_of(member)
        )
        if isinstance(region, ResourceFailure):
            unknown = _new_observation(member, now, DriftStatus.UNKNOWN)
            found.append(replace(unknown, reason=region.message))
            continue
        regions.setdefault(region, []).append(member)
    reasons: dict[str, str] = {}
    losses: list[RegionLoss] = []
    for region, some in sorted(regions.items()):
        read = _read_region(resource_type, some, boundary)
        if isinstance(read, str):
            reasons[region] = read
            continue
        compare = partial(_observe, resource_type, boundary, now)
        observed = [compare(member, read.get(member.watched.row.id)) for member in some]
        lost = sum(map(_is_lost, observed))
        loss = loss_rule.find_loss(region, lost, len(observed))
        if loss is not None:
            losses.append(loss)
            if not loss_rule.is_confirmed(region):
                observed = _distrust(observed, lost)
        found += observed
    changed = tuple(_changed(found, members))
    return WatchRead(changed, "; ".join(reasons.values()), tuple(losses), frozenset(reasons))


def _region_of(member: WatchMember) -> str | ResourceFailure:
    return str(getattr(member.context.cloud, "call_region", ""))


def _subject_of(member: WatchMember) -> ErrorSubject:
    row = member.watched.row
    return ErrorSubject(row.stack_id, row.name)


def _damage(context: ResourceContext) -> UnreadableValue | None:
    """Return a stored map of the resource that cannot be decoded."""
    maps: tuple[object, ...] = (context.properties, context.attributes, context.data)
    return next((each for each in maps if isinstance(each, UnreadableValue)), None)


def _read_region(
    resource_type: ResourceType, members: Sequence[WatchMember], boundary: ErrorBoundary
) -> Mapping[str, VerbResult] | str:
    """Return the results by resource id, or the reason why there are none."""

    def read() -> Mapping[str, VerbResult] | str:
        if not isinstance(resource_type, Watchable):
            return {}
        try:
            return resource_type.read_many([member.context for member in members])
        except Error as error:
            return f"{type(error).__name__}: {error.message}"

    # RULE 11: third-party code may raise anything; the other groups are read.
    return boundary.fail_resource(read, lambda failure: failure.message)


def _observe(
    resource_type: ResourceType,
    boundary: ErrorBoundary,
    now: datetime,
    member: WatchMember,
    result: VerbResult | None,
) -> ResourceObservation:
    row = member.watched.row
    unknown = _new_observation(member, now, DriftStatus.UNKNOWN)

    def observe() -> ResourceObservation:
        if result is None:
            return _recorded_loss(member) or replace(unknown, reason=_UNREAD)
        if result.observed is ObservedState.ABSENT:
            return replace(unknown, status=DriftStatus.DELETED)
        if result.observed is ObservedState.FAILED:
            reason = redact_secrets(result.reason, row, resource_type)
            return replace(unknown, status=DriftStatus.ERROR, reason=reason)
        if result.observed is not ObservedState.READY or not isinstance(resource_type, Watchable):
            return member.watched.recorded or unknown  # its service is working on it
        return _compare(resource_type, member, result, unknown)

    def fail(failure: ResourceFailure) -> ResourceObservation:
        return replace(unknown, reason=failure.message)

    def observe_safely() -> ResourceObservation:
        try:
            return observe()
        except Error as error:
            return replace(unknown, reason=redact_secrets(error.message, row, resource_type))

    return boundary.fail_resource(observe_safely, fail, _subject_of(member))


def _recorded_loss(member: WatchMember) -> ResourceObservation | None:
    """Return the recorded observation of a resource that was read alone before, and missing.

    A read of a group reads only some of the missing resources alone. What the list lacks again
    stays lost; as unknown it would never be missing in two reads, and so never be repaired.
    """
    recorded = member.watched.recorded
    if recorded is None or recorded.status is not DriftStatus.DELETED:
        return None
    is_current = recorded.resource_updated_at == member.watched.row.state.updated_at
    return recorded if is_current else None


def _compare(
    resource_type: Watchable,
    member: WatchMember,
    result: VerbResult,
    unknown: ResourceObservation,
) -> ResourceObservation:
    """Compare the properties; keep the result of an equal reading without comparing again."""
    policy = member.policy
    values = {
        name: value
        for name, value in resource_type.comparable_values(member.context, result).items()
        if policy.of_property(name) is not DriftPolicy.IGNORE
    }
    values_hash = properties_hash(values)
    recorded = member.watched.recorded
    if (
        recorded is not None
        and recorded.status in (DriftStatus.IN_SYNC, DriftStatus.MODIFIED)
        and recorded.values_hash == values_hash
        and recorded.resource_updated_at == unknown.resource_updated_at
    ):
        names = [str(each["property"]) for each in recorded.properties]
        return replace(recorded, policy=policy.of_difference(names))
    drifts = resource_type.compare(member.context, values)
    return replace(
        unknown,
        policy=policy.of_difference([drift.name for drift in drifts]),
        status=DriftStatus.MODIFIED if drifts else DriftStatus.IN_SYNC,
        properties=tuple(drift.as_document() for drift in drifts),
        values_hash=values_hash,
    )


def _new_observation(
    member: WatchMember, now: datetime, status: DriftStatus
) -> ResourceObservation:
    row = member.watched.row
    return ResourceObservation(
        resource_id=row.id,
        stack_id=row.stack_id,
        project_id=row.identity.project_id,
        implementation=row.desired.implementation,
        status=status,
        since=now,
        observed_at=now,
        resource_updated_at=row.state.updated_at,
        sensitive=row.desired.sensitive,
        policy=member.policy.of_resource,
    )


def _is_lost(observation: ResourceObservation) -> bool:
    """Return whether a resource is missing in the list, read alone or not."""
    unread = observation.status is DriftStatus.UNKNOWN and observation.reason == _UNREAD
    return unread or observation.status is DriftStatus.DELETED


def _distrust(found: Sequence[ResourceObservation], lost: int) -> list[ResourceObservation]:
    """Return the observations, with UNKNOWN for what is missing.

    RULE 10: a mass disappearance is a suspect observation first: an unreachable cell, a wrong
    project, or a service that has lost its database.
    """
    reason = f"{lost} of {len(found)} resources of the type are missing at once"
    return [
        replace(each, status=DriftStatus.UNKNOWN, reason=reason) if _is_lost(each) else each
        for each in found
    ]


def _changed(
    found: Sequence[ResourceObservation], members: Sequence[WatchMember]
) -> list[ResourceObservation]:
    """Return the observations that say something else than the recorded ones."""
    recorded = {member.watched.row.id: member.watched.recorded for member in members}
    changed = []
    for each in found:
        before = recorded[each.resource_id]
        if each.shows_same_as(before):
            continue
        if before is not None and before.status is each.status:
            each = replace(each, since=before.since)
        changed.append(each)
    return changed
