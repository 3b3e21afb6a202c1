"""Plans: old rows and a new goal become the jobs and edges of a traversal.

Decides what must run, what may stay as it is, what is deleted and in which order.
Called under the stack's lock by ``traversal`` and, for previews, without.  Must read
nothing but its arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, Verb
from heat_convergence.convergence.model.job_transitions import set_aside
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.resource_columns import with_columns
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.incarnations import choose_incarnations, with_job
from heat_convergence.convergence.planning.job_order import (
    mark_early,
    physical_dependencies_of,
    requirement_levels,
    set_job_states,
    to_graph_rows,
    traversal_edges,
    without_reversals,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows and edges that a traversal writes.

    Attributes:
        added: new rows.
        changed: existing rows with a job and another definition.
        rescheduled: existing rows with a job and the definition that they had.
        ready_ids: rows that enter the graph ready.
        discarded_ids: rows without a physical resource, which are removed.
        edges: the whole graph.
    """

    added: tuple[Resource, ...]
    changed: tuple[Resource, ...]
    rescheduled: tuple[Resource, ...]
    ready_ids: tuple[str, ...]
    discarded_ids: tuple[str, ...]
    edges: tuple[Edge, ...]


def plan_goal(
    rows: Sequence[Resource],
    desired_resources: Mapping[str, DesiredResource],
    plan_context: PlanContext,
    unattempted: Collection[str] = (),
) -> Plan:
    """Plan the traversal from the stack's rows to a goal.

    Args:
        rows: all rows of the stack.
        desired_resources: the resources of the goal by name.
        plan_context: the stack, the version and the time.
        unattempted: ids of rows whose job of the last traversal never started.
    """
    chosen = choose_incarnations(rows, desired_resources, plan_context)
    unused, discarded = _plan_removals(rows, {row.id for row in chosen.values()}, plan_context)
    present = {row.name: row for row in _with_dependencies(chosen.values(), rows, unattempted)}
    absent = _with_dependencies(unused, rows, unattempted)
    ready = {row.id for row in present.values() if row.job.verb is None}
    levels = requirement_levels(
        {name: row.id for name, row in present.items()},
        {name: each.requirement_levels for name, each in desired_resources.items()},
    )
    requires = {name: desired.requires for name, desired in desired_resources.items()}
    if levels:
        levels = without_reversals(levels, [*present.values(), *absent], requires)
        present = mark_early(present, levels)
    edges = traversal_edges(present, absent, requires)
    before = {row.id: row.desired.definition_hash for row in rows}
    every = [*present.values(), *absent]
    del chosen, present, absent  # so that each row is freed when it gets a state
    set_job_states(every, edges)
    again = [row for row in every if row.job.verb is not None and row.id in before]
    return Plan(
        added=tuple(row for row in every if row.id not in before),
        changed=tuple(row for row in again if row.desired.definition_hash != before[row.id]),
        rescheduled=tuple(row for row in again if row.desired.definition_hash == before[row.id]),
        ready_ids=tuple(sorted(ready)),
        discarded_ids=discarded,
        edges=tuple(to_graph_rows(edges, [row.id for row in every], ready, levels)),
    )


def plan_action(
    rows: Sequence[Resource],
    verb: Verb,
    plan_context: PlanContext,
    unattempted: Collection[str] = (),
) -> Plan:
    """Plan the traversal of one verb over every resource that exists.

    SUSPEND goes from the dependents to the requirements, all others the other way.
    Deletions of an unfinished traversal are set aside for the next goal.
    """
    present = {row.name: row for row in rows if row.desired.state is DesiredState.PRESENT}
    edges: set[tuple[str, str]] = set()
    for row in present.values():
        for name in row.desired.requires:
            if name in present and verb is Verb.SUSPEND:
                edges.add((row.id, present[name].id))
            elif name in present:
                edges.add((present[name].id, row.id))
    absent = [row for row in rows if row.desired.state is DesiredState.ABSENT]
    planned = [
        with_columns(
            with_job(row, row.desired.definition, plan_context, verb=verb, must_run=True),
            applied_hash=_certain_applied_hash(row),
        )
        for row in present.values()
    ]
    jobs = _with_dependencies(planned, rows, unattempted)
    set_job_states(jobs, edges)
    deferred = [set_aside().apply_to(row) for row in absent if row.job.verb is not None]
    return Plan(
        added=(),
        changed=(),
        rescheduled=(*jobs, *deferred),
        ready_ids=tuple(row.id for row in absent),
        discarded_ids=(),
        edges=tuple(to_graph_rows(edges, [row.id for row in jobs], set())),
    )


def _with_dependencies(
    planned: Iterable[Resource], rows: Sequence[Resource], unattempted: Collection[str]
) -> list[Resource]:
    """Set the physical dependencies of rows with a job, by their state before the plan."""
    before = {row.id: row for row in rows}
    serving = {row.name: row.id for row in rows if row.desired.state is DesiredState.PRESENT}
    return [
        row
        if row.job.verb is None or row.id not in before
        else with_columns(
            row,
            physical_dependencies=physical_dependencies_of(before[row.id], serving, unattempted),
        )
        for row in planned
    ]


def _certain_applied_hash(row: Resource) -> str | None:
    """Return None for a row that an unfinished traversal was to converge.

    A verb does not converge it, and the next goal must not assume that it is done.
    """
    return None if row.job.verb in (Verb.CONVERGE, Verb.ADOPT) else row.physical.applied_hash


def _plan_removals(
    rows: Sequence[Resource], chosen: set[str], plan_context: PlanContext
) -> tuple[list[Resource], tuple[str, ...]]:
    """Return the rows to delete, and the ids of those that have nothing to delete."""
    absent: list[Resource] = []
    discarded: list[str] = []
    for row in rows:
        if row.id in chosen:
            continue
        if _has_no_physical_resource(row, plan_context.now):
            discarded.append(row.id)
            continue
        planned = with_job(
            row, row.desired.definition, plan_context, verb=Verb.CONVERGE, must_run=True
        )
        absent.append(with_columns(planned, desired=DesiredState.ABSENT))
    return absent, tuple(discarded)


def _has_no_physical_resource(row: Resource, now: datetime) -> bool:
    if row.lease.is_active(now):
        return False
    deleted = row.state.action is Action.DELETE and row.state.status is Status.COMPLETE
    never_created = row.state.action is Action.INIT and row.physical.id is None
    return deleted or (never_created and not row.physical.awaits_stack_adoption)
