"""The stabilization window of a stack's newest traversal.

Revises 0014.  Older code writes none of the columns: its stacks have no windows, and one whose
window is open is complete when that code finds it without jobs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns."""
    op.add_column("stack", sa.Column("stabilization_s", sa.Integer(), nullable=True))
    op.add_column(
        "stack",
        sa.Column("stabilizing", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.add_column("stack", sa.Column("stable_since", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Drop the columns."""
    op.drop_column("stack", "stable_since")
    op.drop_column("stack", "stabilizing")
    op.drop_column("stack", "stabilization_s")
