"""The tables, used by the statements of this package and by ``alembic/``.

Ids are time-ordered UUIDs made by the program.  No foreign key points at ``stack`` from
a table that engines write, nor at ``resource`` from the graph: such a key would lock the
row out of the order of locks (see ``convergence.ports.store``), and a transaction that
then writes to the row could deadlock with one that waits for it.

``key`` is a column's name in the code where that of the database stays from an earlier
release, see ``docs/adr/0007-stored-names.rst``.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy import (
    event as sqlalchemy_event,
)
from sqlalchemy.engine import Connection

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.db import drift_tables, plan_tables, schema
from heat_convergence.db.column_types import (
    EncryptedText,
    EnumText,
    JsonText,
    LongText,
    NameList,
    ReasonText,
    UtcTime,
)
from heat_convergence.template.environment.readiness import ReadinessLevel

metadata, ID, TABLE_OPTIONS = schema.metadata, schema.ID, schema.TABLE_OPTIONS

# Defined in ``drift_tables``.
watch_group, observation = drift_tables.watch_group, drift_tables.observation
stack_drift, drift_repair = drift_tables.stack_drift, drift_tables.drift_repair
drift_breaker = drift_tables.drift_breaker

# Defined in ``plan_tables``.
stack_plan = plan_tables.stack_plan

stack = Table(
    "stack",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", String(255), nullable=False),
    # The name of a root stack that is not deleted, else NULL: it makes names unique.
    Column("live_name", String(255)),
    Column("project_id", String(64), nullable=False),
    Column("username", String(255)),
    Column("version", Integer, nullable=False),
    Column("action", EnumText(Action), nullable=False),
    Column("status", EnumText(Status), nullable=False),
    Column("status_reason", ReasonText, nullable=False),
    Column("goal_id", ID, nullable=False),
    Column("complete_goal_id", ID),
    Column("disable_rollback", Boolean, nullable=False),
    Column("timeout_mins", Integer),
    Column("deadline_at", UtcTime),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime),
    Column("deleted_at", UtcTime),
    Column("owner_id", ID),
    Column("owner_resource_id", ID),
    Column("root_id", ID),
    Column("depth", Integer, nullable=False),
    Column("parent_resource", String(255)),
    Column("begun_at", UtcTime, key="started_at"),
    Column("first_cause", ReasonText, key="first_failure_reason"),
    # Changed to lock the row on a Galera cluster, whose nodes do not see each other's locks.
    Column("lock_turn", BigInteger, nullable=False, server_default="0"),
    # Whether its deletion quarantines what it cannot delete.
    Column("quarantines", Boolean, nullable=False, server_default=false()),
    # The stabilization window: its length, whether it is open, since when all are healthy.
    Column("stabilization_s", Integer),
    Column("stabilizing", Boolean, nullable=False, server_default=false()),
    Column("stable_since", UtcTime),
    UniqueConstraint("project_id", "live_name"),
    Index("ix_stack_project_id_created_at", "project_id", "created_at"),
    Index("ix_stack_project_id_begun_at", "project_id", "started_at"),
    Index("ix_stack_name", "name"),
    Index("ix_stack_status_deadline_at", "status", "deadline_at"),
    Index("ix_stack_owner_id", "owner_id"),
    Index("ix_stack_root_id", "root_id"),
    **TABLE_OPTIONS,
)

stack_tag = Table(
    "stack_tag",
    metadata,
    Column("stack_id", ID, ForeignKey("stack.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("tag", String(80), nullable=False),
    Index("ix_stack_tag_tag", "tag"),
    **TABLE_OPTIONS,
)

goal = Table(
    "goal",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("version", Integer, nullable=False),
    Column("template_hash", String(64), nullable=False),
    Column("environment", JsonText, nullable=False),
    Column("files", JsonText, nullable=False),
    Column("parameters", JsonText, nullable=False),
    Column("outputs", JsonText, nullable=False),
    Column("description", LongText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("sensitive", Boolean, nullable=False),
    Column("shared", NameList, nullable=False, key="content_hashes"),
    # The content with the environment and files that a tree's goals have in common.
    Column("inherited", String(64), key="common_part_hash"),
    **TABLE_OPTIONS,
)

snapshot = Table(
    "snapshot",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False),
    Column("project_id", String(64), nullable=False),
    Column("name", String(255)),
    Column("version", Integer, nullable=False),
    Column("action", EnumText(Action), nullable=False),
    Column("status", EnumText(Status), nullable=False),
    Column("status_reason", ReasonText, nullable=False),
    Column("goal_id", ID, nullable=False),
    Column("data", JsonText),
    Column("created_at", UtcTime, nullable=False),
    Column("delete_at", UtcTime, index=True),
    Column("tries", Integer, nullable=False),
    Column("sensitive", Boolean, nullable=False),
    Index("ix_snapshot_stack_id", "stack_id", "id"),
    **TABLE_OPTIONS,
)

# Resources that could not be deleted with their stack; each has its row in ``resource``.
quarantine = Table(
    "quarantine",
    metadata,
    Column("resource_id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False, index=True),
    Column("root_id", ID, nullable=False, index=True),
    Column("project_id", String(64), nullable=False),
    Column("stack_name", String(255), nullable=False),
    Column("resource_name", String(255), nullable=False),
    Column("resource_type", String(255), nullable=False),
    Column("physical_id", Text),
    Column("reason", ReasonText, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("since", UtcTime, nullable=False),
    Column("next_at", UtcTime, index=True),
    Column("taken_until", UtcTime),
    Column("waits_for", NameList, nullable=False),
    Index("ix_quarantine_project_id_resource_id", "project_id", "resource_id"),
    **TABLE_OPTIONS,
)

# The credential with which the service acts for a stack tree.  No key points at the stack:
# the row is inserted before it, and deleted after the credential was revoked.
stack_credential = Table(
    "stack_credential",
    metadata,
    Column("stack_id", ID, primary_key=True),  # of the tree's root
    Column("body", JsonText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    **TABLE_OPTIONS,
)

software_config = Table(
    "software_config",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("name", String(255), nullable=False),
    Column("tool", String(255), nullable=False, key="group"),  # "group" is a word of SQL
    Column("body", JsonText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Index("ix_software_config_project_id_id", "project_id", "id"),
    **TABLE_OPTIONS,
)

software_deployment = Table(
    "software_deployment",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", String(64), nullable=False),
    Column("stack_user_project_id", String(64)),
    Column("server_id", String(255), nullable=False),
    Column("config_id", ID, ForeignKey("software_config.id"), nullable=False),
    Column("action", String(255), nullable=False),
    Column("status", String(255), nullable=False),
    Column("status_reason", ReasonText, nullable=False),
    Column("input_values", JsonText),
    Column("output_values", JsonText),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime),
    Index("ix_software_deployment_project_id_id", "project_id", "id"),
    Index("ix_software_deployment_server_id", "server_id"),
    Index("ix_software_deployment_config_id", "config_id"),
    Index("ix_software_deployment_stack_user_project_id", "stack_user_project_id"),
    **TABLE_OPTIONS,
)

content = Table(
    "content",
    metadata,
    Column("hash", String(64), primary_key=True),  # SHA-256 of the UTF-8 text
    Column("body", EncryptedText, nullable=False),
    # Set while it is being purged; a transaction that needs the text again clears it.
    Column("unused", Boolean, nullable=False, server_default=false()),
    **TABLE_OPTIONS,
)

resource = Table(
    "resource",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, ForeignKey("stack.id"), nullable=False),
    Column("name", String(255), nullable=False),
    Column("type", String(255), nullable=False),
    Column("implementation", String(255), nullable=False),
    Column("version", Integer, nullable=False),
    Column("desired", EnumText(DesiredState), nullable=False),
    Column("definition", JsonText, nullable=False),
    Column("definition_hash", String(64), nullable=False),
    Column("requires", NameList, nullable=False),
    Column("draws_on", NameList, nullable=False, key="referenced_names"),
    Column("holds", NameList, nullable=False, key="physical_dependencies"),
    Column("sensitive", Boolean, nullable=False),
    Column("applied_hash", String(64)),
    Column("paused", Boolean, nullable=False, key="suspended"),
    Column("job", EnumText(Verb)),
    Column("job_state", EnumText(JobState)),
    Column("must_run", Boolean, nullable=False),
    Column("touched_version", Integer),
    Column("posted_at", UtcTime),
    Column("physical_id", Text),
    Column("physical_name", String(255), nullable=False),
    Column("properties", JsonText),
    Column("properties_hash", String(64)),
    Column("attributes", JsonText, nullable=False),
    Column("data", JsonText, nullable=False),
    Column("action", EnumText(Action), nullable=False),
    Column("status", EnumText(Status), nullable=False),
    Column("status_reason", ReasonText, nullable=False),
    Column("action_started_at", UtcTime),
    Column("observed", EnumText(ObservedState)),
    Column("observed_at", UtcTime),
    Column("observe_at", UtcTime, index=True),
    Column("lease_owner", ID, index=True),
    Column("lease_token", ID),
    Column("lease_expires_at", UtcTime),
    Column("replaces", ID),
    Column("replaced_by", ID),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime),
    Column("project_id", String(64), nullable=False),
    Column("root_id", ID, nullable=False),
    Column("guards", NameList, nullable=False, key="hooks_and_restrictions"),
    Column("hook", String(16)),
    # What has happened to the job of the last traversal, as marks: convergence.timeline.marks.
    Column("timeline", Text),
    Index("ix_resource_root_id", "root_id"),
    Index("ix_resource_stack_id_id", "stack_id", "id"),
    Index("ix_resource_stack_id_name", "stack_id", "name"),
    # No index that changes with the job may begin with stack_id: InnoDB would look the
    # stack up at every change, and wait for a transaction that has locked it and waits
    # for the job.
    Index("ix_resource_desired_stack_id", "desired", "stack_id"),
    Index("ix_resource_job_state_stack_id", "job_state", "stack_id", "id"),
    Index("ix_resource_project_id_job_state", "project_id", "job_state", "root_id", "id"),
    Index("ix_resource_job_state_posted_at", "job_state", "posted_at"),
    # Values may be too long for another kind of index; see also _use_hash_index.
    Index("ix_resource_physical_id", "physical_id", mysql_length=64, mariadb_length=64),
    **TABLE_OPTIONS,
)


@sqlalchemy_event.listens_for(resource, "before_create")
def _use_hash_index(table: Table, connection: Connection, **_options: Any) -> None:
    """Index long physical ids on PostgreSQL by their hash.

    An argument of ``Index`` would load the dialect in the processes of other databases.
    """
    if connection.dialect.name == "postgresql":
        for index in table.indexes:
            if index.name == "ix_resource_physical_id":
                index.dialect_kwargs["postgresql_using"] = "hash"


resource_graph = Table(
    "resource_graph",
    metadata,
    Column("resource_id", ID, nullable=False),
    Column("needed_by", ID),
    Column("stack_id", ID, nullable=False),
    Column("version", Integer, nullable=False),
    Column("retry_count", Integer, nullable=False, default=0, server_default="0"),
    Column("takeover_count", Integer, nullable=False, default=0, server_default="0"),
    Column("observed_ready", Boolean, nullable=False, default=False),
    # The level that the dependent waits for; NULL: until the required resource is done.
    Column("level", EnumText(ReadinessLevel)),
    UniqueConstraint("resource_id", "needed_by", "version"),
    Index("ix_resource_graph_needed_by", "needed_by"),
    Index("ix_resource_graph_stack_id_version", "stack_id", "version", "observed_ready"),
    **TABLE_OPTIONS,
)

# ``resource.physical_dependencies`` of rows with a job, to be found by the resource that
# they name.  Written and cleared with the graph; without foreign keys, because that
# resource may be deleted already.
physical_dependency = Table(
    "resource_hold",
    metadata,
    Column("stack_id", ID, primary_key=True),
    Column("held_id", ID, primary_key=True, key="dependency_id"),
    Column("holder_id", ID, primary_key=True, key="dependent_id"),
    **TABLE_OPTIONS,
)

event = Table(
    "event",
    metadata,
    Column("id", ID, primary_key=True),
    Column("stack_id", ID, nullable=False),
    Column("resource_name", String(255), nullable=False),
    Column("resource_type", String(255), nullable=False),
    Column("physical_id", Text),
    Column("action", String(16), nullable=False),
    Column("status", EnumText(Status), nullable=False),
    Column("reason", ReasonText, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("properties", JsonText),
    Column("sensitive", Boolean, nullable=False),
    Column("version", Integer),  # NULL: a release that did not record it
    Column("timeline", Text),
    Index("ix_event_stack_id_id", "stack_id", "id"),
    **TABLE_OPTIONS,
)

service = Table(
    "service",
    metadata,
    Column("id", ID, primary_key=True),
    Column("binary", String(64), nullable=False),
    Column("hostname", String(255), nullable=False),
    Column("host", String(255), nullable=False),
    Column("topic", String(255), nullable=False),
    Column("report_interval_s", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
    Column("updated_at", UtcTime),
    Column("deleted_at", UtcTime),
    Column("version", String(64)),  # NULL: a release that did not record it
    Column("endpoint_states", JsonText),  # NULL likewise
    **TABLE_OPTIONS,
)

# A row is changed to lock what its project has, while it is counted.
quota_lock = Table(
    "quota_lock",
    metadata,
    Column("project_id", String(64), primary_key=True),
    Column("turn", BigInteger, nullable=False),
    **TABLE_OPTIONS,
)
