"""The lock of a project, under which its quotas are counted.

Revises 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_engine": "InnoDB"}


def upgrade() -> None:
    """Create the table; code of the previous release does not know it."""
    op.create_table(
        "quota_lock",
        sa.Column("project_id", sa.String(length=64), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_quota_lock")),
        **TABLE,
    )


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("quota_lock")
