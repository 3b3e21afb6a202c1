"""Stored plans.

Revises 0010.  Older code does not use the table.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "stack_plan",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("stack_name", sa.String(length=255), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("username", sa.String(length=255), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("stack_version", sa.Integer(), nullable=False),
        sa.Column("executed_at", sa.BigInteger(), nullable=True),
        sa.Column("summary", LONG_TEXT, nullable=False),
        sa.Column("document", LONG_TEXT, nullable=False),
        sa.Column("request", LONG_TEXT, nullable=False),
        sa.Column("state", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stack_plan")),
        **TABLE,
    )
    op.create_index(op.f("ix_stack_plan_expires_at"), "stack_plan", ["expires_at"])
    op.create_index("ix_stack_plan_stack_id", "stack_plan", ["stack_id"])
    op.create_index("ix_stack_plan_project_id_id", "stack_plan", ["project_id", "id"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("stack_plan")
