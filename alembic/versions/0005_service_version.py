"""The version of the program that a worker process runs.

Revises 0004.  Older code does not write the column, which may be empty.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    op.add_column("service", sa.Column("version", sa.String(length=64), nullable=True))


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("service", "version")
