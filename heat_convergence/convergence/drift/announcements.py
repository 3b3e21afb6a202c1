"""Announcements of drift, repairs and mass losses, as other services receive them.

Made by the observer and published by ``rpc.notifications``; neither knows the other. A body has
no values of properties: they may be secrets of the project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from heat_convergence.convergence.drift.observation import (
    DRIFTED,
    DriftStatus,
    MassLossBreaker,
    ResourceObservation,
    WatchedResource,
)
from heat_convergence.convergence.drift.repair_budget import (
    RepairCandidate,
    RepairOutcome,
    ResourceRepair,
)
from heat_convergence.convergence.drift.repair_end import RepairEnd

Json = Any


@dataclass(frozen=True, slots=True)
class Announcement:
    """A notification of drift.

    Attributes:
        event_type: The event type without the name of the service.
        body: The payload.
    """

    event_type: str
    body: Mapping[str, Json]


Announce = Callable[[Sequence[Announcement]], None]
"""Function that sends announcements; it does not raise."""


def announce_nothing(_announcements: Sequence[Announcement]) -> None:
    """Send nothing."""


def announce_observation(
    watched: WatchedResource, observation: ResourceObservation
) -> Announcement | None:
    """Return the announcement of a resource that has drifted, or is as it was applied again.

    Args:
        watched: The resource, with what was recorded before.
        observation: What was observed now, which differs from that.
    """
    before = DriftStatus.NOT_CHECKED if watched.recorded is None else watched.recorded.status
    if observation.status in DRIFTED:
        event_type = "drift.detected"
    elif observation.status is DriftStatus.IN_SYNC and before in DRIFTED:
        event_type = "drift.resolved"
    else:
        return None
    row, stack = watched.row, watched.stack
    body = {
        "tenant_id": observation.project_id,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "resource_name": row.name,
        "resource_type": row.identity.type,
        "physical_resource_id": row.physical.id or "",
        "drift_status": str(observation.status),
        "drift_reason": observation.reason,
        "properties": [str(each["property"]) for each in observation.properties],
        "observation_source": str(observation.source),
        "observed_at": observation.observed_at.isoformat(),
    }
    return Announcement(event_type, body)


def announce_repair(granted: Sequence[RepairCandidate]) -> Announcement:
    """Return the announcement that the repair of resources of one stack has started."""
    resources = [
        {"resource_name": each.resource_name, "drift_status": str(each.status)} for each in granted
    ]
    body = {
        "tenant_id": granted[0].project_id,
        "stack_identity": granted[0].stack_id,
        "stack_version": granted[0].stack_version + 1,
        "resources": resources,
    }
    return Announcement("repair.start", body)


def announce_repair_end(ends: Sequence[RepairEnd]) -> list[Announcement]:
    """Return the announcements that repairs of a project have ended, one for each stack.

    Args:
        ends: The ends, by stack.
    """
    return [
        _announce_end(list(some))
        for _stack, some in groupby(
            ends, key=lambda each: (each.repair.stack_id, each.repair.version)
        )
    ]


def _announce_end(ends: Sequence[RepairEnd]) -> Announcement:
    repair = ends[0].repair
    has_failed = any(each.outcome is RepairOutcome.FAILED for each in ends)
    body = {
        "tenant_id": repair.project_id,
        "stack_identity": repair.stack_id,
        "stack_version": repair.version,
        "resources": [
            {
                "resource_name": each.repair.resource_name,
                "repair_outcome": str(each.outcome),
                "tries": each.repair.tries,
            }
            for each in ends
        ],
    }
    return Announcement("repair.error" if has_failed else "repair.end", body)


def announce_suspended_repairs(suspended: Sequence[ResourceRepair]) -> list[Announcement]:
    """Return the announcements that repairs are suspended, one for each stack.

    Args:
        suspended: The rows of one project, by stack.
    """
    by_stack = groupby(suspended, key=lambda each: each.stack_id)
    return [_announce_suspension(list(rows)) for _stack, rows in by_stack]


def _announce_suspension(rows: Sequence[ResourceRepair]) -> Announcement:
    body = {
        "tenant_id": rows[0].project_id,
        "stack_identity": rows[0].stack_id,
        "resources": [
            {
                "resource_name": each.resource_name,
                "tries": each.tries,
                "repair_reason": each.reason,
            }
            for each in rows
        ],
    }
    return Announcement("repair.suspended", body)


def announce_breaker(breaker: MassLossBreaker, *, is_open: bool) -> Announcement:
    """Return the announcement that a mass loss is suspected, or over."""
    body = {
        "tenant_id": breaker.project_id,
        "resource_type": breaker.implementation,
        "region": breaker.region,
        "lost": breaker.lost,
        "total": breaker.total,
        "since": breaker.since.isoformat(),
    }
    return Announcement(f"drift.mass_loss.{'start' if is_open else 'end'}", body)
