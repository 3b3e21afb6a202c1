"""Old rows and a new goal → the jobs and edges of a traversal.

Decides which incarnation serves each name, what must run, what may stay as it
is and in which order things go.  Called under the stack's lock by ``traversal``;
reads nothing but its arguments and calls nothing but ``ordering`` and ``graph``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

from heat_convergence.common.ids import IdFactory, short_id
from heat_convergence.convergence.model import (
    STEP,
    Action,
    Desired,
    Edge,
    JobState,
    Json,
    Resource,
    Status,
    Verb,
)
from heat_convergence.convergence.ordering import as_rows, holds, order, with_states
from heat_convergence.graph.graph import Graph
from heat_convergence.template.definition import HANDED, Definition, fingerprint, share
from heat_convergence.template.registry import is_template

NESTED = "nested"
MENDED = "mended"
"""Where a stored definition says that a stack is behind the resource."""

BARRED = "barred"
"""Among a row's guards: only a new incarnation would do, which the user forbids."""
_REPLACE = "replace"  # the restricted action


def stops_updates(guards: Collection[str]) -> bool:
    """Whether an update stops at the resource, changed or not."""
    return "pre-update" in guards or "post-update" in guards


REPLACED_WHEN_FAILED = frozenset(
    {Action.CREATE, Action.UPDATE, Action.CHECK, Action.ADOPT, Action.ROLLBACK}
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A definition as the plan needs it: compared by hash, stored as data; its long
    texts, in ``contents`` by their hashes, are stored once for all."""

    name: str
    type: str
    implementation: str
    definition: Mapping[str, Json]
    definition_hash: str
    requires: frozenset[str]
    draws_on: frozenset[str]
    sensitive: bool = False
    contents: Mapping[str, str] = field(default_factory=dict)
    guards: tuple[str, ...] = ()
    renewed: bool = False  # an update makes a new one, changed or not

    @classmethod
    def of(
        cls,
        definition: Definition,
        implementation: str,
        nested: Mapping[str, Json] | None = None,
        guards: tuple[str, ...] = (),
        *,
        mended: bool = False,
    ) -> Wanted:
        """``nested`` for a type with a stack behind it: what that stack is made of
        beside the properties, and what others read of it; ``mended`` for one whose
        failures an update may mend."""
        contents: dict[str, str] = {}
        dumped = share(definition.dump(), contents)
        if nested is not None:
            dumped[NESTED] = nested
        if mended:
            dumped[MENDED] = True
        return cls(
            name=definition.name,
            type=definition.type,
            implementation=implementation,
            definition=dumped,
            definition_hash=_hash(definition, nested),
            requires=definition.requires,
            draws_on=definition.draws_on,
            # What comes out of a stack may be secret, whatever went in.
            sensitive=definition.sensitive or nested is not None,
            contents=contents,
            guards=guards,
        )

    @property
    def nested(self) -> bool:
        """Whether a stack is behind it."""
        return NESTED in self.definition


def _hash(definition: Definition, nested: Mapping[str, Json] | None) -> str:
    """Of the definition and of what it requires, as an explicit ``depends_on``
    alone changes the order of deletion."""
    parts = [fingerprint(definition), *sorted(definition.requires)]
    if nested is not None:
        parts.append(json.dumps(nested, sort_keys=True))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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


class Reality(Enum):
    """What a traversal believes of resources that its goal leaves as they are."""

    RECORDED = "recorded"  # what their rows say
    OBSERVED = "observed"  # nothing, until they have been looked at


@dataclass(frozen=True, slots=True)
class Moment:
    """The when and who of a plan."""

    stack_id: str
    stack_name: str
    version: int
    now: datetime
    ids: IdFactory
    project_id: str = ""
    root_id: str = ""
    action: Action = Action.CREATE
    reality: Reality = Reality.RECORDED


def plan_goal(
    rows: Sequence[Resource],
    wanted: Mapping[str, Wanted],
    at: Moment,
    untried: Collection[str] = (),
) -> Plan:
    """The traversal that makes ``rows`` into ``wanted`` and nothing else.

    ``untried`` are rows whose job of the last traversal never came to its turn.
    """
    chosen = _choose_incarnations(rows, wanted, at)
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
            _with_job(row, row.definition, at, verb=verb, must_run=True),
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


# -- which incarnation serves a name ------------------------------------------


def _choose_incarnations(
    rows: Sequence[Resource], wanted: Mapping[str, Wanted], at: Moment
) -> dict[str, Resource]:
    by_name: dict[str, list[Resource]] = {}
    for row in rows:
        by_name.setdefault(row.name, []).append(row)
    chosen: dict[str, Resource] = {}
    dirty: set[str] = set()
    switched: set[str] = set()  # another incarnation than the one that served before
    for name in _requirements_first(wanted):
        want = wanted[name]
        drawn_dirty = not dirty.isdisjoint(want.draws_on)
        renewed = want.renewed and at.action is Action.UPDATE
        current = None if renewed else _incarnation(by_name.get(name, ()), want, drawn_dirty)
        barred = _barred(by_name.get(name, ()), want) if current is None else None
        if barred is not None:
            chosen[name] = _refusing(barred, want, at)
        elif current is None:
            chosen[name] = _new_row(want, by_name.get(name, ()), at)
        elif drawn_dirty or _runs(want, at) or not _settled(current, want):
            must_run = _runs(want, at) or not switched.isdisjoint(want.draws_on)
            chosen[name] = _continued(current, want, at, must_run=must_run)
        else:
            chosen[name] = current
            continue
        dirty.add(name)
        if current is not None and current.desired is not Desired.PRESENT:
            switched.add(name)
    return chosen


def _requirements_first(wanted: Mapping[str, Wanted]) -> Sequence[str]:
    return Graph.from_requirements(
        {name: want.requires & wanted.keys() for name, want in wanted.items()}
    ).order()


def _incarnation(
    rows: Iterable[Resource], want: Wanted, drawn_dirty: bool
) -> Resource | None:
    """The row that can go on serving the name, or None when it takes a new one."""
    usable = [row for row in rows if _usable(row, want, drawn_dirty)]
    for row in usable:
        if row.applied_hash == want.definition_hash and row.status is not Status.FAILED:
            return row
    for row in usable:
        if row.desired is Desired.PRESENT:
            return row
    return usable[-1] if usable else None


def _barred(rows: Iterable[Resource], want: Wanted) -> Resource | None:
    """The row that stays as it is because the user forbids its replacement."""
    if _REPLACE not in want.guards:
        return None
    found = (row for row in rows if row.desired is Desired.PRESENT)
    return next((row for row in found if row.physical_id and _done(row)), None)


def _done(row: Resource) -> bool:
    return row.status is not Status.IN_PROGRESS and row.action is not Action.DELETE


def _refusing(row: Resource, want: Wanted, at: Moment) -> Resource:
    """The row with a job that fails, and with the definition that reality has."""
    planned = _with_job(row, row.definition, at, verb=Verb.CONVERGE, must_run=True)
    return replace(planned, guards=(*want.guards, BARRED), replaced_by=None)


def _usable(row: Resource, want: Wanted, drawn_dirty: bool) -> bool:
    same_kind = row.implementation == want.implementation or _stacks_both(row, want)
    if row.type != want.type or not same_kind or row.action is Action.DELETE:
        return False
    if want.nested:
        return not _marked_ill(row)  # its members decide what becomes of them
    if row.definition.get("external_id") != want.definition.get("external_id"):
        return False  # ours and another's are never the same incarnation
    if row.status is Status.FAILED and row.physical_id is not None:
        return not (replaced_when_failed(row) or _not_woken(row))
    making = row.action is Action.CREATE and row.status is Status.IN_PROGRESS
    unknown = row.physical_id is None and row.action is not Action.INIT
    if making or unknown:
        # What is being made, or may be found later, was begun with other values: it
        # may never come up, and it can't be changed until it does.
        return row.definition_hash == want.definition_hash and not drawn_dirty
    return True


def _not_woken(row: Resource) -> bool:
    """Whether a goal, not a RESUME, has tried to resume it in vain: it may never come up."""
    return row.waking and MENDED not in row.definition


def replaced_when_failed(row: Resource) -> bool:
    """Whether a failure of its last action condemns it, whatever reality is like."""
    mended = MENDED in row.definition and row.action is not Action.CHECK
    return row.action in REPLACED_WHEN_FAILED and not mended


def _stacks_both(row: Resource, want: Wanted) -> bool:
    """Another template behind the same type is an update of the stack there."""
    return want.nested and is_template(want.implementation) and is_template(row.implementation)


def _marked_ill(row: Resource) -> bool:
    """CHECK_FAILED by a user's word; by a check, its job stands there halted."""
    failed = row.action is Action.CHECK and row.status is Status.FAILED
    return failed and row.job is None


def _settled(row: Resource, want: Wanted) -> bool:
    return (
        row.job is None
        and row.job_state is None  # a state without a job is nobody's doing; a job clears it
        and row.desired is Desired.PRESENT
        and row.status is Status.COMPLETE
        and row.action is not Action.INIT
        and not row.paused
        and not (want.nested and row.properties_hash is None)  # it has failed by itself
        and row.applied_hash == want.definition_hash
        and set(_lasting(row)) == set(want.guards)
    )


def _runs(want: Wanted, at: Moment) -> bool:
    """Whether the traversal comes to it, changed or not."""
    stops = at.action is Action.UPDATE and stops_updates(want.guards)
    return stops or at.reality is Reality.OBSERVED


def _new_row(want: Wanted, before: Sequence[Resource], at: Moment) -> Resource:
    identifier = at.ids()
    current = [row for row in before if row.desired is Desired.PRESENT]
    return Resource(
        id=identifier,
        stack_id=at.stack_id,
        name=want.name,
        type=want.type,
        implementation=want.implementation,
        version=at.version,
        desired=Desired.PRESENT,
        definition=want.definition,
        definition_hash=want.definition_hash,
        physical_name=physical_name(at.stack_name, want.name, identifier),
        created_at=at.now,
        requires=tuple(sorted(want.requires)),
        draws_on=tuple(sorted(want.draws_on)),
        sensitive=want.sensitive,
        guards=want.guards,
        job=Verb.CONVERGE,
        replaces=current[0].id if current else None,
        project_id=at.project_id,
        root_id=at.root_id,
    )


def _continued(row: Resource, want: Wanted, at: Moment, *, must_run: bool) -> Resource:
    own_change = row.job is not None or not _settled(row, want)
    definition = want.definition
    if handed_over(row) and row.definition_hash != want.definition_hash:
        # It is adopted as what it was handed over as, and then changed.
        as_handed = row.definition.get(HANDED, row.definition.get("properties") or {})
        definition = {**definition, HANDED: as_handed}
    planned = _with_job(
        row, definition, at, verb=Verb.CONVERGE, must_run=own_change or must_run
    )
    return replace(
        planned,
        desired=Desired.PRESENT,
        definition_hash=want.definition_hash,
        implementation=want.implementation,
        requires=tuple(sorted(want.requires)),
        draws_on=tuple(sorted(want.draws_on)),
        # What was secret stays sealed: its old values may still be in the row.
        sensitive=want.sensitive or row.sensitive,
        guards=want.guards,
        replaced_by=None,
        # Until a job has seen it in its place, no later goal takes it for done either.
        applied_hash=None if at.reality is Reality.OBSERVED else row.applied_hash,
    )


def handed_over(row: Resource) -> bool:
    """Whether it came with a physical id, or a stack behind it, and has not been looked
    at since."""
    unseen = row.physical_id is not None and row.properties is None
    return row.unadopted or (unseen and row.action in (Action.INIT, Action.ADOPT))


def _with_job(
    row: Resource, definition: Mapping[str, Json], at: Moment, *, verb: Verb, must_run: bool
) -> Resource:
    """The row with a job of this traversal; what was under way elsewhere is void."""
    return replace(
        row,
        version=at.version,
        definition=definition,
        job=verb,
        hook=None,
        must_run=must_run,
        guards=_lasting(row),
        posted_at=None,
        observed=None,
        observe_at=None,
    )


def _lasting(row: Resource) -> tuple[str, ...]:
    """Its guards that outlast a traversal: who steps does not do so in the next."""
    return tuple(guard for guard in row.guards if guard != STEP)


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
        planned = _with_job(row, row.definition, at, verb=Verb.CONVERGE, must_run=True)
        absent.append(replace(planned, desired=Desired.ABSENT))
    return absent, tuple(dropped)


def _nothing_behind(row: Resource, now: datetime) -> bool:
    if row.leased(now):
        return False
    deleted = row.action is Action.DELETE and row.status is Status.COMPLETE
    unmade = row.action is Action.INIT and row.physical_id is None
    return deleted or (unmade and not row.unadopted)


def physical_name(stack_name: str, resource_name: str, identifier: str) -> str:
    """``<stack>-<resource>-<12 characters>``, cut to 255 in the middle part."""
    tail = short_id(identifier)
    head = f"{stack_name}-{resource_name}"
    return f"{head[: 255 - len(tail) - 1]}-{tail}"
