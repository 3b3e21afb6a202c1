"""The quarantine: resources that could not be deleted with their stack.

Revises 0009.  Older code neither reads nor writes the table and the column.  It deletes no
stack whose deletion quarantines without leaving it DELETE_FAILED, as before.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create the table, and the column of stacks whose deletion fills it."""
    op.create_table(
        "quarantine",
        sa.Column("resource_id", sa.String(length=36), nullable=False),
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("root_id", sa.String(length=36), nullable=False),
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("stack_name", sa.String(length=255), nullable=False),
        sa.Column("resource_name", sa.String(length=255), nullable=False),
        sa.Column("resource_type", sa.String(length=255), nullable=False),
        sa.Column("physical_id", sa.Text(), nullable=True),
        sa.Column("reason", LONG_TEXT, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("taken_until", sa.BigInteger(), nullable=True),
        sa.Column("waits_for", LONG_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("resource_id", name=op.f("pk_quarantine")),
        **TABLE,
    )
    for column in ("stack_id", "root_id", "next_at"):
        op.create_index(op.f(f"ix_quarantine_{column}"), "quarantine", [column])
    op.create_index(
        "ix_quarantine_project_id_resource_id", "quarantine", ["project_id", "resource_id"]
    )
    op.add_column(
        "stack",
        sa.Column("quarantines", sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Drop the table and the column."""
    op.drop_column("stack", "quarantines")
    op.drop_table("quarantine")
