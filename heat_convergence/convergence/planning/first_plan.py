"""The plan of a new stack: a row with a job for each resource of its goal.

Called by ``traversal`` for stacks that have no rows yet.  Decides the order of jobs as ``plan``
does, and what a row adopts.  Must not hold the rows, which take a multiple of what the goal says
of a resource: they are made one by one, where they are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import Verb
from heat_convergence.convergence.model.job_transitions import plan_blocked, plan_queued
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.convergence.planning.desired_state import (
    NESTED_STACK_KEY,
    DesiredResource,
    PlanContext,
)
from heat_convergence.convergence.planning.incarnations import new_row
from heat_convergence.convergence.planning.job_order import (
    EdgePair,
    as_early,
    requirement_edges,
    requirement_levels,
    to_graph_rows,
)
from heat_convergence.template.environment.readiness import ReadinessLevel


@dataclass(frozen=True, slots=True)
class AdoptedResource:
    """A resource that exists already and that a new stack adopts.

    Attributes:
        data: its data; of a nested stack's resource the document of that stack, under
            ``model.resource.ADOPTED_STACK``.
        sensitive: the data have secrets.
        suspended: the document says that it is suspended; the next goal resumes it.
    """

    physical_id: str | None
    data: Mapping[str, Json]
    sensitive: bool = False
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class FirstPlan:
    """The rows and edges of a new stack.

    Attributes:
        desired_resources: the resources of the goal by name.
        plan_context: the stack and the time.
        row_ids: resource name → id of its row, in the order of the ids.
        pairs: the edges between rows.
        levels: the levels of pairs whose second starts before the first is done.
        blocked_ids: the rows that wait for another.
        early_ids: the rows that others start before their jobs are done.
        has_hooks: whether users may have set hooks before jobs.
        adopted_resources: what exists already, by resource name; None for a stack that is created.
    """

    desired_resources: Mapping[str, DesiredResource]
    plan_context: PlanContext
    row_ids: Mapping[str, str]
    pairs: set[EdgePair]
    levels: Mapping[EdgePair, ReadinessLevel]
    blocked_ids: frozenset[str]
    early_ids: frozenset[str]
    has_hooks: bool
    adopted_resources: Mapping[str, AdoptedResource] | None

    def leaves(self, count: int | None = None) -> list[Resource]:
        """Return the rows whose jobs may start, by id: the first so many, or all."""
        names = (name for name, each in self.row_ids.items() if each not in self.blocked_ids)
        return [self._row(name, self.desired_resources[name]) for name in islice(names, count)]

    def rows(self, started: Mapping[str, Resource]) -> Iterator[Resource]:
        """Yield all rows by id.

        Args:
            started: rows that are to be stored instead of the planned ones, by id.
        """
        for name, desired in self.desired_resources.items():
            yield started.get(self.row_ids[name]) or self._row(name, desired)

    def edges(self) -> Iterator[Edge]:
        """Yield the rows of the graph."""
        return to_graph_rows(self.pairs, self.row_ids.values(), (), self.levels)

    def _row(self, name: str, desired: DesiredResource) -> Resource:
        row_id = self.row_ids[name]
        row = new_row(desired, (), self.plan_context, row_id)
        if row_id in self.early_ids:
            row = as_early(row)
        if self.adopted_resources is not None:
            row = _adopting(row, self.adopted_resources)
        transition = plan_blocked() if row_id in self.blocked_ids else plan_queued()
        return transition.apply_to(row)


def plan_new_stack(
    desired_resources: Mapping[str, DesiredResource],
    plan_context: PlanContext,
    adopted_resources: Mapping[str, AdoptedResource] | None = None,
) -> FirstPlan:
    """Plan the first traversal of a stack: CREATE, or ADOPT with what exists already."""
    row_ids, requires, levels, has_hooks = dict[str, str](), {}, {}, False
    for name, desired in desired_resources.items():
        row_ids[name] = plan_context.ids()
        if desired.requires:
            requires[name] = desired.requires
        if desired.requirement_levels:
            levels[name] = desired.requirement_levels
        has_hooks = has_hooks or bool(desired.hooks_and_restrictions)
    pairs, early = requirement_edges(row_ids, requires), requirement_levels(row_ids, levels)
    return FirstPlan(
        desired_resources,
        plan_context,
        row_ids,
        pairs,
        early,
        blocked_ids=frozenset(then for _first, then in pairs),
        early_ids=frozenset(first for first, _then in early),
        has_hooks=has_hooks,
        adopted_resources=adopted_resources,
    )


def _adopting(row: Resource, adopted_resources: Mapping[str, AdoptedResource]) -> Resource:
    adopted = adopted_resources.get(row.name, AdoptedResource(None, {}))
    return with_columns(
        row,
        job=Verb.ADOPT,
        # The id of a nested stack in a document could be another tenant's (RULE 12).
        physical_id=None if NESTED_STACK_KEY in row.desired.definition else adopted.physical_id,
        data=adopted.data,
        sensitive=row.desired.sensitive or adopted.sensitive,
        suspended=adopted.suspended,
    )
