"""The drift policies of observations, and those that users set for stacks.

Revises 0006.  Older code leaves the column empty and does not use the table.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Add the column and the table."""
    op.add_column("observation", sa.Column("policy", sa.String(length=16), nullable=True))
    op.create_table(
        "stack_drift",
        sa.Column("stack_id", sa.String(length=36), nullable=False),
        sa.Column("policy", sa.String(length=16), nullable=True),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("stack_id", name=op.f("pk_stack_drift")),
        **TABLE,
    )


def downgrade() -> None:
    """Drop the table and the column."""
    op.drop_table("stack_drift")
    op.drop_column("observation", "policy")
