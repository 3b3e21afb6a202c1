"""The ten rules that always hold, as functions over what is written and what is real.

Decides whether a state, or a step from one state to the next, breaks a rule of the
design (section 4).  Called by the simulator after every step; whoever judges a
deployment's rows can use it too.  It must not know how the state came about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.graph_edge import Edge
from heat_convergence.convergence.model.job import DesiredState, JobState
from heat_convergence.convergence.model.json_value import Json
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.graph.graph import Graph


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule, by its number, and how it shows."""

    rule: int
    message: str

    def __str__(self) -> str:
        return f"rule {self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class ActualResource:
    """One thing in the cloud, from the account that the cloud itself keeps.

    ``uses`` are the ids of things that its properties name.  ``changed_externally``: changed
    or deleted behind the service's back; what is gone stays in the account.
    """

    id: str
    name: str
    type: str
    stack_id: str
    resource_id: str
    properties: Mapping[str, Json]
    used_ids: frozenset[str] = frozenset()
    exists: bool = True
    ready: bool = True
    suspended: bool = False
    changed_externally: bool = False


@dataclass(frozen=True, slots=True)
class StackState:
    """What is written of one stack; ``edges`` are those of its version."""

    stack: Stack
    resources: tuple[Resource, ...]
    edges: tuple[Edge, ...]

    @property
    def by_id(self) -> dict[str, Resource]:
        return {row.id: row for row in self.resources}


