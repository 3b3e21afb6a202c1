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
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.adjustment import Adjustment
from heat_convergence.resources.schema import TypeSchema

Json = Any
CloudOf = Callable[[str], Any]  # id of a stack tree → what its types see as the cloud


def no_cloud(tree_id: str) -> None:
    """A process without a cloud."""



@dataclass(frozen=True, slots=True)
class View:
    """All that a verb may know of its resource.

    ``properties`` are resolved, with defaults; on update and delete they are the
    ones recorded last.  ``started_at`` is when the current action began and
    ``random`` is seeded by the resource's id and action, so that a repeated
    verb draws the same numbers.  ``others`` are the resources it draws on, by name,
    for types that say ``sees_others``; ``rivals`` the physical ids of other incarnations
    that are on their way out, for types that say ``lets_go``: what only one can have,
    create and update take from them first.  ``copy_name`` is what a snapshot is to be
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
    copy_name: str = ""
    cloud: Any = None  # clients.clouds.StackCloud, for types that need one
    others: Mapping[str, View] = field(default_factory=dict)
    rivals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """How reality looks after a verb.

    ``attributes`` and ``data`` None mean unchanged.  ``again_s`` is how long to
    leave a BUSY resource before the next look, in seconds; None: until the stack
    behind it ends.  ``retry`` says of a new
    resource that is FAILED that another one may turn out better; ``error`` what such a
    failure is called.  ``resets`` are data of others, by their ids, that go back to this
    with a deletion that went well: written with its end, or not at all.
    """

    observed: Observed
    physical_id: str | None = None
    attributes: Mapping[str, Json] | None = None
    data: Mapping[str, Json] | None = None
    reason: str = ""
    again_s: float | None = 1.0
    retry: bool = False
    error: str = "ResourceInError"
    resets: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    @classmethod
    def failed(cls, error: Error) -> Look:
        """Of a look that failed itself, for good."""
        return cls(Observed.FAILED, reason=str(error), error=type(error).__name__)


@dataclass(frozen=True, slots=True)
class Signalled:
    """What a signal did.  ``reason`` is what the event tells, None to have it told
    from the signal; ``data`` and ``attributes`` None mean unchanged; ``adjust`` is what
    it wants of the group that ``scales`` names."""

    reason: str | None = None
    data: Mapping[str, Json] | None = None
    attributes: Mapping[str, Json] | None = None
    adjust: Adjustment | None = None


@dataclass(frozen=True, slots=True)
class Implied:
    """Who has ``own`` waits for every resource of ``type`` whose ``theirs`` has the same
    value; ``theirs`` None: for all of the type.  Both are paths with dots, through
    lists."""

    own: str
    type: str
    theirs: str | None = None


class NeedsReplacement(Exception):
    """Raised by ``update``: only a new incarnation can have these properties."""


class ResourceType(ABC):
    """One resource type; stateless, one object per process."""

    name: ClassVar[str]
    schema: ClassVar[TypeSchema]
    local: ClassVar[bool] = False  # True: verbs do no I/O and never block
    nested: ClassVar[bool] = False  # True: a stack is behind it
    physical_name_limit: ClassVar[int] = 255  # of what its verbs see as physical_name
    implied: ClassVar[Sequence[Implied]] = ()  # what no reference in a template tells
    old_names: ClassVar[Mapping[str, Sequence[str]]] = {}  # of properties, by path
    looks_across_stacks: ClassVar[bool] = False  # one observe_many for all stacks' views
    service: ClassVar[str | None] = None  # of the catalogue, without which: unavailable
    snapshots_on_delete: ClassVar[bool] = False  # deletion policy Snapshot is allowed
    replaced_when_check_failed: ClassVar[bool] = True
    new_at_every_update: ClassVar[bool] = False  # changed or not
    mended_when_failed: ClassVar[bool] = False  # True: an update may mend it, if it lives
    lets_go: ClassVar[bool] = False  # True: ``View.rivals`` may hold what it wants
    no_signal_during: ClassVar[frozenset[Action]] = frozenset({Action.SUSPEND, Action.DELETE})
    secret_data: ClassVar[frozenset[str]] = frozenset()  # names in data never shown
    sees_others: ClassVar[bool] = False  # True: looks at what it draws on, not only at itself

    deploys_on: ClassVar[str | None] = None  # the property that refers to a server

    @abstractmethod
    def create(self, view: View) -> Look:
        """Start to make the physical resource under ``view.physical_name``."""

    @abstractmethod
    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        """Change the physical resource in place; ``changed`` are property names,
        all of them ``update_allowed``."""

    @abstractmethod
    def delete(self, view: View) -> Look:
        """Start to delete; a resource that is gone already is ABSENT, no error."""

    @abstractmethod
    def observe(self, view: View) -> Look:
        """Read reality for ``view.action``; changes nothing."""

    def find(self, view: View) -> str | None:
        """The physical id of what an earlier, lost ``create`` made, if anything."""
        return None

    def found(self, view: View) -> Look:
        """What ``find`` has found, as ``view.physical_id``: does what the lost create
        had still to do, and looks."""
        return self.observe(view)

    def observe_many(self, views: Sequence[View]) -> Mapping[str, Look]:
        """As ``observe``, for many at once: resource id → look."""
        return {view.resource_id: self.observe(view) for view in views}

    def differs(self, view: View, look: Look) -> frozenset[str]:
        """Names of properties, all ``update_allowed``, of which reality, seen READY, has
        other values than ``view.properties``: somebody else has changed it.  None where
        the type can't tell."""
        return frozenset()

    def replaces_on(
        self, before: Mapping[str, Json], after: Mapping[str, Json], changed: frozenset[str]
    ) -> bool:
        """Whether the change needs a new incarnation though all is update_allowed."""
        return False

    def check(self, view: View) -> Look | None:
        """Compare with reality for CHECK; None when the type has no check."""
        return None

    def suspend(self, view: View) -> Look | None:
        """Start to suspend; None when the type has nothing to do for it, which
        completes at once.  The same holds of ``resume`` and ``snapshot``."""
        return None

    def resume(self, view: View) -> Look | None:
        """Start to resume what ``suspend`` stopped."""
        return None

    def snapshot(self, view: View) -> Look | None:
        """Start to take a snapshot, named in ``Look.data``, for SNAPSHOT and before
        a delete whose deletion policy asks for one.  What an earlier try has made is to
        be found by ``view.copy_name``; ``view.data`` may tell of an earlier snapshot."""
        return None

    def restored(self, data: Mapping[str, Json]) -> Mapping[str, Json]:
        """The properties that bring back what ``snapshot`` took, ``data`` being those of
        then: they go over the ones in the restored template."""
        return {}

    def delete_snapshot(self, view: View) -> None:  # most keep nothing
        """Delete what ``snapshot`` took; ``view.data`` are those of the snapshot, or
        empty where it was not seen to end: what it made is found by ``view.copy_name``,
        if there is anything.  Nothing there any more is no error."""

    def signal(self, view: View, details: Json) -> Signalled:
        """Take a signal, with what its sender told: a map, or None for nothing.

        Called in a transaction that holds the row, so that of two signals none is
        lost: no I/O.  What is to be remembered goes into ``Signalled.data`` whole,
        ``view.data`` is what was remembered before; the other verbs of a type that
        takes signals leave ``Look.data`` None, or they may undo a signal that came
        meanwhile.  After the commit the resource itself, if it is BUSY, and every BUSY
        one that needs it is looked at again without delay: a type whose ``observe``
        decides by another's signals says ``sees_others`` and reads
        ``view.others[name].data``.

        Raises ``ResourceActionNotSupported`` for a type that takes none, ``Invalid``
        for details that it can't read.  In the states ``no_signal_during`` it is not
        asked at all.
        """
        raise ResourceActionNotSupported("signal is not supported for resource.")

    def scales(self, properties: Mapping[str, Json]) -> str | None:
        """Physical id of the group whose size signals change; None for most types."""
        return None

    def reference_id(self, view: View) -> Json:
        """The value of ``get_resource``."""
        return view.physical_id or view.name

    def attribute(self, view: View, name: str) -> Json:
        """One attribute's value; None when it has none yet.  ``show`` and names
        in the schema are read from the recorded attributes."""
        return view.attributes.get(name)

    def attribute_at(self, view: View, name: str, path: tuple[Json, ...]) -> Json:
        """As ``attribute``, for types whose value depends on what is read of it; such
        answer with ``evaluate.PathApplied``."""
        return self.attribute(view, name)

    def attribute_names(self, view: View) -> Iterable[str]:
        """Names of all that it has."""
        return self.schema.attributes

    def check_external(self, physical_id: str) -> None:
        """Raises ``StackValidationFailed`` where what a template names by ``external_id``
        is not there for whoever asks."""

    def check_available(self) -> None:
        """Raises ``ResourceTypeUnavailable`` where the type's service is not there for
        who asks."""

    def metadata_of(self, view: View, given: Mapping[str, Json]) -> Mapping[str, Json]:
        """What clients read as its metadata; ``given`` are those of the template."""
        return given

    def lists_deployments(self, view: View) -> bool:
        """Whether its metadata have, as ``deployments``, what is deployed on it."""
        return False

    def takes_deployments(self, properties: Mapping[str, Json]) -> bool:
        """Whether software can be deployed on it; properties not known yet are left out."""
        return True

    def keeps_secrets(self, properties: Mapping[str, Json]) -> bool:
        """Whether one of these properties, which may be open yet, has secrets in its
        data or attributes."""
        return bool(self.secret_data)

    def validate_names(self, given: frozenset[str]) -> None:
        """Checks of which properties are given at all, their values known or not.
        Raises as ``validate``."""

    def validate(self, properties: Mapping[str, Json], timeout_s: float | None) -> None:
        """Checks beyond the schema; properties not known yet are left out.
        Raises ``StackValidationFailed`` (path relative to ``properties``)."""
