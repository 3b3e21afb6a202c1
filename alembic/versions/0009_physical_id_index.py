"""An index of physical ids, by which notifications of other services find resources.

Revises 0008.  Older code does not need it.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the index; values may be too long for another kind of index."""
    op.create_index(
        "ix_resource_physical_id",
        "resource",
        ["physical_id"],
        mysql_length=64,
        mariadb_length=64,
        postgresql_using="hash",
    )


def downgrade() -> None:
    """Drop the index."""
    op.drop_index("ix_resource_physical_id", "resource")
