"""The number of transactions that have locked a stack on a Galera cluster.

Revises 0003.  Older code does not write the column, which has a default.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column."""
    column = sa.Column("lock_turn", sa.BigInteger(), server_default="0", nullable=False)
    op.add_column("stack", column)


def downgrade() -> None:
    """Drop the column."""
    op.drop_column("stack", "lock_turn")
