"""The protocol of a resource type: a schema and five verbs that return quickly.

Implemented by built-in types, by the declarative driver and by third parties
(entry point group ``heat_convergence.resource_types``).  A verb never waits for
the service to finish: it starts the work and tells how reality looks now.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, ResourceActionNotSupported
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.protocol.scaling_adjustment import ScalingAdjustment
from heat_convergence.resources.protocol.schema import TypeSchema

Json = Any
CloudFactory = Callable[[str], Any]  # id of a stack tree → what its types see as the cloud


def no_cloud(tree_id: str) -> None:
    """A process without a cloud."""


@dataclass(frozen=True, slots=True)
class ResourceContext:
    """All that a verb may know of its resource.

    ``property_texts`` are resolved, with defaults; on update and delete they are the
    ones recorded last.  ``started_at`` is when the current action began and
    ``random`` is seeded by the resource's id and action, so that a repeated
    verb draws the same numbers.  ``others`` are the resources it draws on, by name,
    for types that say ``observes_dependencies``; ``rivals`` the physical ids of other incarnations
    that are on their way out, for types that say ``releases_identity``: what only one can have,
    create and update take from them first.  ``resource_snapshot_name`` is what a snapshot is to be
    saved under: the same at every try of one snapshot, and no other's.
    """

    stack_id: str
    stack_name: str
    project_id: str
    resource_id: str
    name: str
    type: str
    physical_name: str
    physical_id: str | None
    properties: Mapping[str, Json]
    attributes: Mapping[str, Json]
    data: Mapping[str, Json]
    action: Action
    started_at: datetime
    now: datetime
    random: random.Random
    timeout_s: float | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    resource_snapshot_name: str = ""
    cloud: Any = None  # clients.clouds.StackCloud, for types that need one
    dependencies: Mapping[str, ResourceContext] = field(default_factory=dict)
    predecessors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerbResult:
    """How reality looks after a verb.

    ``attributes`` and ``data`` None mean unchanged.  ``poll_after_s`` is how long to
    leave a BUSY resource before the next look, in seconds; None: until the stack
    behind it ends.  ``retry`` says of a new
    resource that is FAILED that another one may turn out better; ``error`` what such a
    failure is called.  ``resets`` are data of others, by their ids, that go back to this
    with a deletion that went well: written with its end, or not at all.
    """

    observed: ObservedState
    physical_id: str | None = None
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    reason: str = ""
    poll_after_s: float | None = 1.0
    retry_with_new_incarnation: bool = False
    error_name: str = "ResourceInError"
    data_resets: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    @classmethod
    def from_error(cls, error: Error) -> VerbResult:
        """Of a look that failed itself, for good."""
        return cls(ObservedState.FAILED, reason=str(error), error_name=type(error).__name__)


@dataclass(frozen=True, slots=True)
class SignalResult:
    """What a signal did.  ``reason`` is what the event tells, None to have it told
    from the signal; ``data`` and ``attributes`` None mean unchanged; ``adjust`` is what
    it wants of the group that ``scaled_group_id`` names."""

    reason: str | None = None
    data: Mapping[str, Json] | None = None
    attributes: Mapping[str, Json] | None = None
    scaling_adjustment: ScalingAdjustment | None = None


@dataclass(frozen=True, slots=True)
class ImplicitDependency:
    """Who has ``own`` waits for every resource of ``type`` whose ``theirs`` has the same
    value; ``theirs`` None: for all of the type.  Both are paths with dots, through
    lists."""

    own_path: str
    other_type: str
    other_path: str | None = None


class NeedsReplacement(Exception):
    """Raised by ``update``: only a new incarnation can have these properties."""


class ResourceType(ABC):
    """One resource type; stateless, one object per process."""

    name: ClassVar[str]
    schema: ClassVar[TypeSchema]
    local: ClassVar[bool] = False  # True: verbs do no I/O and never block
    has_nested_stack: ClassVar[bool] = False  # True: a stack is behind it
    physical_name_limit: ClassVar[int] = 255  # of what its verbs see as physical_name
    implicit_dependencies: ClassVar[
        Sequence[ImplicitDependency]
    ] = ()  # what no reference in a template tells
    property_aliases: ClassVar[Mapping[str, Sequence[str]]] = {}  # of properties, by path
    observes_across_stacks: ClassVar[bool] = False  # one observe_many for all stacks' views
    service: ClassVar[str | None] = None  # of the catalogue, without which: unavailable
    allows_snapshot_on_delete: ClassVar[bool] = False  # deletion policy Snapshot is allowed
    replace_when_check_failed: ClassVar[bool] = True
    replace_on_update: ClassVar[bool] = False  # changed or not
    update_repairs_failure: ClassVar[bool] = False  # True: an update may mend it, if it lives
    releases_identity: ClassVar[bool] = False  # True: ``View.rivals`` may hold what it wants
    no_signal_actions: ClassVar[frozenset[Action]] = frozenset({Action.SUSPEND, Action.DELETE})
    secret_data: ClassVar[frozenset[str]] = frozenset()  # names in data never shown
    observes_dependencies: ClassVar[bool] = (
        False  # True: looks at what it draws on, not only at itself
    )

    server_property: ClassVar[str | None] = None  # the property that refers to a server

    @abstractmethod
    def create(self, view: ResourceContext) -> VerbResult:
        """Start to make the physical resource under ``view.physical_name``."""

    @abstractmethod
    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change the physical resource in place; ``changed`` are property names,
        all of them ``update_allowed``."""

    @abstractmethod
    def delete(self, view: ResourceContext) -> VerbResult:
        """Start to delete; a resource that is gone already is ABSENT, no error."""

    @abstractmethod
    def observe(self, view: ResourceContext) -> VerbResult:
        """Read reality for ``view.action``; changes nothing."""

    def find(self, view: ResourceContext) -> str | None:
        """The physical id of what an earlier, lost ``create`` made, if anything."""
        return None

    def resume_create(self, view: ResourceContext) -> VerbResult:
        """What ``find`` has found, as ``view.physical_id``: does what the lost create
        had still to do, and looks."""
        return self.observe(view)

    def observe_many(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """As ``observe``, for many at once: resource id → look."""
        return {view.resource_id: self.observe(view) for view in views}

    def drifted_properties(self, view: ResourceContext, look: VerbResult) -> frozenset[str]:
        """Names of properties, all ``update_allowed``, of which reality, seen READY, has
        other values than ``view.property_texts``: somebody else has changed it.  None where
        the type can't tell."""
        return frozenset()

    def needs_replace(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Whether the change needs a new incarnation though all is update_allowed."""
        return False

    def check(self, view: ResourceContext) -> VerbResult | None:
        """Compare with reality for CHECK; None when the type has no check."""
        return None

    def suspend(self, view: ResourceContext) -> VerbResult | None:
        """Start to suspend; None when the type has nothing to do for it, which
        completes at once.  The same holds of ``resume`` and ``snapshot``."""
        return None

    def resume(self, view: ResourceContext) -> VerbResult | None:
        """Start to resume what ``suspend`` stopped."""
        return None

    def snapshot(self, view: ResourceContext) -> VerbResult | None:
        """Start to take a snapshot, named in ``VerbResult.data``, for SNAPSHOT and before
        a delete whose deletion policy asks for one.  What an earlier try has made is to
        be found by ``view.resource_snapshot_name``; ``view.data`` may tell of an earlier
        snapshot."""
        return None

    def restored_properties(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """The properties that bring back what ``snapshot`` took, ``data`` being those of
        then: they go over the ones in the restored template."""
        return {}

    def delete_snapshot(self, view: ResourceContext) -> None:  # most keep nothing
        """Delete what ``snapshot`` took; ``view.data`` are those of the snapshot, or
        empty where it was not seen to end: what it made is found by
        ``view.resource_snapshot_name``,
        if there is anything.  Nothing there any more is no error."""

    def signal(self, view: ResourceContext, details: Json) -> SignalResult:
        """Take a signal, with what its sender told: a map, or None for nothing.

        Called in a transaction that holds the row, so that of two signals none is
        lost: no I/O.  What is to be remembered goes into ``SignalResult.data`` whole,
        ``view.data`` is what was remembered before; the other verbs of a type that
        takes signals leave ``VerbResult.data`` None, or they may undo a signal that came
        meanwhile.  After the commit the resource itself, if it is BUSY, and every BUSY
        one that needs it is looked at again without delay: a type whose ``observe``
        decides by another's signals says ``observes_dependencies`` and reads
        ``view.others[name].data``.

        Raises ``ResourceActionNotSupported`` for a type that takes none, ``Invalid``
        for details that it can't read.  In the states ``no_signal_actions`` it is not
        asked at all.
        """
        raise ResourceActionNotSupported("signal is not supported for resource.")

    def scaled_group_id(self, properties: Mapping[str, Json]) -> str | None:
        """Physical id of the group whose size signals change; None for most types."""
        return None

    def reference_id(self, view: ResourceContext) -> Json:
        """The value of ``get_resource``."""
        return view.physical_id or view.name

    def attribute(self, view: ResourceContext, name: str) -> Json:
        """One attribute's value; None when it has none yet.  ``show`` and names
        in the schema are read from the recorded attributes."""
        return view.attributes.get(name)

    def attribute_at_path(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        """As ``attribute``, for types whose value depends on what is read of it; such
        answer with ``evaluate.ValueAtPath``."""
        return self.attribute(view, name)

    def attribute_names(self, view: ResourceContext) -> Iterable[str]:
        """Names of all that it has."""
        return self.schema.attributes

    def check_external(self, physical_id: str) -> None:
        """Raises ``StackValidationFailed`` where what a template names by ``external_id``
        is not there for whoever asks."""

    def check_available(self) -> None:
        """Raises ``ResourceTypeUnavailable`` where the type's service is not there for
        who asks."""

    def shown_metadata(
        self, view: ResourceContext, given: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """What clients read as its metadata; ``given`` are those of the template."""
        return given

    def shows_deployments(self, view: ResourceContext) -> bool:
        """Whether its metadata have, as ``deployments``, what is deployed on it."""
        return False

    def accepts_deployments(self, properties: Mapping[str, Json]) -> bool:
        """Whether software can be deployed on it; properties not known yet are left out."""
        return True

    def has_secret_data(self, properties: Mapping[str, Json]) -> bool:
        """Whether one of these properties, which may be open yet, has secrets in its
        data or attributes."""
        return bool(self.secret_data)

    def validate_property_names(self, given: frozenset[str]) -> None:
        """Checks of which properties are given at all, their values known or not.
        Raises as ``validate_properties``."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Checks beyond the schema; properties not known yet are left out.
        Raises ``StackValidationFailed`` (path relative to ``property_texts``)."""
