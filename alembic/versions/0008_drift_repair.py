"""The repairs that the service starts by itself, and the breakers that prevent them.

Revises 0007.  Older code uses neither table.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create the tables, and the index by which drift to repair is found."""
    op.create_table(
        "drift_repair",
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("destructive_at", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("stack_id", "resource_name", name=op.f("pk_drift_repair")),
        **TABLE,
    )
    op.create_index("ix_drift_repair_project_id", "drift_repair", ["project_id"])
    op.create_index("ix_observation_policy_status", "observation", ["policy", "status"])
    op.create_table(
        "drift_breaker",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("implementation", sa.String(length=255), nullable=False),
        sa.Column("region", sa.String(length=255), nullable=False),
        sa.Column("lost", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drift_breaker")),
        **TABLE,
    )
    op.create_index(op.f("ix_drift_breaker_project_id"), "drift_breaker", ["project_id"])


def downgrade() -> None:
    """Drop the tables and the index."""
    op.drop_table("drift_breaker")
    op.drop_index("ix_observation_policy_status", "observation")
    op.drop_table("drift_repair")
