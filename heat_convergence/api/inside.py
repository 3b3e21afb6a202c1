"""Attributes of a resource with a stack behind it that nobody had recorded.

Called by the view of one resource, for names that the request asks for.  What
templates read is recorded when the stack behind ends; the rest is read here, from
rows as they are, by a few statements whatever the size of that stack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.api.services import ApiServices
from heat_convergence.api.values import as_input
from heat_convergence.convergence.model import Input, Stack
from heat_convergence.db import goals
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.resources import inputs as rows_by_name
from heat_convergence.resources.nesting.kinds import READS, Behind, NestedType, normal, read_key
from heat_convergence.resources.views import RowInputs

Json = Any


def read_inside(
    conn: Any, given: ApiServices, row: ResourceRow, nested: Stack, names: Sequence[str]
) -> Mapping[str, Json]:
    """Name → value; null for what can't be told."""
    kind = given.registry.find(row.implementation)
    reads = {name: read for name in names if (read := normal(name, ())) is not None}
    goal = goals.lean(conn, nested.goal_id)
    if not isinstance(kind, NestedType) or goal is None or not reads:
        return {}
    known: dict[str, Input] = {}

    def inputs(wanted: Collection[str]) -> RowInputs:
        missing = set(wanted) - known.keys()
        if missing:
            known.update(rows_by_name(conn, nested.id, missing))
        return RowInputs(known, nested, given.registry, given.clock())

    def members() -> Sequence[str]:
        template = given.parsed.template(
            goal.template_hash, lambda hashes: goals.get_contents(conn, hashes)
        )
        return template.resource_names

    behind = Behind(
        nested, goal, as_input(row), inputs, members, given.limits, given.functions
    )
    found = kind.read(behind, list(reads.values())).get(READS) or {}
    return {name: found[read_key(read)] for name, read in reads.items() if read_key(read) in found}
