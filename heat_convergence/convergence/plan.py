"""Old rows and a new goal → the jobs and edges of a traversal.

Decides what must run, what may stay as it is, what goes and in which order.  Called
under the stack's lock by ``traversal``; reads nothing but its arguments and calls
nothing but ``incarnations``, ``ordering`` and ``graph``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from heat_convergence.convergence.incarnations import choose, with_job
from heat_convergence.convergence.model import (
    Action,
    Desired,
    Edge,
    JobState,
    Resource,
    Status,
    Verb,
)
from heat_convergence.convergence.ordering import as_rows, holds, order, with_states
from heat_convergence.convergence.wanted import Moment, Wanted


@dataclass(frozen=True, slots=True)
class Plan:
    """What a traversal writes.

    ``added`` are new rows, ``changed`` existing rows with a job and another
    definition, ``rejobbed`` those with a job and the definition they had, ``kept``
    the ids of rows that enter the graph ready, ``dropped`` those of rows that
    nothing in reality stands behind.  ``edges`` is the whole graph.
    """

    added: tuple[Resource, ...]
    changed: tuple[Resource, ...]
    rejobbed: tuple[Resource, ...]
    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    edges: tuple[Edge, ...]


def plan_goal(
    rows: Sequence[Resource],
    wanted: Mapping[str, Wanted],
    at: Moment,
    untried: Collection[str] = (),
) -> Plan:
    """The traversal that makes ``rows`` into ``wanted`` and nothing else.

    ``untried`` are rows whose job of the last traversal never came to its turn.
    """
    chosen = choose(rows, wanted, at)
    leaving, dropped = _leave(rows, {row.id for row in chosen.values()}, at)
    present = {row.name: row for row in _with_holds(chosen.values(), rows, untried)}
    absent = _with_holds(leaving, rows, untried)
    ready = {row.id for row in present.values() if row.job is None}
    edges = order(present, absent, {name: want.requires for name, want in wanted.items()})
    before = {row.id: row.definition_hash for row in rows}
    every = with_states([*present.values(), *absent], edges)
    again = [row for row in every if row.job is not None and row.id in before]
    return Plan(
        added=tuple(row for row in every if row.id not in before),
        changed=tuple(row for row in again if row.definition_hash != before[row.id]),
        rejobbed=tuple(row for row in again if row.definition_hash == before[row.id]),
        kept=tuple(sorted(ready)),
        dropped=dropped,
        edges=as_rows(edges, [row.id for row in every], ready),
    )


def plan_verb(
    rows: Sequence[Resource], verb: Verb, at: Moment, untried: Collection[str] = ()
) -> Plan:
    """The traversal that does one thing to every resource that is there.

    SUSPEND goes from the dependents down, all else from the requirements up.  What
    an unfinished traversal was to delete stays, halted, for the next goal's.
    """
    present = {row.name: row for row in rows if row.desired is Desired.PRESENT}
    edges: set[tuple[str, str]] = set()
    for row in present.values():
        for name in row.requires:
            if name in present and verb is Verb.SUSPEND:
                edges.add((row.id, present[name].id))
            elif name in present:
                edges.add((present[name].id, row.id))
    rest = [row for row in rows if row.desired is Desired.ABSENT]
    planned = [
        replace(
            with_job(row, row.definition, at, verb=verb, must_run=True),
            applied_hash=_known_applied(row),
        )
        for row in present.values()
    ]
    jobs = with_states(_with_holds(planned, rows, untried), edges)
    halted = [
        replace(row, job_state=JobState.HALTED, posted_at=None, observed=None, observe_at=None)
        for row in rest
        if row.job is not None
    ]
    return Plan(
        added=(),
        changed=(),
        rejobbed=(*jobs, *halted),
        kept=tuple(row.id for row in rest),
        dropped=(),
        edges=as_rows(edges, [row.id for row in jobs], set()),
    )


def _with_holds(
    planned: Iterable[Resource], rows: Sequence[Resource], untried: Collection[str]
) -> list[Resource]:
    """With what they hold beside the job, by what they were before the plan."""
    before = {row.id: row for row in rows}
    serving = {row.name: row.id for row in rows if row.desired is Desired.PRESENT}
    return [
        row
        if row.job is None or row.id not in before
        else replace(row, holds=holds(before[row.id], serving, untried))
        for row in planned
    ]


def _known_applied(row: Resource) -> str | None:
    """None for what an unfinished traversal was to converge: a verb does not, and the
    next goal must not take the row for done."""
    return None if row.job in (Verb.CONVERGE, Verb.ADOPT) else row.applied_hash


def _leave(
    rows: Sequence[Resource], chosen: set[str], at: Moment
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
        absent.append(replace(planned, desired=Desired.ABSENT))
    return absent, tuple(dropped)


def _nothing_behind(row: Resource, now: datetime) -> bool:
    if row.leased(now):
        return False
    deleted = row.action is Action.DELETE and row.status is Status.COMPLETE
    unmade = row.action is Action.INIT and row.physical_id is None
    return deleted or (unmade and not row.unadopted)
