"""The table of stored plans.

Used through ``tables``, so that whoever knows one table knows all of them.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, String, Table

from heat_convergence.convergence.plans.stored_plan import PlanAction
from heat_convergence.db.column_types import EnumText, JsonText, UtcTime
from heat_convergence.db.schema import ID, TABLE_OPTIONS, metadata

# No foreign key points at the stack: that of a plan to create one does not exist yet.
stack_plan = Table(
    "stack_plan",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False),
    Column("stack_name", String(255), nullable=False),
    Column("project_id", String(64), nullable=False),
    Column("action", EnumText(PlanAction), nullable=False),
    Column("username", String(255)),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime, nullable=False, index=True),
    Column("stack_version", Integer, nullable=False),
    Column("executed_at", UtcTime),
    Column("summary", JsonText, nullable=False),
    Column("document", JsonText, nullable=False),
    Column("request", JsonText, nullable=False),
    Column("state", JsonText, nullable=False),
    Index("ix_stack_plan_stack_id", "stack_id"),
    Index("ix_stack_plan_project_id_id", "project_id", "id"),
    **TABLE_OPTIONS,
)
