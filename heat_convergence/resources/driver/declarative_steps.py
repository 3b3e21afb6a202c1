"""The steps that the verbs of a declared resource type share, which derived types override.

Decides names, arguments, states and attributes from a type's specification. Base of
``declarative.DeclarativeType``; it must not decide the order of calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.clients.endpoints import NoAuthCloud
from heat_convergence.clients.rest_client import (
    CloudClient,
    RequestLimiter,
    SdkCloudClient,
    make_cache_key,
)
from heat_convergence.common.failures import ResourceFailure
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import (
    ownership_marks,
    poll_interval,
    schema_loader,
)
from heat_convergence.resources.driver.arguments import ArgumentBuilder
from heat_convergence.resources.driver.id_lookup import BodyCache, IdCache, IdLookup
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.driver.service_extensions import ServiceExtensions
from heat_convergence.resources.driver.type_spec import TypeSpec
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.environment.readiness import ReadinessLevel

Json = Any

UPDATING_ACTIONS = frozenset({Action.UPDATE, Action.ROLLBACK, Action.RESTORE})


@dataclass(frozen=True, slots=True)
class DriverContext:
    """The objects that all catalog types of a process share."""

    rest_resources: Mapping[str, RestResource]
    connection_slots: RequestLimiter
    id_cache: IdCache
    body_cache: BodyCache
    extensions: ServiceExtensions


class DeclarativeSteps(ResourceType):
    """The specification of a type, and the steps of its verbs."""

    def __init__(self, spec: TypeSpec, context: DriverContext) -> None:
        """Build the type from its specification and its schema in the package's data."""
        head = schema_loader.type_header(spec.schema_file, spec.name)
        self.spec = spec
        self.context = context
        self.name = spec.name  # type: ignore[misc]  # one class, many types
        self.service = spec.rest_resource.service  # type: ignore[misc]
        self.schema = schema_loader.load_schema(  # type: ignore[misc]
            spec.schema_file, spec.name, spec.aliases
        )
        self.physical_name_limit = head.get("name_limit", 255)  # type: ignore[misc]
        handlers = frozenset(head.get("handlers", ()))
        self.extension: str | None = head.get("extension")  # of the service, that it needs
        self.update_repairs_failure = head.get("mended", False)  # type: ignore[misc]
        self.allows_snapshot_on_delete = "snapshot_delete" in handlers  # type: ignore[misc]
        self.implicit_dependencies = spec.implicit_dependencies  # type: ignore[misc]
        self.dependent_levels = spec.dependent_levels  # type: ignore[misc]
        self.property_aliases = _old_names(spec.aliases)  # type: ignore[misc]
        names = set(self.schema.properties)
        self._subresource_properties = frozenset(
            name for subresource in spec.subresources for name in subresource.property_names
        )
        argument_names = {each.argument or "" for each in spec.arguments.values()}
        self._nested_names = frozenset(name for name in argument_names if "." in name)
        self._sendable = frozenset(names - self._subresource_properties - set(spec.aliases))

    def _fields_to_restore(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> dict[str, Json]:
        return (
            ownership_marks.fields_to_restore(self.spec, context, body)
            if context.action is Action.CREATE
            else {}
        )

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments of the create call."""
        builder = self.argument_builder(context)
        names = [
            name
            for name, value in context.properties.items()
            if name in self._sendable and builder.is_set(name, value)
        ]
        arguments = {
            **self.spec.fixed_arguments,
            **self._nested_arguments(builder.build(context.properties, names)),
        }
        return ownership_marks.with_ownership_mark(self.spec, context, arguments)

    def update_arguments(
        self, context: ResourceContext, after: Mapping[str, Json], names: frozenset[str]
    ) -> dict[str, Json]:
        """Return the arguments of the update call for the properties ``names``."""
        if names & self.spec.updated_together:
            names |= self.spec.updated_together & self._sendable
        arguments = {
            self.spec.update_argument_names.get(name, name): value
            for name, value in self.argument_builder(context).build(after, names).items()
        }
        key = self.spec.rest_resource.name_key if self.spec.has_name else None
        if key in arguments and not arguments[key]:
            arguments[key] = context.physical_name
        return self._nested_arguments(arguments)

    def _nested_arguments(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Put arguments whose names are paths, such as ``meta.name``, into maps."""
        found: dict[str, Json] = {}
        for name, value in arguments.items():
            under, dot, key = name.partition(".") if name in self._nested_names else (name, "", "")
            if dot:
                found[under] = {**found.get(under, {}), key: value}
            else:
                found[name] = value
        return found

    def to_result(self, context: ResourceContext, body: Mapping[str, Json]) -> VerbResult:
        """Convert an object's body to the result of a verb."""
        observed, reason = self.observed_state(context, body)
        unrestored = bool(self._fields_to_restore(context, body))
        if observed is ObservedState.READY and unrestored:
            observed = ObservedState.BUSY
        level = ReadinessLevel.EXISTS if unrestored else ReadinessLevel.CONFIGURED
        if observed is ObservedState.READY:
            level = self.ready_level(body)
        return VerbResult(
            observed,
            physical_id=context.physical_id,
            attributes=self.recorded_attributes(context, body),
            reason=reason,
            poll_after_s=poll_interval.MIN_LIST_PAUSE_S,
            poll_grid_s=poll_interval.list_interval_s(context.started_at, context.now),
            retry_with_new_incarnation=may_be_created_again(context, observed),
            level=level,
        )

    def ready_level(self, body: Mapping[str, Json]) -> ReadinessLevel:
        """Return the level of a ready object: active, or healthy if its body says so."""
        return ReadinessLevel.HEALTHY if self.is_healthy(body) else ReadinessLevel.ACTIVE

    def is_healthy(self, body: Mapping[str, Json]) -> bool:
        """Return whether the body of a ready object says that it is healthy."""
        mapping = self.spec.health_mapping
        value = value_at_path(body, mapping.body_key) if mapping.body_key else None
        return mapping.is_healthy("" if value is None else str(value).lower())

    def observed_state(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> tuple[ObservedState, str]:
        """Return the state that a body shows, and the reason of a failure."""
        status, word = self.spec.status_mapping, self._word(body)
        deleting = context.action is Action.DELETE
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
        """Return the status reason of a failed object."""
        reason = (
            value_at_path(body, self.spec.status_mapping.reason_key)
            if self.spec.status_mapping.reason_key
            else None
        )
        key = self.spec.status_mapping.body_key
        status = value_at_path(body, key) if key else word.upper()
        return f'Went to status {status} due to "{reason or "Unknown"}"'

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes to record for later reads."""
        return {"show": dict(body)}

    def attribute(self, context: ResourceContext, name: str) -> Json:
        """Read an attribute from the recorded ones or from the body."""
        shown = context.attributes.get("show") or {}
        if name == "show":
            return shown or None
        if name in context.attributes:
            return context.attributes[name]
        return value_at_path(shown, self.spec.attribute_paths.get(name, name))

    def extract_id(self, body: Mapping[str, Json]) -> str:
        """Return the physical id of the object in a body.

        Raises:
            ResourceFailure: The body has none.
        """
        found = body.get(self.spec.rest_resource.id_key)
        if found is None:
            raise ResourceFailure(
                f"{self.spec.rest_resource.service} returned no {self.spec.rest_resource.id_key}"
            )
        return str(found)

    def path_id(self, physical_id: str) -> str:
        """Return the form of a physical id in paths."""
        return physical_id

    def _id(self, context: ResourceContext) -> str:
        return self.path_id(context.physical_id or "")

    def _busy(self, context: ResourceContext) -> VerbResult:
        return VerbResult(
            ObservedState.BUSY,
            physical_id=context.physical_id,
            poll_after_s=poll_interval.MIN_LIST_PAUSE_S,
            poll_grid_s=poll_interval.list_interval_s(context.started_at, context.now),
        )

    def cloud(self, context: ResourceContext) -> CloudClient:
        """Return the client of the resource's cloud."""
        return require_cloud(context, self.context.connection_slots)

    def client(self, context: ResourceContext) -> RestResourceClient:
        """Return a client of this type's REST resource."""
        return RestResourceClient(
            self.cloud(context), self.spec.rest_resource, self._path_values(context)
        )

    def client_for(
        self, context: ResourceContext, entity: str, path_values: Mapping[str, str] | None = None
    ) -> RestResourceClient:
        """Return a client of another entity's REST resource."""
        return RestResourceClient(
            self.cloud(context), self.context.rest_resources[entity], path_values
        )

    def id_lookup(self, context: ResourceContext) -> IdLookup:
        """Return the lookup of ids at the resource's cloud."""
        return IdLookup(
            self.cloud(context), self.context.rest_resources, self.context.id_cache, context.now
        )

    def argument_builder(self, context: ResourceContext) -> ArgumentBuilder:
        """Return the builder of arguments for the resource."""
        return ArgumentBuilder(self.spec, self.schema, self.id_lookup(context), context.name)

    def _path_values(self, context: ResourceContext) -> dict[str, str]:
        found = {}
        for key, name in self.spec.path_properties.items():
            value = context.properties.get(name)
            if value is not None:
                entity = self.spec.path_entities.get(key)
                found[key] = (
                    str(value)
                    if entity is None
                    else self.argument_builder(context).resolve_id(entity, value, name)
                )
        return found


def _old_names(aliases: Mapping[str, str]) -> dict[str, list[str]]:
    """Return new path → old paths."""
    found: dict[str, list[str]] = {}
    for old, new in aliases.items():
        under, dot, _ = old.rpartition(".")
        found.setdefault(f"{under}{dot}{new}", []).append(old)
    return found


def may_be_created_again(context: ResourceContext, observed: ObservedState) -> bool:
    """Return whether the object is new and in an error state: another one may become ready."""
    return context.action is Action.CREATE and observed is ObservedState.FAILED


def value_at_path(body: Mapping[str, Json], path: str) -> Json:
    """Return the value at a path of keys with dots between, or None."""
    if path in body:
        return body[path]
    value: Json = body
    for key in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def require_cloud(context: ResourceContext, slots: RequestLimiter) -> CloudClient:
    """Return the client of the context's cloud.

    Raises:
        ResourceFailure: The service runs without a cloud.
    """
    return client_of_cloud(context.cloud, context.project_id, slots)


def client_of_cloud(cloud: Any, project_id: str, slots: RequestLimiter) -> CloudClient:
    """Return the client of what types see as the cloud.

    Raises:
        ResourceFailure: The service runs without a cloud.
    """
    if cloud is None or isinstance(cloud, NoAuthCloud):
        raise ResourceFailure(
            "There is no cloud to create the resource in: the service runs without Keystone."
        )
    if hasattr(cloud, "send"):
        sender: CloudClient = cloud
        return sender
    return SdkCloudClient(
        make_cache_key(project_id, cloud.call_region),
        project_id,
        lambda: cloud.connection,
        slots,
        breakers=cloud.breakers,
    )
