"""Rows with sensible values, for tests that care about one or two columns.

Used by tests of stores and of the core.  Decides no behaviour.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.service_record import ServiceRecord
from heat_convergence.convergence.model.stack import Stack

START_TIME = datetime(2026, 1, 1, tzinfo=UTC)


def time_at(seconds: float) -> datetime:
    """A time so many seconds after the start of the test's world."""
    return START_TIME + timedelta(seconds=seconds)


def stack_row(stack_id: str = "stack-1", **values: Any) -> Stack:
    """A stack that is being created."""
    given: dict[str, Any] = {
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
    return Stack(**{**given, **values})


def goal_row(goal_id: str = "goal-1", **values: Any) -> Goal:
    given: dict[str, Any] = {
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
    return Goal(**{**given, **values})


def resource_row(resource_id: str, **values: Any) -> Resource:
    """A resource whose create waits for what it needs."""
    given: dict[str, Any] = {
        "id": resource_id,
        "stack_id": "stack-1",
        "name": resource_id,
        "type": "Sim::Thing",
        "implementation": "Sim::Thing",
        "version": 1,
        "desired": DesiredState.PRESENT,
        "definition": {"type": "Sim::Thing"},
        "definition_hash": f"hash-of-{resource_id}",
        "physical_name": f"stack-1-{resource_id}",
        "created_at": START_TIME,
        "job": Verb.CONVERGE,
        "job_state": JobState.BLOCKED,
    }
    return Resource(**{**given, **values})


def event_row(event_id: str, **values: Any) -> Event:
    given: dict[str, Any] = {
        "id": event_id,
        "stack_id": "stack-1",
        "resource_name": "a",
        "resource_type": "Sim::Thing",
        "physical_id": None,
        "action": Action.CREATE,
        "status": Status.COMPLETE,
        "reason": "state changed",
        "created_at": START_TIME,
    }
    return Event(**{**given, **values})


def service_row(service_id: str = "service-1", **values: Any) -> ServiceRecord:
    given: dict[str, Any] = {
        "id": service_id,
        "binary": "heat-convergence-engine",
        "hostname": "host-1",
        "host": "host-1",
        "topic": "engine",
        "report_interval_s": 10,
        "created_at": START_TIME,
    }
    return ServiceRecord(**{**given, **values})
