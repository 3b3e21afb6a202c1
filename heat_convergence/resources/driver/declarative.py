"""A resource type that a row declares: the five verbs over any service.

Decides from the row alone how a thing is made, changed, looked at, found and deleted.
Types with behaviour derive from it and override a step.  Called by engines and
observers; must not wait for a service to finish.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.rest_client import CloudClient, RequestLimiter, SdkCloudClient
from heat_convergence.common.errors import Error as AnyError
from heat_convergence.common.errors import (
    ResourceFailure,
    ResourceGone,
    ResourceTypeUnavailable,
    Retry,
    StackValidationFailed,
)
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import (
    ownership_marks,
    poll_interval,
    request_cloud,
    schema_loader,
)
from heat_convergence.resources.driver.arguments import ArgumentBuilder
from heat_convergence.resources.driver.bulk_reads import read_bodies
from heat_convergence.resources.driver.id_lookup import BodyCache, IdCache, IdLookup
from heat_convergence.resources.driver.ownership_marks import DESCRIPTION
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import OwnershipMarkField, RestResource
from heat_convergence.resources.driver.type_spec import PhysicalResource, TypeSpec
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)

Json = Any


@dataclass(frozen=True, slots=True)
class DriverContext:
    """What all catalogue types of a process share."""

    rest_resources: Mapping[str, RestResource]
    descriptions: schema_loader.Descriptions
    connection_slots: RequestLimiter
    id_cache: IdCache
    body_cache: BodyCache


class DeclarativeType(ResourceType):
    """Instances differ in their row."""

    observes_across_stacks: ClassVar[bool] = True

    def __init__(self, spec: TypeSpec, context: DriverContext) -> None:
        head = schema_loader.type_header(spec.schema_file, spec.name)
        self.spec = spec
        self.context = context
        self.name = spec.name  # type: ignore[misc]  # one class, many types
        self.service = spec.rest_resource.service  # type: ignore[misc]
        self.schema = schema_loader.load_schema(  # type: ignore[misc]
            spec.schema_file, spec.name, context.descriptions, spec.aliases
        )
        self.physical_name_limit = head.get("name_limit", 255)  # type: ignore[misc]
        handlers = frozenset(head.get("handlers", ()))
        self.supports_check = "check" in handlers
        self.update_repairs_failure = head.get("mended", False)  # type: ignore[misc]
        self.allows_snapshot_on_delete = "snapshot_delete" in handlers  # type: ignore[misc]
        self.implicit_dependencies = spec.implicit_dependencies  # type: ignore[misc]
        self.property_aliases = _old_names(spec.aliases)  # type: ignore[misc]
        names = set(self.schema.properties)
        self._in_parts = frozenset(
            name for part in spec.subresources for name in part.property_names
        )
        self._sendable = frozenset(names - self._in_parts - set(spec.aliases))

    # -- verbs

    def create(self, view: ResourceContext) -> VerbResult:
        calls = self.client(view)
        body = calls.create(self.create_arguments(view))
        return self._completed(view, calls, self.extract_id(body), body)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        """What a lost create made: the rest of the work is done, whatever was done."""
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        calls = self.client(view)
        body = calls.get(self.path_id(view.physical_id))
        return self._completed(view, calls, view.physical_id, body)

    def _completed(
        self, view: ResourceContext, calls: RestResourceClient, thing_id: str, body: Json
    ) -> VerbResult:
        made = PhysicalResource(calls, self.path_id(thing_id), body, self.id_lookup(view), view)
        if self.create_subresources(made) and self.spec.status_mapping.body_key is None:
            body = calls.get(self.path_id(thing_id))
        return self.to_result(replace(view, physical_id=thing_id), body)

    def create_subresources(self, made: PhysicalResource) -> bool:
        """What takes calls of its own after the create; whether there was any."""
        properties = made.context.properties
        parts = [
            part
            for part in self.spec.subresources
            if any(properties.get(n) for n in part.property_names)
        ]
        for part in parts:
            part.apply(made, properties, None)
        return bool(parts)

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        calls, thing_id = self.client(view), self._id(view)
        names = changed & self._sendable
        body = None
        arguments = self.update_arguments(view, after, names) if names else {}
        if arguments:
            body = calls.update(thing_id, arguments)
        parts = [part for part in self.spec.subresources if part.property_names & changed]
        if parts:
            made = PhysicalResource(calls, thing_id, body or {}, self.id_lookup(view), view)
            for part in parts:
                part.apply(made, after, view.properties)
        if not body or parts:
            body = calls.get(thing_id)
        return self.to_result(replace(view, properties=after), body)

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        calls, thing_id = self.client(view), self._id(view)
        made = PhysicalResource(calls, thing_id, {}, self.id_lookup(view), view)
        for part in self.spec.subresources:
            part.remove(made, view.properties)
        if not calls.delete(thing_id) or not self.spec.deletes_asynchronously:
            return VerbResult(ObservedState.ABSENT)
        return self._busy(view)

    def observe(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            body = self.client(view).get(self._id(view))
            return self.to_result(view, self._given_its_due(view, body))
        except ResourceGone as error:
            return VerbResult(ObservedState.ABSENT, reason=str(error))

    def _given_its_due(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Only a look knows that the id is on record, so that the mark may go."""
        due = self._owed(view, body)
        return self.apply_change(view, due) if due else body

    def drifted_properties(self, view: ResourceContext, look: VerbResult) -> frozenset[str]:
        """By single values that a call would send and the thing tells by the same name."""
        if type(self).update is not DeclarativeType.update:
            return frozenset()  # what it changes, it changes in ways of its own
        shown = (look.attributes or {}).get("show") or {}
        told = self.argument_builder(view).build_scalars(view.properties)
        return frozenset(
            name
            for name, (key, value) in told.items()
            if name in self._sendable
            and self.schema.update_allowed(name)
            and not matches_sent_value(shown.get(key), value)
        )

    def _owed(self, view: ResourceContext, body: Mapping[str, Json]) -> dict[str, Json]:
        return (
            ownership_marks.fields_to_restore(self.spec, view, body)
            if view.action is Action.CREATE
            else {}
        )

    def apply_change(
        self, view: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """One call that changes what takes no more than that."""
        return self.client(view).update(self._id(view), arguments)

    def observe_many(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """One list call for each project; what can't be told now is left out."""
        groups: dict[str, list[ResourceContext]] = {}
        looks: dict[str, VerbResult] = {}
        for view in views:
            if view.physical_id is None:
                looks[view.resource_id] = VerbResult(ObservedState.ABSENT)
            else:
                groups.setdefault(self.cloud(view).cache_key, []).append(view)
        for _, members in sorted(groups.items()):
            looks.update(self._observed(members))
        return looks

    def _observed(self, views: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        try:
            if len(views) == 1 or self.spec.path_properties:
                return {view.resource_id: self.observe(view) for view in views}
            bodies = read_bodies(self.client(views[0]), views, self._id)
            return {
                view.resource_id: self._listed(view, bodies.get(self._id(view))) for view in views
            }
        except AnyError as error:
            if error.retry is not Retry.NEVER:
                return {}
            if len(views) == 1:
                return {views[0].resource_id: VerbResult.from_error(error)}
            return {key: look for view in views for key, look in self._observed([view]).items()}

    def _listed(self, view: ResourceContext, body: Json) -> VerbResult:
        # RULE 10: a list that lacks it proves nothing, for lists are paged while
        # things change.
        if body is None:
            return self.observe(view)
        return self.to_result(view, self._given_its_due(view, body))

    def find(self, view: ResourceContext) -> str | None:
        if self.spec.path_properties and not view.properties:
            return None  # nothing tells below what it was to be made
        calls = self.client(view)
        if self.spec.has_name:
            for body in calls.find_by_name(view.physical_name):
                if not self._is_gone(body):
                    return self.extract_id(body)
        if self.spec.rest_resource.ownership_mark_field in (
            OwnershipMarkField.DESCRIPTION,
            OwnershipMarkField.METADATA,
        ):
            by_query = self.spec.rest_resource.mark_filterable
            query = {DESCRIPTION: ownership_marks.ownership_mark(view)} if by_query else {}
            for body in calls.list(**query):
                if ownership_marks.has_ownership_mark(view, body) and not self._is_gone(body):
                    return self.extract_id(body)
        told = bool(view.properties) and not ownership_marks.is_findable(self.spec, view)
        return self._alike(view, calls) if told and self.spec.findable_by_content else None

    def _is_gone(self, body: Mapping[str, Json]) -> bool:
        """Services list for a moment what they have deleted."""
        status = self.spec.status_mapping
        return bool(status.body_key) and self._word(body) in status.absent

    def _alike(self, view: ResourceContext, calls: RestResourceClient) -> str | None:
        wanted = {
            name: value
            for name, value in self.create_arguments(view).items()
            if name != DESCRIPTION
        }
        for body in calls.list():
            if all(body.get(name) == value for name, value in wanted.items()):
                return self.extract_id(body)
        return None

    def check(self, view: ResourceContext) -> VerbResult | None:
        if not self.supports_check:
            return None
        look = self.observe(view)
        return (
            replace(look, observed=ObservedState.FAILED, reason="it is gone")
            if (look.observed is ObservedState.ABSENT)
            else look
        )

    def check_external(self, physical_id: str) -> None:
        cloud, thing = request_cloud.current_cloud(), self.spec.rest_resource
        plain = type(self).observe is DeclarativeType.observe and "%(" not in thing.path_template
        if cloud is None or not plain:
            return
        try:
            RestResourceClient(cloud, thing).get(self.path_id(physical_id))
        except ResourceGone as error:
            raise StackValidationFailed(
                f"Invalid external resource: {self.name} ({physical_id}) is not there."
            ) from error
        except AnyError:
            return  # it can't be told now

    def check_available(self) -> None:
        cloud = request_cloud.current_cloud()
        if cloud is None:
            return
        try:
            there = cloud.has_service(self.spec.rest_resource.service)
        except AnyError:
            return  # it can't be told now
        if not there:
            raise ResourceTypeUnavailable(
                f"HEAT-E99001 Service {self.spec.service} is not available for resource type"
                f" {self.name}, reason: Service endpoint not in service catalog."
            )

    # -- what derived types change

    def create_arguments(self, view: ResourceContext) -> dict[str, Json]:
        given = [name for name in view.properties if name in self._sendable]
        arguments = {
            **self.spec.fixed_arguments,
            **self.argument_builder(view).build(view.properties, given),
        }
        return ownership_marks.with_ownership_mark(self.spec, view, arguments)

    def update_arguments(
        self, view: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        if names & self.spec.updated_together:
            names |= self.spec.updated_together & self._sendable
        arguments = {
            self.spec.update_argument_names.get(name, name): value
            for name, value in self.argument_builder(view).build(after, names).items()
        }
        key = self.spec.rest_resource.name_key if self.spec.has_name else None
        if key in arguments and not arguments[key]:
            arguments[key] = view.physical_name
        return arguments

    def to_result(self, view: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        """How things stand by the thing's own account."""
        observed, reason = self.observed_state(view, body)
        if observed is ObservedState.READY and self._owed(view, body):
            observed = ObservedState.BUSY
        return VerbResult(
            observed,
            physical_id=view.physical_id,
            attributes=self.recorded_attributes(view, body),
            reason=reason,
            poll_after_s=poll_interval.next_poll_s(view.started_at, view.now),
        )

    def observed_state(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        status, word = self.spec.status_mapping, self._word(body)
        deleting = view.action is Action.DELETE
        if word in status.failed:
            return ObservedState.FAILED, self.failure_reason(body, word)
        if deleting:
            return (ObservedState.ABSENT if word in status.absent else ObservedState.BUSY), ""
        ready = word in status.ready if status.ready is not None else word not in status.busy
        return (ObservedState.READY if ready else ObservedState.BUSY), ""

    def _word(self, body: Mapping[str, Json]) -> str:
        key = self.spec.status_mapping.body_key
        return str(value_at_path(body, key) or "").lower() if key else ""

    def failure_reason(self, body: Mapping[str, Json], word: str) -> str:
        """Why it failed, as the service tells."""
        told = (
            value_at_path(body, self.spec.status_mapping.reason_key)
            if self.spec.status_mapping.reason_key
            else None
        )
        return f'Went to status {word.upper()} due to "{told or "Unknown"}"'

    def recorded_attributes(
        self, view: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """What is written down for ``attribute``."""
        return {"show": dict(body)}

    def attribute(self, view: ResourceContext, name: str) -> Json:
        shown = view.attributes.get("show") or {}
        if name == "show":
            return shown or None
        if name in view.attributes:
            return view.attributes[name]
        return value_at_path(shown, self.spec.attribute_paths.get(name, name))

    def extract_id(self, body: Mapping[str, Json]) -> str:
        """The physical id of the thing in a body."""
        found = body.get(self.spec.rest_resource.id_key)
        if found is None:
            raise ResourceFailure(
                f"{self.spec.rest_resource.service} gave no {self.spec.rest_resource.id_key}"
            )
        return str(found)

    def path_id(self, physical_id: str) -> str:
        """What stands for a physical id in a path."""
        return physical_id

    # -- below

    def _id(self, view: ResourceContext) -> str:
        return self.path_id(view.physical_id or "")

    def _busy(self, view: ResourceContext) -> VerbResult:
        wait_s = poll_interval.next_poll_s(view.started_at, view.now)
        return VerbResult(ObservedState.BUSY, physical_id=view.physical_id, poll_after_s=wait_s)

    def cloud(self, view: ResourceContext) -> CloudClient:
        return require_cloud(view, self.context.connection_slots)

    def client(self, view: ResourceContext) -> RestResourceClient:
        return RestResourceClient(self.cloud(view), self.spec.rest_resource, self._places(view))

    def client_for(
        self, view: ResourceContext, noun: str, places: Mapping[str, str] | None = None
    ) -> RestResourceClient:
        """Calls about things of another kind."""
        return RestResourceClient(self.cloud(view), self.context.rest_resources[noun], places)

    def id_lookup(self, view: ResourceContext) -> IdLookup:
        return IdLookup(
            self.cloud(view), self.context.rest_resources, self.context.id_cache, view.now
        )

    def argument_builder(self, view: ResourceContext) -> ArgumentBuilder:
        return ArgumentBuilder(self.spec, self.schema, self.id_lookup(view), view.name)

    def _places(self, view: ResourceContext) -> dict[str, str]:
        found = {}
        for place, name in self.spec.path_properties.items():
            value = view.properties.get(name)
            if value is not None:
                noun = self.spec.path_entities.get(place)
                found[place] = (
                    str(value)
                    if noun is None
                    else self.argument_builder(view).resolve_id(noun, value, name)
                )
        return found


def _old_names(aliases: Mapping[str, str]) -> dict[str, list[str]]:
    """New path → old paths."""
    found: dict[str, list[str]] = {}
    for old, new in aliases.items():
        under, dot, _ = old.rpartition(".")
        found.setdefault(f"{under}{dot}{new}", []).append(old)
    return found


def value_at_path(body: Mapping[str, Json], path: str) -> Json:
    """The value at a path of keys with dots between."""
    if path in body:
        return body[path]
    value: Json = body
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def matches_sent_value(shown: Json, sent: Json) -> bool:
    """Whether a thing has what it was sent; one that tells nothing has."""
    return shown is None or str(shown).lower() == str(sent).lower()


def require_cloud(view: ResourceContext, slots: RequestLimiter) -> CloudClient:
    """Raises ``ResourceFailure`` where the service was given no cloud."""
    given = view.cloud
    if given is None or isinstance(given, NoAuthCloud):
        raise ResourceFailure(
            "There is no cloud to make it in: the service runs without Keystone."
        )
    if hasattr(given, "send"):
        sender: CloudClient = given
        return sender
    return SdkCloudClient(view.project_id, view.project_id, lambda: given.connection, slots)
