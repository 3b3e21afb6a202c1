"""Incarnations of resources, and the part of them that other jobs read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.json_value import Json

SINGLE_STEP = "step"
"""Among a row's hooks: the jobs that it unblocks in this traversal stop as well."""

ADOPTED_STACK = "adopted"
"""Key in a row's data: the document of the nested stack that is to be adopted."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One incarnation of a resource: a replacement is a new row.

    Attributes:
        implementation: the type that the environment maps ``type`` to.
        definition: the definition that the goal desires, partly evaluated.
        requires: names of resources of the stack that this one needs.
        referenced_names: those of them whose values it reads.
        physical_dependencies: ids of further rows that the physical resource may use.
        applied_hash: hash of the definition that the physical resource has.
        job: the verb that the traversal has for the row, until it is observed done.
        properties: the properties that the service was last called with.
        properties_hash: None beside ``properties`` after an update of unknown outcome.
    """

    id: str
    stack_id: str
    name: str
    type: str
    implementation: str
    version: int
    desired: DesiredState
    definition: Mapping[str, Json]
    definition_hash: str
    physical_name: str
    created_at: datetime
    requires: tuple[str, ...] = ()
    referenced_names: tuple[str, ...] = ()
    physical_dependencies: tuple[str, ...] = ()
    sensitive: bool = False  # has secrets in its values: encrypted at rest
    applied_hash: str | None = None
    suspended: bool = False  # a suspend was tried, and no resume observed since
    job: Verb | None = None
    job_state: JobState | None = None
    must_run: bool = True  # False: runs only if values that it reads have changed
    touched_version: int | None = None  # the last traversal that changed its values
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
    observed: ObservedState | None = None
    observed_at: datetime | None = None
    observe_at: datetime | None = None
    lease_owner: str | None = None
    lease_token: str | None = None
    lease_expires_at: datetime | None = None
    replaces: str | None = None
    replaced_by: str | None = None
    updated_at: datetime | None = None
    project_id: str = ""  # of the stack; dispatch takes turns by it and by the root
    root_id: str = ""
    hooks_and_restrictions: tuple[str, ...] = ()  # of the environment, or SINGLE_STEP
    hook: str | None = None  # the hook at which it waits or waited last in this traversal

    @property
    def awaits_nested_stack(self) -> bool:
        """True if it waits for its nested stack, whose end sets ``observe_at``."""
        waits = (
            self.job_state is JobState.AWAITING_OBSERVATION and self.observed is ObservedState.BUSY
        )
        return waits and self.observe_at is None

    @property
    def awaits_stack_adoption(self) -> bool:
        """True if a nested stack is to be adopted that has no row yet."""
        return self.physical_id is None and ADOPTED_STACK in self.data

    @property
    def resuming(self) -> bool:
        """True if its job resumes it first and has another step after that."""
        return self.suspended and self.job is Verb.CONVERGE and self.action is Action.RESUME

    def is_leased(self, now: datetime) -> bool:
        """Return whether a worker that may still be alive holds the row."""
        return self.lease_expires_at is not None and self.lease_expires_at > now


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
        values = {name: getattr(row, name) for name in cls.__slots__}
        return cls(**{**values, "properties": row.properties or {}})
