"""Rows with sensible values, for tests that concern one or two columns.

Used by tests of stores and of the core.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import (
    DesiredDefinition,
    Resource,
    ResourceIdentity,
    ResourceJob,
)
from heat_convergence.convergence.model.resource_columns import with_values
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.quarantine.entry import QuarantineEntry

START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def time_at(seconds: float) -> datetime:
    """Return the time so many seconds after ``START_TIME``."""
    return START_TIME + timedelta(seconds=seconds)


def stack_row(stack_id: str = "stack-1", **values: Any) -> Stack:
    """Return a stack that is being created."""
    defaults: dict[str, Any] = {
        "id": stack_id,
        "name": stack_id,
        "project_id": "project-1",
        "version": 1,
        "action": Action.CREATE,
        "status": Status.IN_PROGRESS,
        "status_reason": "Stack CREATE started",
        "goal_id": f"goal-of-{stack_id}",
        "created_at": START_TIME,
        "started_at": START_TIME,
    }
    return Stack(**{**defaults, **values})


def goal_row(goal_id: str = "goal-1", **values: Any) -> Goal:
    """Return a goal without parameters."""
    defaults: dict[str, Any] = {
        "id": goal_id,
        "stack_id": "stack-1",
        "version": 1,
        "template_hash": "0" * 64,
        "environment": {},
        "files": {},
        "parameters": {},
        "outputs": {},
        "description": "",
        "created_at": START_TIME,
    }
    return Goal(**{**defaults, **values})


def resource_row(resource_id: str, **columns: Any) -> Resource:
    """Return a resource whose creation waits for its requirements."""
    row = Resource(
        ResourceIdentity(
            id=resource_id,
            stack_id="stack-1",
            name=resource_id,
            type="Sim::Resource",
            physical_name=f"stack-1-{resource_id}",
            created_at=START_TIME,
        ),
        DesiredDefinition(
            state=DesiredState.PRESENT,
            implementation="Sim::Resource",
            definition={"type": "Sim::Resource"},
            definition_hash=f"hash-of-{resource_id}",
        ),
        ResourceJob(1, Verb.CONVERGE, JobState.BLOCKED),
    )
    return with_values(row, columns)


def changed_row(row: Resource, **columns: Any) -> Resource:
    """Return the resource with other values in these columns."""
    return with_values(row, columns)


def event_row(event_id: str, **values: Any) -> Event:
    """Return an event of a resource that has been created."""
    defaults: dict[str, Any] = {
        "id": event_id,
        "stack_id": "stack-1",
        "resource_name": "a",
        "resource_type": "Sim::Resource",
        "physical_id": None,
        "action": Action.CREATE,
        "status": Status.COMPLETE,
        "reason": "state changed",
        "created_at": START_TIME,
    }
    return Event(**{**defaults, **values})


def snapshot_row(snapshot_id: str = "snapshot-1", **values: Any) -> Snapshot:
    """Return a snapshot that has been taken, without data."""
    defaults: dict[str, Any] = {
        "id": snapshot_id,
        "stack_id": "stack-1",
        "project_id": "project-1",
        "name": None,
        "version": 1,
        "action": Action.CREATE,
        "status": Status.COMPLETE,
        "status_reason": "",
        "goal_id": "goal-1",
        "created_at": START_TIME,
    }
    return Snapshot(**{**defaults, **values})


def quarantine_entry(resource_id: str = "a", **values: Any) -> QuarantineEntry:
    """Return a quarantined resource whose stack is still being deleted."""
    defaults: dict[str, Any] = {
        "resource_id": resource_id,
        "stack_id": "stack-1",
        "root_id": "stack-1",
        "project_id": "project-1",
        "stack_name": "red",
        "resource_name": resource_id,
        "resource_type": "Sim::Resource",
        "physical_id": f"p-{resource_id}",
        "reason": "it is in use",
        "since": START_TIME,
    }
    return QuarantineEntry(**{**defaults, **values})


def service_row(service_id: str = "service-1", **values: Any) -> ServiceRecord:
    """Return a worker process of an engine."""
    defaults: dict[str, Any] = {
        "id": service_id,
        "binary": "heat-convergence-engine",
        "hostname": "host-1",
        "host": "host-1",
        "topic": "engine",
        "report_interval_s": 10,
        "created_at": START_TIME,
        "version": "0.1.0",
    }
    return ServiceRecord(**{**defaults, **values})
