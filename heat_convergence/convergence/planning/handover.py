"""Rows that a goal takes over as they are: imported, moved or renamed resources.

Called by ``lifecycle.handover`` under the locks of the stacks, and without by plans.  A row that
is settled is at the goal, so that the traversal to that goal has no job for it and no service is
called.  Must read nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import (
    ActionState,
    PhysicalState,
    Resource,
    ResourceJob,
)
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.incarnations import definition_of, new_row
from heat_convergence.convergence.planning.plan import plan_goal

IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class ExistingObject:
    """An object that a stack imports, as it was read.

    Attributes:
        properties: the resolved properties of the template.
        attributes: what the type records of the object.
        data: likewise.
        sensitive: attributes or data have secrets.
    """

    physical_id: str
    properties: Mapping[str, Json]
    properties_hash: str
    attributes: Mapping[str, Json] = field(default_factory=dict)
    data: Mapping[str, Json] = field(default_factory=dict)
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class ResourceMove:
    """A resource that gets another place: another stack, another name, or both."""

    source_id: str
    source_name: str
    target_id: str
    target_name: str


def import_row(
    desired: DesiredResource, existing: ExistingObject, plan_context: PlanContext
) -> Resource:
    """Return the row of an imported object, settled."""
    row = new_row(desired, (), plan_context, plan_context.ids())
    return replace(
        row,
        desired=replace(row.desired, sensitive=desired.sensitive or existing.sensitive),
        job=ResourceJob(plan_context.version),
        physical=PhysicalState(
            id=existing.physical_id,
            applied_hash=desired.definition_hash,
            properties=existing.properties,
            properties_hash=existing.properties_hash,
            attributes=existing.attributes,
            data=existing.data,
        ),
        state=ActionState(
            Action.ADOPT, Status.COMPLETE, IMPORTED, plan_context.now, plan_context.now
        ),
    )


def place_rows(
    rows: Mapping[str, Sequence[Resource]], moves: Iterable[ResourceMove]
) -> dict[str, list[Resource]]:
    """Return the rows of stacks after moves, with the definitions that they had.

    Args:
        rows: id of a stack → its rows.
        moves: the moves between these stacks, or inside one.
    """
    by_source = {(each.source_id, each.source_name): each for each in moves}
    placed: dict[str, list[Resource]] = {stack_id: [] for stack_id in rows}
    for some in rows.values():
        for row in some:
            move = by_source.get((row.stack_id, row.name))
            placed[row.stack_id if move is None else move.target_id].append(
                row if move is None else _placed(row, move)
            )
    return {stack_id: sorted(some, key=lambda row: row.id) for stack_id, some in placed.items()}


def _placed(row: Resource, move: ResourceMove) -> Resource:
    columns = with_columns(row, stack_id=move.target_id, name=move.target_name)
    if move.source_id == move.target_id:
        return columns
    # What names rows or versions of the stack that it comes from means nothing here.
    return with_columns(
        columns,
        root_id=move.target_id,
        physical_dependencies=(),
        touched_version=None,
        replaces=None,
        replaced_by=None,
    )


def settle(row: Resource, desired: DesiredResource) -> Resource:
    """Return the row with the goal's definition, applied if that of the row has been.

    It has not where a check superseded an update: the next update must still apply the change.
    """
    sensitive = desired.sensitive or row.desired.sensitive
    is_applied = row.physical.applied_hash == row.desired.definition_hash
    return replace(
        row,
        identity=replace(row.identity, type=desired.type),
        desired=replace(definition_of(desired), sensitive=sensitive),
        physical=replace(
            row.physical, applied_hash=desired.definition_hash if is_applied else None
        ),
    )


def settle_rows(
    rows: Iterable[Resource], desired_resources: Mapping[str, DesiredResource]
) -> list[Resource]:
    """Return the rows, those that the goal wants settled."""
    return [
        settle(row, desired_resources[row.name]) if row.name in desired_resources else row
        for row in rows
    ]


def list_unsettled(
    rows: Sequence[Resource],
    desired_resources: Mapping[str, DesiredResource],
    plan_context: PlanContext,
) -> list[str]:
    """Return the names of resources that a traversal to the goal would have a job for."""
    plan = plan_goal(rows, desired_resources, plan_context)
    discarded = {row.name for row in rows if row.id in plan.discarded_ids}
    jobs = {row.name for row in (*plan.added, *plan.changed, *plan.rescheduled)}
    return sorted(jobs | discarded)
