"""One read of a watch group, and the observations that follow from it.

Called by ``drift_watch`` outside any transaction, perhaps in a thread of its own. Decides the
drift status of each resource; changes nothing anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import Error, ResourceFailure
from heat_convergence.convergence.drift.observation import (
    DriftStatus,
    ResourceObservation,
    WatchedResource,
)
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.watchable import Watchable
from heat_convergence.resources.redaction import redact_secrets

Json = Any
MASS_LOSS_COUNT = 10  # so many missing resources of a group are too many to be believed …
MASS_LOSS_SHARE = 0.2  # … if they are this part of it
_UNREAD = "it is missing in the service's list, and was not read alone yet"


@dataclass(frozen=True, slots=True)
class WatchMember:
    """A resource of a group that is being read."""

    watched: WatchedResource
    context: ResourceContext


@dataclass(frozen=True, slots=True)
class WatchRead:
    """The result of one read of a group's resources.

    Attributes:
        changed: Observations that differ from the recorded ones.
        reason: Why resources could not be read; empty if all were.
    """

    changed: tuple[ResourceObservation, ...] = ()
    reason: str = ""


def read_group(
    resource_type: ResourceType,
    members: Sequence[WatchMember],
    now: datetime,
    errors: ErrorLog,
) -> WatchRead:
    """Read the resources of a group, each region's together."""
    boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors)
    regions: dict[str, list[WatchMember]] = {}
    for member in members:
        region = str(getattr(member.context.cloud, "call_region", ""))
        regions.setdefault(region, []).append(member)
    found: list[ResourceObservation] = []
    reasons: list[str] = []
    for _, some in sorted(regions.items()):
        read = _read_region(resource_type, some, boundary)
        if isinstance(read, str):
            reasons.append(read)
            continue
        compare = partial(_observe, resource_type, boundary, now)
        found += [compare(member, read.get(member.watched.row.id)) for member in some]
    return WatchRead(tuple(_changed(_suspect_mass_loss(found), members)), "; ".join(reasons))


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
            return replace(unknown, reason=_UNREAD)
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

    return boundary.fail_resource(observe_safely, fail, ErrorSubject(row.stack_id, row.name))


def _compare(
    resource_type: Watchable,
    member: WatchMember,
    result: VerbResult,
    unknown: ResourceObservation,
) -> ResourceObservation:
    """Compare the properties; keep the result of an equal reading without comparing again."""
    values = resource_type.comparable_values(member.context, result)
    values_hash = properties_hash(values)
    recorded = member.watched.recorded
    if (
        recorded is not None
        and recorded.status in (DriftStatus.IN_SYNC, DriftStatus.MODIFIED)
        and recorded.values_hash == values_hash
        and recorded.resource_updated_at == unknown.resource_updated_at
    ):
        return recorded
    drifts = resource_type.compare(member.context, values)
    return replace(
        unknown,
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
    )


def _suspect_mass_loss(
    found: Sequence[ResourceObservation],
) -> Sequence[ResourceObservation]:
    """Return the observations, with UNKNOWN for what is missing if that is too much at once.

    RULE 10: a mass disappearance is a suspect observation first: an unreachable cell, a wrong
    project, or a service that has lost its database.
    """
    missing = sum(each.status is DriftStatus.DELETED for each in found)
    unread = sum(each.status is DriftStatus.UNKNOWN and each.reason == _UNREAD for each in found)
    lost = missing + unread
    if lost < MASS_LOSS_COUNT or lost < MASS_LOSS_SHARE * len(found):
        return found
    reason = f"{lost} of {len(found)} resources of the type are missing at once"
    return [
        replace(each, status=DriftStatus.UNKNOWN, reason=reason)
        if each.status is DriftStatus.DELETED
        or (each.status is DriftStatus.UNKNOWN and each.reason == _UNREAD)
        else each
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
