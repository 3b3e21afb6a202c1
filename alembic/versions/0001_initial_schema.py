"""Stacks, their resources, the resource graph, events, contents, services.

The first; it revises nothing.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create all tables."""
    op.create_table(
        "content",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("body", LONG_TEXT, nullable=False),
        sa.Column("unused", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_content")),
        **TABLE,
    )
    op.create_table(
        "event",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("resource_type", sa.String(length=255), nullable=False),
        sa.Column("physical_id", sa.Text(), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("properties", LONG_TEXT, nullable=True),
        sa.Column("sensitive", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        **TABLE,
    )
    op.create_index("ix_event_stack_id_id", "event", ["stack_id", "id"], unique=False)
    op.create_table(
        "goal",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("template_hash", sa.String(length=64), nullable=False),
        sa.Column("environment", LONG_TEXT, nullable=False),
        sa.Column("files", LONG_TEXT, nullable=False),
        sa.Column("parameters", LONG_TEXT, nullable=False),
        sa.Column("outputs", LONG_TEXT, nullable=False),
        sa.Column("description", LONG_TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("sensitive", sa.Boolean(), nullable=False),
        sa.Column("shared", LONG_TEXT, nullable=False),
        sa.Column("inherited", sa.String(64), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_goal")),
        **TABLE,
    )
    op.create_index(op.f("ix_goal_stack_id"), "goal", ["stack_id"], unique=False)
    op.create_table(
        "service",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("binary", sa.String(length=64), nullable=False),
        sa.Column("hostname", sa.String(length=255), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("topic", sa.String(length=255), nullable=False),
        sa.Column("report_interval_s", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_service")),
        **TABLE,
    )
    op.create_table(
        "snapshot",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("goal_id", sa.String(length=36), nullable=False),
        sa.Column("data", LONG_TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("delete_at", sa.BigInteger(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sensitive", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_snapshot")),
        **TABLE,
    )
    op.create_index("ix_snapshot_delete_at", "snapshot", ["delete_at"], unique=False)
    op.create_index("ix_snapshot_stack_id", "snapshot", ["stack_id", "id"], unique=False)
    op.create_table(
        "stack",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("live_name", sa.String(length=255), nullable=True),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("username", sa.String(length=255), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("goal_id", sa.String(length=36), nullable=False),
        sa.Column("complete_goal_id", sa.String(length=36), nullable=True),
        sa.Column("disable_rollback", sa.Boolean(), nullable=False),
        sa.Column("timeout_mins", sa.Integer(), nullable=True),
        sa.Column("deadline_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.Column("owner_id", sa.String(length=36), nullable=True),
        sa.Column("owner_resource_id", sa.String(length=36), nullable=True),
        sa.Column("root_id", sa.String(length=36), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("parent_resource", sa.String(length=255), nullable=True),
        sa.Column("begun_at", sa.BigInteger(), nullable=True),
        sa.Column("first_cause", LONG_TEXT, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stack")),
        sa.UniqueConstraint("project_id", "live_name", name=op.f("uq_stack_project_id_live_name")),
        **TABLE,
    )
    op.create_index("ix_stack_name", "stack", ["name"], unique=False)
    op.create_index("ix_stack_owner_id", "stack", ["owner_id"], unique=False)
    op.create_index(
        "ix_stack_project_id_created_at", "stack", ["project_id", "created_at"], unique=False
    )
    op.create_index("ix_stack_root_id", "stack", ["root_id"], unique=False)
    op.create_index(
        "ix_stack_status_deadline_at", "stack", ["status", "deadline_at"], unique=False
    )
    op.create_table(
        "resource",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("type", sa.String(length=255), nullable=False),
        sa.Column("implementation", sa.String(length=255), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("desired", sa.String(length=16), nullable=False),
        sa.Column("definition", LONG_TEXT, nullable=False),
        sa.Column("definition_hash", sa.String(length=64), nullable=False),
        sa.Column("requires", LONG_TEXT, nullable=False),
        sa.Column("draws_on", LONG_TEXT, nullable=False),
        sa.Column("holds", LONG_TEXT, nullable=False),
        sa.Column("sensitive", sa.Boolean(), nullable=False),
        sa.Column("applied_hash", sa.String(length=64), nullable=True),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("job", sa.String(length=16), nullable=True),
        sa.Column("job_state", sa.String(length=16), nullable=True),
        sa.Column("must_run", sa.Boolean(), nullable=False),
        sa.Column("touched_version", sa.Integer(), nullable=True),
        sa.Column("posted_at", sa.BigInteger(), nullable=True),
        sa.Column("physical_id", sa.Text(), nullable=True),
        sa.Column("physical_name", sa.String(length=255), nullable=False),
        sa.Column("properties", LONG_TEXT, nullable=True),
        sa.Column("properties_hash", sa.String(length=64), nullable=True),
        sa.Column("attributes", LONG_TEXT, nullable=False),
        sa.Column("data", LONG_TEXT, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("action_started_at", sa.BigInteger(), nullable=True),
        sa.Column("observed", sa.String(length=16), nullable=True),
        sa.Column("observed_at", sa.BigInteger(), nullable=True),
        sa.Column("observe_at", sa.BigInteger(), nullable=True),
        sa.Column("lease_owner", sa.String(length=36), nullable=True),
        sa.Column("lease_token", sa.String(length=36), nullable=True),
        sa.Column("lease_expires_at", sa.BigInteger(), nullable=True),
        sa.Column("replaces", sa.String(length=36), nullable=True),
        sa.Column("replaced_by", sa.String(length=36), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("guards", LONG_TEXT, nullable=False),
        sa.Column("hook", sa.String(length=16), nullable=True),
        sa.ForeignKeyConstraint(["stack_id"], ["stack.id"], name=op.f("fk_resource_stack_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource")),
        **TABLE,
    )
    op.create_index(
        "ix_resource_job_state_posted_at", "resource", ["job_state", "posted_at"], unique=False
    )
    op.create_index(
        "ix_resource_job_state_stack_id",
        "resource",
        ["job_state", "stack_id", "id"],
        unique=False,
    )
    op.create_index(op.f("ix_resource_lease_owner"), "resource", ["lease_owner"], unique=False)
    op.create_index(op.f("ix_resource_observe_at"), "resource", ["observe_at"], unique=False)
    op.create_index(
        "ix_resource_project_id_job_state",
        "resource",
        ["project_id", "job_state", "root_id", "id"],
        unique=False,
    )
    op.create_index("ix_resource_root_id", "resource", ["root_id"], unique=False)
    op.create_index("ix_resource_stack_id_id", "resource", ["stack_id", "id"], unique=False)
    op.create_index("ix_resource_stack_id_name", "resource", ["stack_id", "name"], unique=False)
    op.create_table(
        "stack_tag",
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("tag", sa.String(length=80), nullable=False),
        sa.ForeignKeyConstraint(["stack_id"], ["stack.id"], name=op.f("fk_stack_tag_stack_id")),
        sa.PrimaryKeyConstraint("stack_id", "position", name=op.f("pk_stack_tag")),
        **TABLE,
    )
    op.create_index("ix_stack_tag_tag", "stack_tag", ["tag"], unique=False)
    op.create_table(
        "resource_graph",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("needed_by", sa.String(length=36), nullable=True),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("retry_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("observed_ready", sa.Boolean(), nullable=False),
        sa.UniqueConstraint(
            "resource_id",
            "needed_by",
            "version",
            name=op.f("uq_resource_graph_resource_id_needed_by_version"),
        ),
        **TABLE,
    )
    op.create_index("ix_resource_graph_needed_by", "resource_graph", ["needed_by"], unique=False)
    op.create_index(
        "ix_resource_graph_stack_id_version",
        "resource_graph",
        ["stack_id", "version", "observed_ready"],
        unique=False,
    )
    op.create_table(
        "resource_hold",
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("held_id", sa.String(length=36), nullable=False),
        sa.Column("holder_id", sa.String(length=36), nullable=False),
        sa.PrimaryKeyConstraint("stack_id", "held_id", "holder_id", name=op.f("pk_resource_hold")),
        **TABLE,
    )
    _add_credentials()
    _add_software()


def _add_credentials() -> None:
    op.create_table(
        "stack_credential",
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("body", LONG_TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("stack_id", name=op.f("pk_stack_credential")),
        **TABLE,
    )


def _add_software() -> None:
    op.create_table(
        "software_config",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("tool", sa.String(length=255), nullable=False),
        sa.Column("body", LONG_TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_software_config")),
        **TABLE,
    )
    op.create_index(
        "ix_software_config_project_id_id", "software_config", ["project_id", "id"], unique=False
    )
    op.create_table(
        "software_deployment",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("stack_user_project_id", sa.String(length=64), nullable=True),
        sa.Column("server_id", sa.String(length=255), nullable=False),
        sa.Column("config_id", sa.String(length=36), nullable=False),
        sa.Column("action", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=255), nullable=False),
        sa.Column("status_reason", LONG_TEXT, nullable=False),
        sa.Column("input_values", LONG_TEXT, nullable=True),
        sa.Column("output_values", LONG_TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["config_id"],
            ["software_config.id"],
            name=op.f("fk_software_deployment_config_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_software_deployment")),
        **TABLE,
    )
    for columns in (["project_id", "id"], ["server_id"], ["config_id"], ["stack_user_project_id"]):
        name = "_".join(["ix", "software_deployment", *columns])
        op.create_index(name, "software_deployment", columns, unique=False)
