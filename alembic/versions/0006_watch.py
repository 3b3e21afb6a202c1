"""The groups of resources that the watch reads together, and its observations.

Revises 0005.  Older code uses neither table.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "watch_group",
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("implementation", sa.String(length=255), nullable=False),
        sa.Column("interval_s", sa.Float(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("project_id", "implementation", name=op.f("pk_watch_group")),
        **TABLE,
    )
    op.create_index(op.f("ix_watch_group_next_at"), "watch_group", ["next_at"])
    op.create_table(
        "observation",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("implementation", sa.String(length=255), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("properties", LONG_TEXT, nullable=False),
        sa.Column("values_hash", sa.String(length=64), nullable=False),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("resource_updated_at", sa.BigInteger(), nullable=True),
        sa.Column("sensitive", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("resource_id", name=op.f("pk_observation")),
        **TABLE,
    )
    op.create_index("ix_observation_stack_id_status", "observation", ["stack_id", "status"])
    op.create_index(
        "ix_observation_project_id_implementation", "observation", ["project_id", "implementation"]
    )


def downgrade() -> None:
    """Drop the tables."""
    op.drop_table("observation")
    op.drop_table("watch_group")
