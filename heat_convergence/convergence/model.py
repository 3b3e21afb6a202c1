"""The nouns of the algorithm: stacks, resources, graph rows, events.

Plain immutable records, the same in memory and from every database.  Called by
everyone above; knows no SQL, no clock and no service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

Json = Any


class Action(StrEnum):
    """What a traversal does to a stack, or a job to a resource."""

    INIT = "INIT"
    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    ROLLBACK = "ROLLBACK"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    ADOPT = "ADOPT"
    SNAPSHOT = "SNAPSHOT"
    CHECK = "CHECK"
    RESTORE = "RESTORE"


class Status(StrEnum):
    """How far an action has come."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETE = "COMPLETE"
    FAILED = "FAILED"


class Desired(StrEnum):
    """What the current goal wants of one incarnation of a resource."""

    PRESENT = "PRESENT"
    ABSENT = "ABSENT"


class Verb(StrEnum):
    """What a traversal asks of a resource.

    CONVERGE makes reality as desired: create, update, replace or delete, found
    out from the row when the job starts.  The others are the stack action's own.
    """

    CONVERGE = "CONVERGE"
    SUSPEND = "SUSPEND"
    RESUME = "RESUME"
    CHECK = "CHECK"
    SNAPSHOT = "SNAPSHOT"
    ADOPT = "ADOPT"


class JobState(StrEnum):
    """Where a job stands between the plan and being observed ready."""

    BLOCKED = "blocked"  # something it needs is not ready
    HELD = "held"  # nothing stands before it but a breakpoint
    QUEUED = "queued"  # a leaf, waiting for room among its stack's jobs in flight
    DUE = "due"  # has that room; waits for its project's turn on the bus
    POSTED = "posted"  # on the bus; no worker has it yet
    BEGUN = "begun"  # in a worker's hands
    WATCHED = "watched"  # recorded by a worker; the observer says what becomes of it
    RETRY = "retry"  # failed for now; posted again when its time comes
    REPLACE = "replace"  # only a new incarnation will do; the observer makes it
    HALTED = "halted"  # its stack stopped before it was done


IN_FLIGHT = frozenset(
    {
        JobState.POSTED,
        JobState.BEGUN,
        JobState.WATCHED,
        JobState.RETRY,
        JobState.REPLACE,
    }
)
HAS_ROOM = IN_FLIGHT | {JobState.DUE}  # what counts against a stack's jobs in flight


class Observed(StrEnum):
    """What reality looked like at the last look."""

    READY = "READY"
    BUSY = "BUSY"  # exists, on its way
    FAILED = "FAILED"
    ABSENT = "ABSENT"
    SPARED = "SPARED"  # not looked at, nor touched: the user restricts what was to be done


@dataclass(frozen=True, slots=True)
class Goal:
    """What one traversal is to reach, as the user gave it.

    ``template_hash`` and the values of ``files`` (name → hash) point into the
    content store.  ``outputs`` are partly evaluated, ``parameters`` resolved.
    """

    id: str
    stack_id: str
    version: int
    template_hash: str
    environment: Mapping[str, Json]
    files: Mapping[str, str]
    parameters: Mapping[str, Json]
    outputs: Mapping[str, Json]
    description: str
    created_at: datetime
    sensitive: bool = False  # has values of hidden parameters: sealed at rest
    shared: tuple[str, ...] = ()  # contents that it and its resources' definitions lead to
    inherited: str | None = None  # hash of what it has in common with others: ``apart``


@dataclass(frozen=True, slots=True)
class SavedStack:
    """A snapshot that a user took: the goal to go back to, and what there was.

    ``version`` is that of the SNAPSHOT traversal which ends it; ``action`` CREATE, or
    DELETE while what its resources saved is being deleted: at ``delete_at``, after
    ``tries`` in vain.  ``data`` is as an abandoned stack's.
    """

    id: str
    stack_id: str
    project_id: str
    name: str | None
    version: int
    action: Action
    status: Status
    status_reason: str
    goal_id: str
    created_at: datetime
    data: Mapping[str, Json] | None = None
    delete_at: datetime | None = None
    tries: int = 0
    sensitive: bool = False  # has secrets in its data: sealed at rest


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack and the state of its newest traversal."""

    id: str
    name: str
    project_id: str
    version: int
    action: Action
    status: Status
    status_reason: str
    goal_id: str
    created_at: datetime
    username: str | None = None
    complete_goal_id: str | None = None  # what a rollback returns to
    disable_rollback: bool = True
    timeout_mins: int | None = None
    deadline_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    owner_id: str | None = None  # the parent stack
    owner_resource_id: str | None = None  # the row there that this stack is behind
    root_id: str | None = None
    depth: int = 0
    parent_resource: str | None = None
    tags: tuple[str, ...] = ()
    begun_at: datetime | None = None  # when the newest traversal began
    first_cause: str | None = None  # set when a job failed and others still run

    @property
    def in_progress(self) -> bool:
        return self.status is Status.IN_PROGRESS

    @property
    def at_goal(self) -> bool:
        """Whether the goal that stands was reached, whatever came over the stack since."""
        return self.complete_goal_id == self.goal_id

    @property
    def tree_id(self) -> str:
        """The root of the tree that the stack belongs to."""
        return self.root_id or self.id


STEP = "step"
"""Among a row's guards: what it lets start in this traversal is to stop as well."""

