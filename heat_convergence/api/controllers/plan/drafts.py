"""Plans that are not stored yet, and the parts that all kinds of them have.

Called by the controllers that make plans.  Asks nothing of any service.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heat_convergence.api.controllers.plan.tree_state import TreeState
from heat_convergence.api.services import ApiServices
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.duration import TypeHistory
from heat_convergence.convergence.plans.stored_plan import PlanAction
from heat_convergence.stacks.goal.stack_builder import PreparedStack, StackBuilder
from heat_convergence.stacks.nested_preview import preview_nested_changes
from heat_convergence.stacks.plans.planned_resource import PlannedResource, planned_from_changes
from heat_convergence.stacks.preview import PreviewContext, preview_changes
from heat_convergence.stacks.source.template_source import TemplateSource

Json = Any


@dataclass(frozen=True, slots=True)
class DraftPlan:
    """A plan that is not stored yet.

    Attributes:
        request: what the execution needs of the request.
        state: what the plan depends on.
    """

    action: PlanAction
    stack: Stack
    resources: Sequence[PlannedResource]
    history: TypeHistory
    request: Mapping[str, Json] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)


def preview_goal(
    services: ApiServices, builder: StackBuilder, prepared: PreparedStack, tree: TreeState
) -> list[PlannedResource]:
    """Return what an update of a stack to a goal would do to each resource of its tree."""
    stack = tree.stack
    context = PreviewContext(
        stack, tree.rows, builder.goal_builder, services.clock(), services.ids
    )
    changes = preview_changes(context, prepared.evaluated, prepared.desired_resources)
    nested = preview_nested_changes(context, prepared, changes, tree.tree)
    return list(planned_from_changes(stack, changes, nested, tree.observed_by_place))


def definition_values(prepared: PreparedStack) -> dict[str, Json]:
    """Return what a plan depends on of each definition, by name."""
    return {
        name: [each.definition_hash, each.implementation, sorted(each.hooks_and_restrictions)]
        for name, each in prepared.desired_resources.items()
    }


def source_to_json(source: TemplateSource) -> dict[str, Json]:
    """Return the source of a goal as a plan stores it."""
    return {
        "text": source.text,
        "environment": source.environment.to_stored(),
        "files": dict(source.files),
    }


def source_from_json(builder: StackBuilder, stored: Mapping[str, Json]) -> TemplateSource:
    """Return the source of a goal that a plan has stored."""
    return builder.sources.from_stored_parts(
        stored["text"], stored["environment"], stored["files"]
    )


def values_to_json(values: Mapping[str, Any]) -> dict[str, Json]:
    """Return columns of the stack as JSON has them."""
    return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}


def values_from_json(values: Mapping[str, Json]) -> dict[str, Any]:
    """Return columns of the stack from their JSON."""
    return {key: tuple(each) if key == "tags" else each for key, each in values.items()}
