"""A resource type that a row declares: the five verbs over any service.

Decides from the row alone how a thing is made, changed, looked at, found and deleted.
Types with behaviour derive from it and override a step.  Called by engines and
observers; must not wait for a service to finish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from heat_convergence.clients.addresses import LocalCloud
from heat_convergence.clients.rest import Cloud, Connected, Slots
from heat_convergence.common.errors import Error as AnyError
from heat_convergence.common.errors import (
    ResourceFailure,
    ResourceGone,
    ResourceTypeUnavailable,
    Retry,
    StackValidationFailed,
)
from heat_convergence.convergence.model import Action, Observed
from heat_convergence.resources.driver import asking, naming, pace, schemas
from heat_convergence.resources.driver.arguments import Arguments
from heat_convergence.resources.driver.calls import Calls
from heat_convergence.resources.driver.listing import bodies_of
from heat_convergence.resources.driver.lookups import Bodies, Found, Lookups
from heat_convergence.resources.driver.naming import DESCRIPTION
from heat_convergence.resources.driver.row import Made, Row
from heat_convergence.resources.driver.things import Mark, Thing
from heat_convergence.resources.plugin import Look, ResourceType, View

Json = Any


@dataclass(frozen=True, slots=True)
class Means:
    """What all catalogue types of a process share."""

    things: Mapping[str, Thing]
    texts: schemas.Texts
    slots: Slots
    found: Found
    bodies: Bodies


class DeclaredType(ResourceType):
    """Instances differ in their row."""

    looks_across_stacks: ClassVar[bool] = True

    def __init__(self, row: Row, means: Means) -> None:
        head = schemas.head(row.schema, row.name)
        self.row = row
        self.means = means
        self.name = row.name  # type: ignore[misc]  # one class, many types
        self.service = row.thing.service  # type: ignore[misc]
        self.schema = schemas.schema(  # type: ignore[misc]
            row.schema, row.name, means.texts, row.aliases
        )
        self.physical_name_limit = head.get("name_limit", 255)  # type: ignore[misc]
        handlers = frozenset(head.get("handlers", ()))
        self.checks = "check" in handlers
        self.mended_when_failed = head.get("mended", False)  # type: ignore[misc]
        self.snapshots_on_delete = "snapshot_delete" in handlers  # type: ignore[misc]
        self.implied = row.implied  # type: ignore[misc]
        self.old_names = _old_names(row.aliases)  # type: ignore[misc]
        names = set(self.schema.properties)
        self._in_parts = frozenset(name for part in row.parts for name in part.names)
        self._sendable = frozenset(names - self._in_parts - set(row.aliases))

    # -- verbs

    def create(self, view: View) -> Look:
        calls = self.calls(view)
        body = calls.create(self.create_arguments(view))
        return self._completed(view, calls, self.id_in(body), body)

    def found(self, view: View) -> Look:
        """What a lost create made: the rest of the work is done, whatever was done."""
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        calls = self.calls(view)
        body = calls.get(self.path_id(view.physical_id))
        return self._completed(view, calls, view.physical_id, body)

    def _completed(self, view: View, calls: Calls, thing_id: str, body: Json) -> Look:
        made = Made(calls, self.path_id(thing_id), body, self.lookups(view), view)
        if self.complete(made) and self.row.status.key is None:
            body = calls.get(self.path_id(thing_id))
        return self.look(replace(view, physical_id=thing_id), body)

    def complete(self, made: Made) -> bool:
        """What takes calls of its own after the create; whether there was any."""
        properties = made.view.properties
        parts = [part for part in self.row.parts if any(properties.get(n) for n in part.names)]
        for part in parts:
            part.put(made, properties, None)
        return bool(parts)

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        calls, thing_id = self.calls(view), self._id(view)
        names = changed & self._sendable
        body = None
        arguments = self.update_arguments(view, after, names) if names else {}
        if arguments:
            body = calls.update(thing_id, arguments)
        parts = [part for part in self.row.parts if part.names & changed]
        if parts:
            made = Made(calls, thing_id, body or {}, self.lookups(view), view)
            for part in parts:
                part.put(made, after, view.properties)
        if not body or parts:
            body = calls.get(thing_id)
        return self.look(replace(view, properties=after), body)

    def delete(self, view: View) -> Look:
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        calls, thing_id = self.calls(view), self._id(view)
        made = Made(calls, thing_id, {}, self.lookups(view), view)
        for part in self.row.parts:
            part.remove(made, view.properties)
        if not calls.delete(thing_id) or not self.row.waits_for_delete:
            return Look(Observed.ABSENT)
        return self._busy(view)

    def observe(self, view: View) -> Look:
        if view.physical_id is None:
            return Look(Observed.ABSENT)
        try:
            body = self.calls(view).get(self._id(view))
            return self.look(view, self._given_its_due(view, body))
        except ResourceGone as error:
            return Look(Observed.ABSENT, reason=str(error))

    def _given_its_due(self, view: View, body: Mapping[str, Json]) -> Mapping[str, Json]:
        """Only a look knows that the id is on record, so that the mark may go."""
        due = self._owed(view, body)
        return self.change(view, due) if due else body

    def differs(self, view: View, look: Look) -> frozenset[str]:
        """By single values that a call would send and the thing tells by the same name."""
        if type(self).update is not DeclaredType.update:
            return frozenset()  # what it changes, it changes in ways of its own
        shown = (look.attributes or {}).get("show") or {}
        told = self.arguments(view).plain(view.properties)
        return frozenset(
            name
            for name, (key, value) in told.items()
            if name in self._sendable
            and self.schema.update_allowed(name)
            and not alike(shown.get(key), value)
        )

    def _owed(self, view: View, body: Mapping[str, Json]) -> dict[str, Json]:
        return naming.owed(self.row, view, body) if view.action is Action.CREATE else {}

    def change(self, view: View, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """One call that changes what takes no more than that."""
        return self.calls(view).update(self._id(view), arguments)

    def observe_many(self, views: Sequence[View]) -> Mapping[str, Look]:
        """One list call for each project; what can't be told now is left out."""
        groups: dict[str, list[View]] = {}
        looks: dict[str, Look] = {}
        for view in views:
            if view.physical_id is None:
                looks[view.resource_id] = Look(Observed.ABSENT)
            else:
                groups.setdefault(self.cloud(view).key, []).append(view)
        for _, members in sorted(groups.items()):
            looks.update(self._observed(members))
        return looks

    def _observed(self, views: Sequence[View]) -> Mapping[str, Look]:
        try:
            if len(views) == 1 or self.row.places:
                return {view.resource_id: self.observe(view) for view in views}
            bodies = bodies_of(self.calls(views[0]), views, self._id)
            return {
                view.resource_id: self._listed(view, bodies.get(self._id(view)))
                for view in views
            }
        except AnyError as error:
            if error.retry is not Retry.NEVER:
                return {}
            if len(views) == 1:
                return {views[0].resource_id: Look.failed(error)}
            return {
                key: look for view in views for key, look in self._observed([view]).items()
            }

    def _listed(self, view: View, body: Json) -> Look:
        # RULE 10: a list that lacks it proves nothing, for lists are paged while
        # things change.
        if body is None:
            return self.observe(view)
        return self.look(view, self._given_its_due(view, body))

    def find(self, view: View) -> str | None:
        if self.row.places and not view.properties:
            return None  # nothing tells below what it was to be made
        calls = self.calls(view)
        if self.row.named:
            for body in calls.named(view.physical_name):
                if not self._is_gone(body):
                    return self.id_in(body)
        if self.row.thing.mark in (Mark.DESCRIPTION, Mark.METADATA):
            by_query = self.row.thing.marks_found_by_query
            query = {DESCRIPTION: naming.mark_of(view)} if by_query else {}
            for body in calls.list(**query):
                if naming.bears(view, body) and not self._is_gone(body):
                    return self.id_in(body)
        told = bool(view.properties) and not naming.was_marked(self.row, view)
        return self._alike(view, calls) if told and self.row.found_by_content else None

    def _is_gone(self, body: Mapping[str, Json]) -> bool:
        """Services list for a moment what they have deleted."""
        status = self.row.status
        return bool(status.key) and self._word(body) in status.gone

    def _alike(self, view: View, calls: Calls) -> str | None:
        wanted = {
            name: value
            for name, value in self.create_arguments(view).items()
            if name != DESCRIPTION
        }
        for body in calls.list():
            if all(body.get(name) == value for name, value in wanted.items()):
                return self.id_in(body)
        return None

    def check(self, view: View) -> Look | None:
        if not self.checks:
            return None
        look = self.observe(view)
        return replace(look, observed=Observed.FAILED, reason="it is gone") if (
            look.observed is Observed.ABSENT
        ) else look

    def check_external(self, physical_id: str) -> None:
        cloud, thing = asking.current(), self.row.thing
        plain = type(self).observe is DeclaredType.observe and "%(" not in thing.base
        if cloud is None or not plain:
            return
        try:
            Calls(cloud, thing).get(self.path_id(physical_id))
        except ResourceGone as error:
            raise StackValidationFailed(
                f"Invalid external resource: {self.name} ({physical_id}) is not there."
            ) from error
        except AnyError:
            return  # it can't be told now

    def check_available(self) -> None:
        cloud = asking.current()
        if cloud is None:
            return
        try:
            there = cloud.has(self.row.thing.service)
        except AnyError:
            return  # it can't be told now
        if not there:
            raise ResourceTypeUnavailable(
                f"HEAT-E99001 Service {self.row.service} is not available for resource type"
                f" {self.name}, reason: Service endpoint not in service catalog."
            )

    # -- what derived types change

    def create_arguments(self, view: View) -> dict[str, Json]:
        given = [name for name in view.properties if name in self._sendable]
        arguments = {**self.row.fixed, **self.arguments(view).of(view.properties, given)}
        return naming.marked(self.row, view, arguments)

    def update_arguments(
        self, view: View, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        if names & self.row.together:
            names |= self.row.together & self._sendable
        arguments = {
            self.row.renamed.get(name, name): value
            for name, value in self.arguments(view).of(after, names).items()
        }
        key = self.row.thing.name_key if self.row.named else None
        if key in arguments and not arguments[key]:
            arguments[key] = view.physical_name
        return arguments

    def look(self, view: View, body: Mapping[str, Json]) -> Look:
        """How things stand by the thing's own account."""
        observed, reason = self.state(view, body)
        if observed is Observed.READY and self._owed(view, body):
            observed = Observed.BUSY
        return Look(
            observed,
            physical_id=view.physical_id,
            attributes=self.recorded(view, body),
            reason=reason,
            again_s=pace.again_s(view.started_at, view.now),
        )

    def state(self, view: View, body: Mapping[str, Json]) -> tuple[Observed, str]:
        status, word = self.row.status, self._word(body)
        deleting = view.action is Action.DELETE
        if word in status.failed:
            return Observed.FAILED, self.failure(body, word)
        if deleting:
            return (Observed.ABSENT if word in status.gone else Observed.BUSY), ""
        ready = word in status.ready if status.ready is not None else word not in status.busy
        return (Observed.READY if ready else Observed.BUSY), ""

    def _word(self, body: Mapping[str, Json]) -> str:
        key = self.row.status.key
        return str(inside(body, key) or "").lower() if key else ""

    def failure(self, body: Mapping[str, Json], word: str) -> str:
        """Why it failed, as the service tells."""
        told = inside(body, self.row.status.reason) if self.row.status.reason else None
        return f"Went to status {word.upper()} due to \"{told or 'Unknown'}\""

    def recorded(self, view: View, body: Mapping[str, Json]) -> Mapping[str, Json]:
        """What is written down for ``attribute``."""
        return {"show": dict(body)}

    def attribute(self, view: View, name: str) -> Json:
        shown = view.attributes.get("show") or {}
        if name == "show":
            return shown or None
        if name in view.attributes:
            return view.attributes[name]
        return inside(shown, self.row.attributes.get(name, name))

    def id_in(self, body: Mapping[str, Json]) -> str:
        """The physical id of the thing in a body."""
        found = body.get(self.row.thing.id_key)
        if found is None:
            raise ResourceFailure(f"{self.row.thing.service} gave no {self.row.thing.id_key}")
        return str(found)

    def path_id(self, physical_id: str) -> str:
        """What stands for a physical id in a path."""
        return physical_id

    # -- below

    def _id(self, view: View) -> str:
        return self.path_id(view.physical_id or "")

    def _busy(self, view: View) -> Look:
        wait_s = pace.again_s(view.started_at, view.now)
        return Look(Observed.BUSY, physical_id=view.physical_id, again_s=wait_s)

    def cloud(self, view: View) -> Cloud:
        return cloud_of(view, self.means.slots)

    def calls(self, view: View) -> Calls:
        return Calls(self.cloud(view), self.row.thing, self._places(view))

    def others(self, view: View, noun: str, places: Mapping[str, str] | None = None) -> Calls:
        """Calls about things of another kind."""
        return Calls(self.cloud(view), self.means.things[noun], places)

    def lookups(self, view: View) -> Lookups:
        return Lookups(self.cloud(view), self.means.things, self.means.found, view.now)

    def arguments(self, view: View) -> Arguments:
        return Arguments(self.row, self.schema, self.lookups(view), view.name)

    def _places(self, view: View) -> dict[str, str]:
        found = {}
        for place, name in self.row.places.items():
            value = view.properties.get(name)
            if value is not None:
                noun = self.row.place_nouns.get(place)
                found[place] = (
                    str(value) if noun is None else self.arguments(view).value(noun, value, name)
                )
        return found


def _old_names(aliases: Mapping[str, str]) -> dict[str, list[str]]:
    """New path → old paths."""
    found: dict[str, list[str]] = {}
    for old, new in aliases.items():
        under, dot, _ = old.rpartition(".")
        found.setdefault(f"{under}{dot}{new}", []).append(old)
    return found


def inside(body: Mapping[str, Json], path: str) -> Json:
    """The value at a path of keys with dots between."""
    if path in body:
        return body[path]
    value: Json = body
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def alike(shown: Json, sent: Json) -> bool:
    """Whether a thing has what it was sent; one that tells nothing has."""
    return shown is None or str(shown).lower() == str(sent).lower()


def cloud_of(view: View, slots: Slots) -> Cloud:
    """Raises ``ResourceFailure`` where the service was given no cloud."""
    given = view.cloud
    if given is None or isinstance(given, LocalCloud):
        raise ResourceFailure(
            "There is no cloud to make it in: the service runs without Keystone."
        )
    if hasattr(given, "send"):
        sender: Cloud = given
        return sender
    return Connected(view.project_id, view.project_id, lambda: given.connection, slots)