@dataclass(frozen=True, slots=True)
class CloudCall:
    """A call to the cloud that is about to happen, by a job of ``version``."""

    action: Action
    resource_id: str
    version: int
    lease_token: str
    physical_id: str | None


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of one actor: a transaction committed, a call made, a request refused.

    ``tokens`` are the leases that the actor's current piece of work has taken,
    ``engine`` its owner's identity where the actor is an engine.  ``expected_properties`` has,
    by resource name, the properties that the goal gives: of a stack at its goal; null
    for what a stack is behind.
    """

    now: datetime
    after: StackState
    before: StackState | None = None
    engine_id: str | None = None
    lease_tokens: frozenset[str] = frozenset()
    call: CloudCall | None = None
    rejection: str | None = None
    actual_resources: Mapping[str, ActualResource] = field(default_factory=dict)
    expected_properties: Mapping[str, Mapping[str, Json] | None] | None = None


ViolationMessages = Iterable[str]
_GOES_ON = frozenset(
    {Action.CREATE, Action.UPDATE, Action.ROLLBACK, Action.RESTORE, Action.RESUME}
)
_VERBS = frozenset({Action.SUSPEND, Action.RESUME, Action.CHECK, Action.SNAPSHOT})


def find_violations(step: Transition) -> list[Violation]:
    """All that the step breaks, in the order of the rules."""
    return [
        Violation(number, message)
        for number, rule in enumerate(INVARIANTS, start=1)
        for message in rule(step)
    ]


# -- the rules ----------------------------------------------------------------


def rule_1(step: Transition) -> ViolationMessages:
    """Rows alone lead to everything that can be done: no message is needed."""
    stack = step.after.stack
    for row in step.after.resources:
        if row.job_state in (JobState.RETRY, JobState.REPLACE) and row.observe_at is None:
            yield f"{_of(row)} is in {row.job_state} and no time is set to look at it"
        if row.job_state is JobState.POSTED and row.observe_at is None and row.posted_at is None:
            yield f"{_of(row)} is posted, but nobody would miss it"
        if (row.job is None) != (row.job_state is None):
            yield f"{_of(row)} has job {row.job} in state {row.job_state}"
    if stack.in_progress and stack.first_failure_reason is None:
        unready = _unready_needs(step.after)
        for row in step.after.resources:
            if row.job_state is JobState.BLOCKED and row.id not in unready:
                yield f"{_of(row)} waits for nothing and is not queued"


def rule_2(step: Transition) -> ViolationMessages:
    """A job runs only when all that it needs is observed ready."""
    unready = _unready_needs(step.after)
    for row in _claimed(step):
        if row.id in unready:
            yield f"{_of(row)} was claimed before what it needs was ready"
    call = step.call
    current = call is not None and call.version == step.after.stack.version
    if call is not None and current and call.resource_id in unready:
        yield f"{call.action} of {call.resource_id} is called before what it needs is ready"
    if step.after.stack.in_progress:
        yield from _readiness_against_jobs(step.after)


def rule_3(step: Transition) -> ViolationMessages:
    """One worker at a time acts on a resource; a late one writes nothing."""
    if step.call is not None:
        held = step.after.by_id.get(step.call.resource_id)
        if held is None or held.lease_token != step.call.lease_token:
            yield f"{step.call.action} of {step.call.resource_id} is called without a lease"
    if step.before is None or step.engine_id is None:
        return
    if step.before.stack.version == step.after.stack.version:  # else it begins the traversal
        yield from _late_writes(step, step.before)


def rule_4(step: Transition) -> ViolationMessages:
    """Intent is recorded before the call, and everything made is known by a row."""
    if step.call is not None:
        yield from _intent(step.call, step.after)
        adopting = step.after.stack.action is Action.ADOPT
        if adopting and step.call.action is Action.CREATE and step.call.version == 1:
            yield f"{step.call.resource_id} is created where all is there to be adopted"
    yield from _orphans(step)
    made: dict[str, list[str]] = {}
    several = {
        row.id for row in step.after.resources if row.awaits_stack_adoption
    }  # all in the stack behind
    for thing in _alive(step):
        if thing.resource_id not in several:
            made.setdefault(thing.resource_id, []).append(thing.id)
    for resource_id, ids in sorted(made.items()):
        if len(ids) > 1:
            yield f"resource {resource_id} exists more than once: {', '.join(sorted(ids))}"


def rule_5(step: Transition) -> ViolationMessages:
    """Deleted only when the goal does not want it and nothing that used it still does."""
    call = step.call
    if call is None or call.action is not Action.DELETE:
        return
    row = step.after.by_id.get(call.resource_id)
    if call.version == step.after.stack.version and (
        row is not None and row.desired is DesiredState.PRESENT
    ):
        yield f"{_of(row)} is wanted and is being deleted"
    if row is not None and call.version == row.version and _retained(row):
        yield f"{_of(row)} is to be retained and is being deleted"
    for user in _alive(step):
        if call.physical_id in user.used_ids and user.resource_id in step.after.by_id:
            yield f"{call.physical_id} is being deleted while {user.id} uses it"


def rule_6(step: Transition) -> ViolationMessages:
    """A job of an older version starts nothing."""
    for row in _claimed(step):
        if row.version != step.after.stack.version:
            yield f"{_of(row)} was claimed for version {row.version} of the stack"
        if not step.after.stack.in_progress:
            yield f"{_of(row)} was claimed though its stack is at rest"


def rule_7(step: Transition) -> ViolationMessages:
    """COMPLETE only when reality equals the template and nothing else is left."""
    stack = step.after.stack
    just_now = step.before is None or step.before.stack.in_progress
    if stack.status is not Status.COMPLETE or not just_now:
        return
    # SUSPEND, RESUME and CHECK leave to the next update what an earlier one left.
    verb = stack.action in _VERBS
    for row in step.after.resources:
        if row.job is not None and not (verb and row.job_state is JobState.CANCELLED):
            yield f"stack {stack.name} is COMPLETE and {_of(row)} has a job"
        if row.desired is DesiredState.ABSENT and not verb:
            yield f"stack {stack.name} is COMPLETE and {_of(row)} is left, which nobody wants"
    yield from _suspended_or_not(step)
    if step.expected_properties is not None:
        yield from _differences(step, step.expected_properties)


def _suspended_or_not(step: Transition) -> ViolationMessages:
    stack = step.after.stack
    wanted = {row.id for row in step.after.resources if row.desired is DesiredState.PRESENT}
    for thing in _alive(step):
        if thing.resource_id not in wanted or thing.changed_externally:
            continue
        if stack.action is Action.SUSPEND and not thing.suspended:
            yield f"stack {stack.name} is suspended, but {thing.id} runs"
        if stack.action in _GOES_ON and thing.suspended:
            yield f"stack {stack.name} is at its goal, and {thing.id} is suspended"


def rule_8(step: Transition) -> ViolationMessages:
    """Users' requests are accepted at any time; only a state's own nature refuses."""
    if step.rejection not in (None, "NotSupported"):
        yield f"a request about stack {step.after.stack.name} was refused: {step.rejection}"


def rule_9(step: Transition) -> ViolationMessages:
    """No stack stays IN_PROGRESS for want of a worker."""
    stack = step.after.stack
    if not stack.in_progress:
        return
    if stack.deadline_at is None or stack.started_at is None:
        yield f"stack {stack.name} is in progress and no time is set for its end"
    if stack.first_failure_reason is None:
        for row in step.after.resources:
            left = stack.action in _VERBS and row.desired is DesiredState.ABSENT
            if row.job_state is JobState.CANCELLED and not left:
                yield f"{_of(row)} is halted in a stack that goes on"
    if _ring(step.after.edges):
        yield f"the graph of stack {stack.name} has a ring"


def rule_10(step: Transition) -> ViolationMessages:
    """A stack at rest is not set to work by what is observed, least of all rebuilt."""
    before = step.before
    if before is None or before.stack.in_progress:
        return
    if step.after.stack.version != before.stack.version:
        return
    known = before.by_id
    for row in step.after.resources:
        was = known.get(row.id)
        if was is None:
            yield f"{_of(row)} appeared in a stack at rest"
        elif was.job is None and row.job is not None:
            yield f"{_of(row)} was given a job in a stack at rest"


INVARIANTS: Sequence[Callable[[Transition], ViolationMessages]] = (
    rule_1,
    rule_2,
    rule_3,
    rule_4,
    rule_5,
    rule_6,
    rule_7,
    rule_8,
    rule_9,
    rule_10,
)


# -- helpers ------------------------------------------------------------------


def _of(row: Resource) -> str:
    return f"{row.name} ({row.id})"


def _unready_needs(snapshot: StackState) -> set[str]:
    return {
        edge.needed_by
        for edge in snapshot.edges
        if edge.needed_by is not None and not edge.observed_ready
    }


def _claimed(step: Transition) -> list[Resource]:
    if step.before is None or step.engine_id is None:
        return []
    before = step.before.by_id
    return [
        row
        for row in step.after.resources
        if row.lease_token is not None
        and (row.id not in before or before[row.id].lease_token != row.lease_token)
    ]


def _same_but_for_expiry(was: Resource, row: Resource) -> bool:
    return all(
        getattr(was, name) == getattr(row, name)
        for name in Resource.__slots__
        if name != "lease_expires_at"
    )


def _readiness_against_jobs(snapshot: StackState) -> ViolationMessages:
    """A resource is marked ready exactly when its job is done."""
    ready: dict[str, bool] = {}
    for edge in snapshot.edges:
        ready.setdefault(edge.resource_id, edge.observed_ready)
        if ready[edge.resource_id] != edge.observed_ready:
            yield f"resource {edge.resource_id} is both ready and not"
    for row in snapshot.resources:
        if row.id in ready and ready[row.id] != (row.job is None):
            yield f"{_of(row)} has job {row.job} and is marked ready={ready[row.id]}"
        if row.job is not None and row.id not in ready and row.job_state is not JobState.CANCELLED:
            yield f"{_of(row)} has a job and stands nowhere in the graph"


def _retained(row: Resource) -> bool:
    return row.definition.get("deletion_policy") == "Retain"


def _intent(call: CloudCall, snapshot: StackState) -> ViolationMessages:
    row = snapshot.by_id.get(call.resource_id)
    if row is None:
        yield f"{call.action} of {call.resource_id} is called, which has no row"
    elif row.lease_token == call.lease_token and row.version == call.version:
        stopped = not snapshot.stack.in_progress  # its jobs show FAILED already
        saving = call.action is Action.SNAPSHOT and row.action is Action.DELETE
        right = row.action is call.action or saving
        if not right or not (row.status is Status.IN_PROGRESS or stopped):
            yield f"{_of(row)} shows {row.action} {row.status} when {call.action} is called"


def _alive(step: Transition) -> list[ActualResource]:
    mine = step.after.stack.id
    return [
        thing
        for _id, thing in sorted(step.actual_resources.items())
        if thing.exists and thing.stack_id == mine
    ]


def _orphans(step: Transition) -> ViolationMessages:
    rows = step.after.by_id
    for thing in _alive(step):
        row = rows.get(thing.resource_id)
        if row is None:
            yield f"{thing.id} exists and no row knows it"
        elif row.physical_id not in (None, thing.id):
            yield f"{thing.id} was made for {_of(row)}, which has {row.physical_id}"
        elif (
            row.physical_id is None and row.action is Action.INIT and not row.awaits_stack_adoption
        ):
            yield f"{thing.id} exists, but {_of(row)} says it was never begun"


def _differences(
    step: Transition, expected: Mapping[str, Mapping[str, Json] | None]
) -> ViolationMessages:
    rows = {row.name: row for row in step.after.resources if row.desired is DesiredState.PRESENT}
    if len(rows) != len(
        [row for row in step.after.resources if row.desired is DesiredState.PRESENT]
    ):
        yield "a resource is there in more than one incarnation"
    if set(rows) != set(expected):
        yield f"there are {sorted(rows)}, the template has {sorted(expected)}"
    for name, properties in sorted(expected.items()):
        row = rows.get(name)
        thing = step.actual_resources.get((row.physical_id if row else None) or "")
        if row is None or properties is None or (thing is not None and _disturbed(thing, step)):
            continue
        if thing is None or not thing.exists:
            yield f"{_of(row)} does not exist: {row.physical_id}"
        elif dict(thing.properties) != dict(properties):
            yield f"{_of(row)} is {dict(thing.properties)}, should be {dict(properties)}"
        elif not thing.ready:
            yield f"{_of(row)} is not up"
    known = {row.physical_id for row in rows.values()}
    for thing in _alive(step):
        if thing.id not in known:
            yield f"{thing.id} is left over"


def _disturbed(thing: ActualResource, step: Transition) -> bool:
    """Others changed it, or what its properties were read from."""
    return thing.changed_externally or any(
        used in step.actual_resources and step.actual_resources[used].changed_externally
        for used in thing.used_ids
    )


def _ring(edges: Sequence[Edge]) -> bool:
    needs: dict[str, set[str]] = {}
    for edge in edges:
        if edge.needed_by is not None and not edge.observed_ready:
            needs.setdefault(edge.needed_by, set()).add(edge.resource_id)
    return Graph.from_requirements(needs).find_cycle() is not None


def _got_its_turn(was: Resource, row: Resource) -> bool:
    """Who takes jobs off the bus puts others on it; that is no claim."""
    return was.job_state is JobState.SCHEDULABLE and row == replace(
        was, job_state=JobState.POSTED, posted_at=row.posted_at
    )


def _late_writes(step: Transition, snapshot: StackState) -> ViolationMessages:
    before = snapshot.by_id
    for row in step.after.resources:
        was = before.get(row.id)
        if was is None or row == replace(was, root_id=row.root_id):
            continue  # which tree it is of says nothing about it
        if row.lease_token is not None and row.lease_token != was.lease_token:
            if was.is_leased(step.now):
                yield f"{_of(row)} was claimed while {was.lease_owner} held it"
        elif was.lease_token is not None and was.lease_token not in step.lease_tokens:
            renewed = was.lease_owner == step.engine_id and _same_but_for_expiry(was, row)
            if not (renewed or _got_its_turn(was, row)):
                yield f"{_of(row)} was written under a lease that another one has"
        elif was.lease_token is None and not (
            _same_but_for_expiry(was, row) or _got_its_turn(was, row)
        ):
            yield f"{_of(row)} was written by an engine without a lease"
