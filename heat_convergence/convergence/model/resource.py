"""Incarnations of resources in parts, and the part of them that other jobs read.

``resource_columns`` has the columns that the parts are stored in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.json_value import Json

SINGLE_STEP = "step"
"""Among a row's hooks: the jobs that it unblocks in this traversal stop as well."""

RELEASES_EARLY = "early"
"""Among a row's hooks: others may start in this traversal before its job is done."""

MARKS_ALONE = (
    (),
    (SINGLE_STEP,),
    (RELEASES_EARLY,),
    (SINGLE_STEP, RELEASES_EARLY),
    (RELEASES_EARLY, SINGLE_STEP),
)
"""The hooks of a row that has none but marks of its last traversal."""

ADOPTED_STACK = "adopted"
"""Key in a row's data: the document of the nested stack that is to be adopted."""


@dataclass(frozen=True, slots=True)
class ResourceIdentity:
    """The names by which a resource is found, and its place among stacks and incarnations.

    Attributes:
        physical_name: the name under which the physical resource is found again.
        project_id: the stack's; dispatch takes turns by it and by ``root_id``.
        replaces: id of the incarnation before this one.
        replaced_by: id of the incarnation after this one.
    """

    id: str
    stack_id: str
    name: str
    type: str
    physical_name: str
    created_at: datetime
    project_id: str = ""
    root_id: str = ""
    replaces: str | None = None
    replaced_by: str | None = None


@dataclass(frozen=True, slots=True)
class DesiredDefinition:
    """The part of the current goal that concerns the resource.

    Attributes:
        implementation: the type that the environment maps the resource's type to.
        definition: the definition, partly evaluated.
        requires: names of resources of the stack that this one needs.
        referenced_names: those of them whose values it reads.
        sensitive: whether its values have secrets, and are encrypted at rest.
        hooks_and_restrictions: those of the environment, its drift policies as words, and
            ``SINGLE_STEP``.
    """

    state: DesiredState
    implementation: str
    definition: Mapping[str, Json]
    definition_hash: str
    requires: tuple[str, ...] = ()
    referenced_names: tuple[str, ...] = ()
    sensitive: bool = False
    hooks_and_restrictions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceJob:
    """The job that a traversal has for the resource, until it is observed done.

    Attributes:
        version: the traversal.
        verb: None, as ``state``, for a resource without a job.
        must_run: False for a job that runs only if values that it reads have changed.
        touched_version: the last traversal that changed the resource's values.
        hook: the hook at which the job waits, or waited last in this traversal.
        timeline: what has happened to the job in this traversal, as marks.
    """

    version: int
    verb: Verb | None = None
    state: JobState | None = None
    must_run: bool = True
    touched_version: int | None = None
    posted_at: datetime | None = None
    hook: str | None = None
    timeline: str | None = None


@dataclass(frozen=True, slots=True)
class ResourceLease:
    """The lease of the worker that acts on the resource; empty if there is none."""

    owner: str | None = None
    token: str | None = None
    expires_at: datetime | None = None

    def is_active(self, now: datetime) -> bool:
        """Return whether a worker that may still be alive holds the lease."""
        return self.expires_at is not None and self.expires_at > now


@dataclass(frozen=True, slots=True)
class LastObservation:
    """The last observation of the physical resource, and the time of the next one."""

    state: ObservedState | None = None
    observed_at: datetime | None = None
    observe_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PhysicalState:
    """The physical resource, as the last call or observation has shown it.

    Attributes:
        applied_hash: hash of the definition that it has.
        dependencies: ids of further rows that it may use.
        properties: the properties that the service was last called with.
        properties_hash: None beside ``properties`` after an update of unknown outcome.
        suspended: whether a suspend was tried, and no resume observed since.
    """

    id: str | None = None
    applied_hash: str | None = None
    dependencies: tuple[str, ...] = ()
    suspended: bool = False
    properties_hash: str | None = None
    properties: Mapping[str, Json] | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    data: Mapping[str, Json] = field(default_factory=dict)

    @property
    def was_never_created(self) -> bool:
        """True if no creation has been completed, nor one begun that left an id."""
        return self.id is None and self.applied_hash is None

    @property
    def awaits_stack_adoption(self) -> bool:
        """True if a nested stack is to be adopted that has no row yet."""
        return self.id is None and ADOPTED_STACK in self.data


@dataclass(frozen=True, slots=True)
class ActionState:
    """The last action on the resource and its status, as the API shows them."""

    action: Action = Action.INIT
    status: Status = Status.COMPLETE
    reason: str = ""
    started_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One incarnation of a resource: a replacement is a new row."""

    identity: ResourceIdentity
    desired: DesiredDefinition
    job: ResourceJob
    lease: ResourceLease = ResourceLease()
    observation: LastObservation = LastObservation()
    physical: PhysicalState = PhysicalState()
    state: ActionState = ActionState()

    @property
    def id(self) -> str:
        """The id of the row."""
        return self.identity.id

    @property
    def name(self) -> str:
        """The name in the template."""
        return self.identity.name

    @property
    def stack_id(self) -> str:
        """The id of the stack that the resource belongs to."""
        return self.identity.stack_id

    @property
    def awaits_nested_stack(self) -> bool:
        """True if it waits for its nested stack, whose end sets ``observe_at``."""
        waits = (
            self.job.state is JobState.AWAITING_OBSERVATION
            and self.observation.state is ObservedState.BUSY
        )
        return waits and self.observation.observe_at is None

    @property
    def resuming(self) -> bool:
        """True if its job resumes it first and has another step after that."""
        converging = self.physical.suspended and self.job.verb is Verb.CONVERGE
        return converging and self.state.action is Action.RESUME


@dataclass(frozen=True, slots=True)
class InputResource:
    """The part of a resource that jobs of other resources may read."""

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
    def from_resource(cls, row: Resource) -> InputResource:
        """Return the readable part of a row."""
        return cls(
            id=row.id,
            name=row.name,
            type=row.identity.type,
            implementation=row.desired.implementation,
            physical_id=row.physical.id,
            physical_name=row.identity.physical_name,
            attributes=row.physical.attributes,
            properties={} if row.physical.properties is None else row.physical.properties,
            data=row.physical.data,
            action=row.state.action,
            status=row.state.status,
            created_at=row.identity.created_at,
        )
