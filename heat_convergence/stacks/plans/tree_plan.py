"""The existing resources of a whole tree, as plans of a deletion or a repair list them.

Called by the API. Asks nothing of any service.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.plans.stored_plan import PlannedEffect
from heat_convergence.stacks.nested_preview import StackTree
from heat_convergence.stacks.plans.planned_resource import (
    ObservedByPlace,
    PlannedResource,
    planned_from_row,
)

_SKIPPED = "the request leaves it alone"
_KEPT = "the deletion policy keeps the physical resource"


def list_tree_resources(
    stack: Stack, rows: Sequence[Resource], tree: StackTree, observed: ObservedByPlace
) -> Iterator[PlannedResource]:
    """Yield the resources that the goals of a stack and of its descendants want."""
    everything = {stack.id: stack, **tree.stacks}
    for each in everything.values():
        prefix = _prefix(each, stack, everything)
        for row in rows if each is stack else tree.rows[each.id]:
            if row.desired.state is DesiredState.PRESENT:
                found = observed.get((each.id, row.name))
                yield planned_from_row(each, row, prefix + row.name, found)


def plan_deletion(
    resources: Sequence[PlannedResource], skipped: Collection[str]
) -> Iterator[PlannedResource]:
    """Yield the resources of a tree as a deletion of its root leaves them.

    Args:
        resources: those of the tree.
        skipped: names of the root's resources that the request leaves alone.
    """
    dependents: dict[tuple[str, str], list[str]] = {}
    for each in resources:
        for name in each.requires:
            dependents.setdefault((each.stack_id, name), []).append(each.name)
    kept = {each.path for each in resources if each.path in skipped or each.retained}
    for each in resources:
        above = [each.path[:at] for at, char in enumerate(each.path) if char == "/"]
        retained = each.path in kept or not kept.isdisjoint(above)
        reason = _SKIPPED if each.path in skipped else _KEPT if retained else ""
        yield replace(
            each,
            effect=PlannedEffect.DELETE,
            reason=reason,
            retained=retained,
            dependents=tuple(sorted(dependents.get((each.stack_id, each.name), ()))),
        )


def _prefix(stack: Stack, root: Stack, stacks: Mapping[str, Stack]) -> str:
    """Return the path of the resource that a stack is nested in, and ``/``."""
    names: list[str] = []
    current: Stack | None = stack
    while current is not None and current.id != root.id:
        names.append(current.parent_resource or "")
        current = stacks.get(current.owner_id or "")
    return "".join(f"{name}/" for name in reversed(names))
