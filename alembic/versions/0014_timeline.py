"""The timelines of jobs, and the traversals of events.

Revises 0013.  Older code leaves the columns empty: its jobs have no timeline.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("resource", sa.Column("timeline", sa.Text(), nullable=True))
    op.add_column("event", sa.Column("version", sa.Integer(), nullable=True))
    op.add_column("event", sa.Column("timeline", sa.Text(), nullable=True))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("event", "timeline")
    op.drop_column("event", "version")
    op.drop_column("resource", "timeline")
