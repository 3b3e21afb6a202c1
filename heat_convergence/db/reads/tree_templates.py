"""Texts of the templates of all stacks of a tree.

Called by the API alone; one statement for a tree.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.db.tables import content, goal, stack


def find_tree_templates(conn: Connection, tree_id: str) -> list[str]:
    """Return the templates that stacks of the tree have, each text once."""
    in_tree = sa.or_(stack.c.id == tree_id, stack.c.root_id == tree_id)
    used = sa.select(goal.c.template_hash).join(stack, stack.c.goal_id == goal.c.id).where(in_tree)
    return list(conn.scalars(sa.select(content.c.body).where(content.c.hash.in_(used))))
