"""Attributes of a resource with a stack behind it that nobody had recorded.

Called by the view of one resource, for names that the request asks for.  What
templates read is recorded when the stack behind ends; the rest is read here, from
rows as they are, by a few statements whatever the size of that stack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.api.services import ApiServices
from heat_convergence.convergence.model.resource import InputResource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.db.reads.resources import ResourceRow
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.repositories.incarnations import SqlIncarnationRepository
from heat_convergence.db.statements import contents
from heat_convergence.resources.nested.nested_type import (
    RECORDED_VALUES_KEY,
    NestedStackView,
    NestedType,
    attribute_path_key,
    normalize_attribute_path,
)
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.stacks.reads.resource_attributes import input_from_row

Json = Any


def read_nested_attributes(
    conn: Any, services: ApiServices, row: ResourceRow, nested_stack: Stack, names: Sequence[str]
) -> Mapping[str, Json]:
    """Name → value; null for what can't be told."""
    kind = services.registry.find(row.implementation)
    reads = {
        name: read for name in names if (read := normalize_attribute_path(name, ())) is not None
    }
    goal = SqlGoalRepository(conn).get_row(nested_stack.goal_id)
    if not isinstance(kind, NestedType) or goal is None or not reads:
        return {}
    known: dict[str, InputResource] = {}

    def inputs(wanted: Collection[str]) -> RowInputs:
        missing = set(wanted) - known.keys()
        if missing:
            known.update(SqlIncarnationRepository(conn).get_inputs(nested_stack.id, missing))
        return RowInputs(known, nested_stack, services.registry, services.clock())

    def members() -> Sequence[str]:
        template = services.template_cache.template(
            goal.template_hash, lambda hashes: contents.get_contents(conn, hashes)
        )
        return template.resource_names

    behind = NestedStackView(
        nested_stack,
        goal,
        input_from_row(row),
        inputs,
        members,
        services.limits,
        services.functions,
    )
    found = kind.read_attributes(behind, list(reads.values())).get(RECORDED_VALUES_KEY) or {}
    return {
        name: found[attribute_path_key(read)]
        for name, read in reads.items()
        if attribute_path_key(read) in found
    }
