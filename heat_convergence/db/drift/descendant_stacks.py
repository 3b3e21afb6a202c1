"""The condition that selects nested stacks with all stacks below them."""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.db.tables import stack


def descendant_stacks(heads: sa.ColumnElement[bool]) -> sa.CTE:
    """Build the existing stacks that match ``heads``, and those below them.

    Returns:
        Columns ``owner``, the resource that a head belongs to, and ``id``, that of a stack.
    """
    head = sa.select(stack.c.owner_resource_id.label("owner"), stack.c.id).where(
        heads, stack.c.deleted_at.is_(None)
    )
    descendants = head.cte("descendants", recursive=True)
    child = stack.alias("child")
    # UNION leaves out what is known: rows that contradict each other end, too (RULE 11).
    return descendants.union(
        sa.select(descendants.c.owner, child.c.id).where(
            child.c.owner_id == descendants.c.id, child.c.deleted_at.is_(None)
        )
    )
