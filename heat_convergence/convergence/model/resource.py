"""One incarnation of a resource, and what jobs of others may read of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.job import DesiredState, JobState, ObservedState, Verb
from heat_convergence.convergence.model.json_value import Json

SINGLE_STEP = "step"
"""Among a row's guards: what it lets start in this traversal is to stop as well."""


ADOPTED_STACK = "adopted"
"""Name in a row's data: the document of the stack behind it, which is to be taken over."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One incarnation of a resource: a replacement is a new row.

    ``implementation`` is the type that the environment maps ``type`` to;
    ``definition`` what the goal wants, partly evaluated; ``property_texts`` what
    was last handed to the service.  ``requires`` and ``referenced_names`` are names in
    the same stack (``referenced_names`` those whose values are read); ``holds`` the ids of the
    rows that reality may still use beside them.  ``job`` is set until the observer has
    seen the traversal's wish for this row fulfilled; ``applied_hash`` is then the
    hash of the definition that reality has.  ``properties_hash`` None beside
    ``property_texts`` means that an update of unknown outcome may have changed them.
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
    sensitive: bool = False  # has secrets in its values: sealed at rest
    applied_hash: str | None = None
    suspended: bool = False  # suspended, or tried to be, and not seen resumed since
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
    observed: ObservedState | None = None
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
    hooks_and_restrictions: tuple[
        str, ...
    ] = ()  # hooks and restricted actions that the user set, or STEP
    hook: str | None = None  # where it is held, or was held last in this traversal

    @property
    def awaits_nested_stack(self) -> bool:
        """Whether it waits until the stack behind it ends: that one's end sets
        ``observe_at``, time does not."""
        waits = (
            self.job_state is JobState.AWAITING_OBSERVATION and self.observed is ObservedState.BUSY
        )
        return waits and self.observe_at is None

    @property
    def awaits_stack_adoption(self) -> bool:
        """Whether a stack was handed over behind it that no row stands for yet."""
        return self.physical_id is None and ADOPTED_STACK in self.data

    @property
    def resuming(self) -> bool:
        """Whether its job resumes it first, and then goes on."""
        return self.suspended and self.job is Verb.CONVERGE and self.action is Action.RESUME

    def is_leased(self, now: datetime) -> bool:
        """Whether a worker that may still be alive holds this row."""
        return self.lease_expires_at is not None and self.lease_expires_at > now


@dataclass(frozen=True, slots=True)
class InputResource:
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
    def from_resource(cls, row: Resource) -> InputResource:
        values = {name: getattr(row, name) for name in cls.__slots__}
        return cls(**{**values, "properties": row.properties or {}})
