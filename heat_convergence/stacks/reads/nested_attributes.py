"""Attributes of a nested stack's resource that no template reads.

Called by the view of one resource, for names that the request asks for.  Attributes that
templates read are recorded when the nested stack completes; the others are read here,
from rows as they are, by a few statements whatever the size of that stack.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from heat_convergence.convergence.model.goal import Goal
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
from heat_convergence.stacks.services import StackServices

Json = Any


def read_nested_attributes(
    conn: Any, services: StackServices, row: ResourceRow, nested_stack: Stack, names: Sequence[str]
) -> Mapping[str, Json]:
    """Return the attributes by name; null for values that cannot be read.

    Args:
        conn: a connection to read from.
        services: the resource types and what evaluating outputs takes.
        row: the resource.
        nested_stack: its nested stack.
        names: of the attributes.
    """
    resource_type = services.registry.find(row.implementation)
    paths = {
        name: path for name in names if (path := normalize_attribute_path(name, ())) is not None
    }
    goal = SqlGoalRepository(conn).get_row(nested_stack.goal_id)
    if not isinstance(resource_type, NestedType) or goal is None or not paths:
        return {}
    view = _nested_stack_view(conn, services, row, nested_stack, goal)
    recorded = resource_type.read_attributes(view, list(paths.values()))
    values = recorded.get(RECORDED_VALUES_KEY) or {}
    return {
        name: values[attribute_path_key(path)]
        for name, path in paths.items()
        if attribute_path_key(path) in values
    }


def _nested_stack_view(
    conn: Any, services: StackServices, row: ResourceRow, stack: Stack, goal: Goal
) -> NestedStackView:
    known: dict[str, InputResource] = {}

    def load_inputs(names: Collection[str]) -> RowInputs:
        missing = set(names) - known.keys()
        if missing:
            known.update(SqlIncarnationRepository(conn).get_inputs(stack.id, missing))
        return RowInputs(known, stack, services.registry, services.clock())

    def load_resource_names() -> Sequence[str]:
        template = services.template_cache.template(
            goal.template_hash, lambda hashes: contents.get_contents(conn, hashes)
        )
        return template.resource_names

    return NestedStackView(
        stack,
        goal,
        input_from_row(row),
        load_inputs,
        load_resource_names,
        services.limits,
        services.functions,
    )