ADOPTED = "adopted"
"""Name in a row's data: the document of the stack behind it, which is to be taken over."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One incarnation of a resource: a replacement is a new row.

    ``implementation`` is the type that the environment maps ``type`` to;
    ``definition`` what the goal wants, partly evaluated; ``properties`` what
    was last handed to the service.  ``requires`` and ``draws_on`` are names in
    the same stack (``draws_on`` those whose values are read); ``holds`` the ids of the
    rows that reality may still use beside them.  ``job`` is set until the observer has
    seen the traversal's wish for this row fulfilled; ``applied_hash`` is then the
    hash of the definition that reality has.  ``properties_hash`` None beside
    ``properties`` means that an update of unknown outcome may have changed them.
    """

    id: str
    stack_id: str
    name: str
    type: str
    implementation: str
    version: int
    desired: Desired
    definition: Mapping[str, Json]
    definition_hash: str
    physical_name: str
    created_at: datetime
    requires: tuple[str, ...] = ()
    draws_on: tuple[str, ...] = ()
    holds: tuple[str, ...] = ()
    sensitive: bool = False  # has secrets in its values: sealed at rest
    applied_hash: str | None = None
    paused: bool = False  # suspended, or tried to be, and not seen resumed since
    job: Verb | None = None
    job_state: JobState | None = None
    must_run: bool = True  # False: only if something it draws on was touched
    touched_version: int | None = None  # last traversal that changed its values
    posted_at: datetime | None = None
    physical_id: str | None = None
    properties: Mapping[str, Json] | None = None
    properties_hash: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    data: Mapping[str, Json] = field(default_factory=dict)
    action: Action = Action.INIT
    status: Status = Status.COMPLETE
    status_reason: str = ""
    action_started_at: datetime | None = None
    observed: Observed | None = None
    observed_at: datetime | None = None
    observe_at: datetime | None = None
    lease_owner: str | None = None
    lease_token: str | None = None
    lease_expires_at: datetime | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    updated_at: datetime | None = None
    project_id: str = ""  # the stack's, and the root of its tree: whose turn it is
    root_id: str = ""
    guards: tuple[str, ...] = ()  # hooks and restricted actions that the user set, or STEP
    hook: str | None = None  # where it is held, or was held last in this traversal

    @property
    def awaits_stack(self) -> bool:
        """Whether it waits until the stack behind it ends: that one's end sets
        ``observe_at``, time does not."""
        waits = self.job_state is JobState.WATCHED and self.observed is Observed.BUSY
        return waits and self.observe_at is None

    @property
    def unadopted(self) -> bool:
        """Whether a stack was handed over behind it that no row stands for yet."""
        return self.physical_id is None and ADOPTED in self.data

    @property
    def waking(self) -> bool:
        """Whether its job resumes it first, and then goes on."""
        return self.paused and self.job is Verb.CONVERGE and self.action is Action.RESUME

    def leased(self, now: datetime) -> bool:
        """Whether a worker that may still be alive holds this row."""
        return self.lease_expires_at is not None and self.lease_expires_at > now


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of ``resource_graph``: ``resource_id`` must be ready before
    ``needed_by`` starts; ``needed_by`` None for what nothing needs."""

    resource_id: str
    needed_by: str | None
    observed_ready: bool = False
    retry_count: int = 0  # only when it is written


@dataclass(frozen=True, slots=True)
class Event:
    """One change of state, as the events API tells it."""

    id: str
    stack_id: str
    resource_name: str
    resource_type: str
    physical_id: str | None
    action: Action | str
    status: Status
    reason: str
    created_at: datetime
    properties: Mapping[str, Json] | None = None
    sensitive: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """What a job may read of a resource that it draws on."""

    id: str
    name: str
    type: str
    implementation: str
    physical_id: str | None
    physical_name: str
    attributes: Mapping[str, Json]
    properties: Mapping[str, Json]
    data: Mapping[str, Json]
    action: Action
    status: Status
    created_at: datetime | None = None

    @classmethod
    def of(cls, row: Resource) -> Input:
        values = {name: getattr(row, name) for name in cls.__slots__}
        return cls(**{**values, "properties": row.properties or {}})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stack waits at a breakpoint: ``path`` are names of resources from the
    stack down to what is HELD at ``hook``."""

    stack_id: str
    path: tuple[str, ...]
    hook: str


@dataclass(frozen=True, slots=True)
class Service:
    """A daemon's worker process; its identity is new at every start."""

    id: str
    binary: str
    hostname: str
    host: str
    topic: str
    report_interval_s: int
    created_at: datetime
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
