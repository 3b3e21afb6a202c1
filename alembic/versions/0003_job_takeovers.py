"""The number of workers that ended while they ran a job.

Revises 0002.  Older code does not write the column, which has a default.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    column = sa.Column("takeover_count", sa.Integer(), server_default="0", nullable=False)
    op.add_column("resource_graph", column)


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("resource_graph", "takeover_count")
