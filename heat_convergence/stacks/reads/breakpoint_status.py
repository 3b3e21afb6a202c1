"""Status reasons of resources that wait at breakpoints.

Called by controllers before they show rows.  A stack's own reason stays that of its action,
as clients expect.  One statement for all that is shown, and
none where nothing is in progress.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.convergence.lifecycle.breakpoint_reasons import resource_status_reason
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.repositories.tree import SqlTreeRepository


def with_resource_breakpoint_reasons(
    conn: Any, stacks: Mapping[str, Stack], rows: Iterable[ResourceRow]
) -> list[ResourceRow]:
    """Return the rows, in their order, with reasons that name their breakpoints.

    Args:
        conn: a connection to read from.
        stacks: by id.
        rows: resources of these stacks.
    """
    where = SqlTreeRepository(conn).find_breakpoint_locations(stacks.values())
    if not where:
        return list(rows)
    at = {(place.stack_id, place.path[0]) for place in where}
    return [
        replace(
            row,
            status_reason=resource_status_reason(
                stacks[row.stack_id], row.name, row.status_reason, where
            ),
        )
        if (row.stack_id, row.name) in at
        else row
        for row in rows
    ]
