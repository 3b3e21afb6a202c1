"""The tables of drift: what the watch reads and has seen, and what users have set.

Used through ``tables``, so that whoever knows one table knows all of them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Float, Index, Integer, String, Table
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from heat_convergence.common.stored_values import UnreadableValue
from heat_convergence.convergence.drift.observation import DriftStatus, ObservationSource
from heat_convergence.convergence.drift.repair_budget import RepairOutcome, RepairStatus
from heat_convergence.db.column_types import EnumText, JsonText, NameList, ReasonText, UtcTime
from heat_convergence.db.schema import ID, TABLE_OPTIONS, metadata
from heat_convergence.template.environment.drift_policies import DriftPolicy
from heat_convergence.template.environment.repair_window import RepairWindow, from_text


class RepairWindowText(TypeDecorator[Any]):
    """A repair window as text."""

    impl = String
    cache_ok = True

    def __init__(self) -> None:
        """Store windows of every length that can be one."""
        super().__init__(255)

    def process_bind_param(self, value: RepairWindow | None, dialect: Dialect) -> str | None:
        """Return the text to store."""
        return None if value is None else value.to_text()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Return the window that was stored."""
        try:
            return None if value is None else from_text(value)
        except ValueError as error:
            return UnreadableValue(f"it is no repair window: {error}", value)


# The resources of one type in one project, which the watch reads together.
watch_group = Table(
    "watch_group",
    metadata,
    Column("project_id", String(64), primary_key=True),
    Column("implementation", String(255), primary_key=True),
    Column("interval_s", Float, nullable=False),
    Column("next_at", UtcTime, nullable=False, index=True),
    Column("observed_at", UtcTime),
    Column("reason", ReasonText, nullable=False),
    **TABLE_OPTIONS,
)

# No foreign key points at the resource: the watch deletes rows whose resource is gone.
observation = Table(
    "observation",
    metadata,
    Column("resource_id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False),
    Column("project_id", String(64), nullable=False),
    Column("implementation", String(255), nullable=False),
    Column("status", EnumText(DriftStatus), nullable=False),
    Column("properties", JsonText, nullable=False),
    Column("values_hash", String(64), nullable=False),
    Column("reason", ReasonText, nullable=False),
    Column("source", EnumText(ObservationSource), nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("observed_at", UtcTime, nullable=False),
    Column("resource_updated_at", UtcTime),
    Column("sensitive", Boolean, nullable=False),
    Column("policy", EnumText(DriftPolicy)),  # NULL: a release without policies
    Index("ix_observation_stack_id_status", "stack_id", "status"),
    Index("ix_observation_project_id_implementation", "project_id", "implementation"),
    Index("ix_observation_policy_status", "policy", "status"),
    **TABLE_OPTIONS,
)

# What users have set for the drift of a stack; no row where they have set nothing.
stack_drift = Table(
    "stack_drift",
    metadata,
    Column("stack_id", ID, primary_key=True),
    Column("policy", EnumText(DriftPolicy)),
    Column("paused", Boolean, nullable=False),
    Column("repair_window", RepairWindowText()),
    **TABLE_OPTIONS,
)

# The repairs that the service has started by itself, for each resource that it has repaired. A
# new incarnation of a resource has the same row.
drift_repair = Table(
    "drift_repair",
    metadata,
    Column("stack_id", ID, primary_key=True),
    Column("resource_name", String(255), primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("tries", Integer, nullable=False),
    Column("status", EnumText(RepairStatus), nullable=False),
    Column("reason", ReasonText, nullable=False),
    Column("started_at", UtcTime),
    Column("next_at", UtcTime, nullable=False),
    Column("destructive_at", NameList, nullable=False),  # times in ISO 8601
    Column("version", Integer),  # of the stack; NULL: a release without ends
    Column("ended_at", UtcTime),
    Column("outcome", EnumText(RepairOutcome)),
    Index("ix_drift_repair_project_id", "project_id"),
    **TABLE_OPTIONS,
)

# Breakers that keep missing resources from being repaired; no row while nothing is suspect.
drift_breaker = Table(
    "drift_breaker",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False, index=True),
    Column("implementation", String(255), nullable=False),
    Column("region", String(255), nullable=False),
    Column("lost", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("confirmed", Boolean, nullable=False),
    **TABLE_OPTIONS,
)
