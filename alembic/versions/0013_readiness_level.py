"""The readiness level at which an edge of the resource graph lets its dependent start.

Revises 0012.  Older code writes no level: its edges wait until the required resource is done.  It
marks all edges of a resource that is done, those with a level too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("resource_graph", sa.Column("level", sa.String(length=16), nullable=True))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("resource_graph", "level")
