"""The services that a worker leaves alone or finds slow, and an index of started stacks.

Revises 0015; 0016 was never used.  Older code leaves the column empty, and does not read it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0017"
down_revision = "0015"
branch_labels = None
depends_on = None

LONG_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
_INDEX = "ix_stack_project_id_begun_at"


def upgrade() -> None:
    """Add the column and the index."""
    op.add_column("service", sa.Column("endpoint_states", LONG_TEXT, nullable=True))
    op.create_index(_INDEX, "stack", ["project_id", "begun_at"])


def downgrade() -> None:
    """Drop the index and the column."""
    op.drop_index(_INDEX, table_name="stack")
    op.drop_column("service", "endpoint_states")
