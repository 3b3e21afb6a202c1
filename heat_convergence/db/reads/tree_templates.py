"""Texts of the templates of all stacks of a tree.

Called by the API alone; one statement for a tree.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from heat_convergence.db.statements.readable_rows import check_row
from heat_convergence.db.tables import content, goal, stack


def find_tree_templates(conn: Connection, tree_id: str) -> list[str]:
    """Return the templates that stacks of the tree have, each text once.

    Raises:
        StoredValueUnreadable: one of them cannot be decrypted; what it hides is not known.
    """
    in_tree = sa.or_(stack.c.id == tree_id, stack.c.root_id == tree_id)
    used = sa.select(goal.c.template_hash).join(stack, stack.c.goal_id == goal.c.id).where(in_tree)
    rows = conn.execute(sa.select(content.c.hash, content.c.body).where(content.c.hash.in_(used)))
    return [check_row("content", ("id", "body"), row)[1] for row in rows]
