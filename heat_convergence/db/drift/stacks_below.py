"""The condition that selects nested stacks with all stacks below them."""

from __future__ import annotations

import sqlalchemy as sa

from heat_convergence.db.tables import stack


def stacks_below(heads: sa.ColumnElement[bool]) -> sa.CTE:
    """Build the existing stacks that match ``heads``, and those below them.

    Returns:
        Columns ``owner``, the resource that a head belongs to, and ``id``, that of a stack.
    """
    head = sa.select(stack.c.owner_resource_id.label("owner"), stack.c.id).where(
        heads, stack.c.deleted_at.is_(None)
    )
    below = head.cte("below", recursive=True)
    child = stack.alias("child")
    # UNION leaves out what is known: rows that contradict each other end, too (RULE 11).
    return below.union(
        sa.select(below.c.owner, child.c.id).where(
            child.c.owner_id == below.c.id, child.c.deleted_at.is_(None)
        )
    )
