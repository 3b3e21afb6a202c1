"""Windows in which repairs may start, and the ends of repairs.

Revises 0011.  Older code writes neither the windows nor the ends: a row that it has written counts
as one whose repair has ended.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("stack_drift", sa.Column("repair_window", sa.String(length=255), nullable=True))
    op.add_column("drift_repair", sa.Column("version", sa.Integer(), nullable=True))
    op.add_column("drift_repair", sa.Column("ended_at", sa.BigInteger(), nullable=True))
    op.add_column("drift_repair", sa.Column("outcome", sa.String(length=16), nullable=True))


def downgrade() -> None:
    """Drop the columns."""
    for column in ("outcome", "ended_at", "version"):
        op.drop_column("drift_repair", column)
    op.drop_column("stack_drift", "repair_window")
