"""An index of the resources that are desired absent, by stack.

Revises 0017.  Older code does not need it.
"""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

_INDEX = "ix_resource_desired_stack_id"


def upgrade() -> None:
    """Create the index."""
    op.create_index(_INDEX, "resource", ["desired", "stack_id"])


def downgrade() -> None:
    """Drop the index."""
    op.drop_index(_INDEX, table_name="resource")
