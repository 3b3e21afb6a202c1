"""Old rows and a new goal → the jobs and edges of a traversal.

Decides what must run, what may stay as it is, what goes and in which order.  Called
under the stack's lock by ``traversal``; reads nothing but its arguments and calls
nothing but ``list_incarnations``, ``ordering`` and ``graph``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState, Verb
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.planning.desired_state import DesiredResource, PlanContext
from heat_convergence.convergence.planning.incarnations import choose_incarnations, with_job
from heat_convergence.convergence.planning.job_order import (
    physical_dependencies_of,
    to_graph_rows,
    traversal_edges,
    with_job_states,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a traversal writes.

    ``added`` are new rows, ``changed`` existing rows with a job and another
    definition, ``rescheduled`` those with a job and the definition they had, ``kept``
    the ids of rows that enter the graph ready, ``dropped`` those of rows that
    nothing in reality stands behind.  ``edges`` is the whole graph.
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
    """The traversal that makes ``rows`` into ``wanted`` and nothing else.

    ``unattempted`` are rows whose job of the last traversal never came to its turn.
    """
    chosen = choose_incarnations(rows, desired_resources, plan_context)
    leaving, dropped = _leave(rows, {row.id for row in chosen.values()}, plan_context)
    present = {row.name: row for row in _with_holds(chosen.values(), rows, unattempted)}
    absent = _with_holds(leaving, rows, unattempted)
    ready = {row.id for row in present.values() if row.job is None}
    edges = traversal_edges(
        present, absent, {name: want.requires for name, want in desired_resources.items()}
    )
    before = {row.id: row.definition_hash for row in rows}
    every = with_job_states([*present.values(), *absent], edges)
    again = [row for row in every if row.job is not None and row.id in before]
    return Plan(
        added=tuple(row for row in every if row.id not in before),
        changed=tuple(row for row in again if row.definition_hash != before[row.id]),
        rescheduled=tuple(row for row in again if row.definition_hash == before[row.id]),
        ready_ids=tuple(sorted(ready)),
        discarded_ids=dropped,
        edges=to_graph_rows(edges, [row.id for row in every], ready),
    )


def plan_action(
    rows: Sequence[Resource],
    verb: Verb,
    plan_context: PlanContext,
    unattempted: Collection[str] = (),
) -> Plan:
    """The traversal that does one thing to every resource that is there.

    SUSPEND goes from the dependents down, all else from the requirements up.  What
    an unfinished traversal was to delete stays, halted, for the next goal's.
    """
    present = {row.name: row for row in rows if row.desired is DesiredState.PRESENT}
    edges: set[tuple[str, str]] = set()
    for row in present.values():
        for name in row.requires:
            if name in present and verb is Verb.SUSPEND:
                edges.add((row.id, present[name].id))
            elif name in present:
                edges.add((present[name].id, row.id))
    rest = [row for row in rows if row.desired is DesiredState.ABSENT]
    planned = [
        replace(
            with_job(row, row.definition, plan_context, verb=verb, must_run=True),
            applied_hash=_known_applied(row),
        )
        for row in present.values()
    ]
    jobs = with_job_states(_with_holds(planned, rows, unattempted), edges)
    halted = [
        replace(row, job_state=JobState.CANCELLED, posted_at=None, observed=None, observe_at=None)
        for row in rest
        if row.job is not None
    ]
    return Plan(
        added=(),
        changed=(),
        rescheduled=(*jobs, *halted),
        ready_ids=tuple(row.id for row in rest),
        discarded_ids=(),
        edges=to_graph_rows(edges, [row.id for row in jobs], set()),
    )


def _with_holds(
    planned: Iterable[Resource], rows: Sequence[Resource], unattempted: Collection[str]
) -> list[Resource]:
    """With what they hold beside the job, by what they were before the plan."""
    before = {row.id: row for row in rows}
    serving = {row.name: row.id for row in rows if row.desired is DesiredState.PRESENT}
    return [
        row
        if row.job is None or row.id not in before
        else replace(
            row,
            physical_dependencies=physical_dependencies_of(before[row.id], serving, unattempted),
        )
        for row in planned
    ]


def _known_applied(row: Resource) -> str | None:
    """None for what an unfinished traversal was to converge: a verb does not, and the
    next goal must not take the row for done."""
    return None if row.job in (Verb.CONVERGE, Verb.ADOPT) else row.applied_hash


def _leave(
    rows: Sequence[Resource], chosen: set[str], at: PlanContext
) -> tuple[list[Resource], tuple[str, ...]]:
    """Rows that serve nothing any more: to be deleted, or never begun."""
    absent: list[Resource] = []
    dropped: list[str] = []
    for row in rows:
        if row.id in chosen:
            continue
        if _nothing_behind(row, at.now):
            dropped.append(row.id)
            continue
        planned = with_job(row, row.definition, at, verb=Verb.CONVERGE, must_run=True)
        absent.append(replace(planned, desired=DesiredState.ABSENT))
    return absent, tuple(dropped)


def _nothing_behind(row: Resource, now: datetime) -> bool:
    if row.is_leased(now):
        return False
    deleted = row.action is Action.DELETE and row.status is Status.COMPLETE
    unmade = row.action is Action.INIT and row.physical_id is None
    return deleted or (unmade and not row.awaits_stack_adoption)
