"""A resource type declared by a specification: its verbs over any REST service.

Decides from the specification alone how an object is created, changed, observed, found and
deleted. Types with behaviour derive from it and override a step. Called by engines and observers;
it must not wait for a service to finish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from heat_convergence.common.errors import Error as AnyError
from heat_convergence.common.errors import Retry, StackValidationFailed
from heat_convergence.common.failures import ResourceGone
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver import (
    ownership_marks,
    poll_interval,
    request_cloud,
)
from heat_convergence.resources.driver.bulk_reads import may_be_unchanged, read_bodies
from heat_convergence.resources.driver.drift_detection import DriftDetection
from heat_convergence.resources.driver.ownership_marks import DESCRIPTION
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import OwnershipMarkField
from heat_convergence.resources.driver.type_spec import ALWAYS_LIVE, PhysicalResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any


class DeclarativeType(DriftDetection):
    """A resource type whose instances differ in their specification."""

    observes_across_stacks: ClassVar[bool] = True

    def create(self, context: ResourceContext) -> VerbResult:
        """Create the object and its subresources."""
        calls = self.client(context)
        body = calls.create(self.create_arguments(context))
        return self._completed(context, calls, self.extract_id(body), body)

    def resume_create(self, context: ResourceContext) -> VerbResult:
        """Complete a lost create; work that was done already is done again without effect."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        calls = self.client(context)
        body = calls.get(self.path_id(context.physical_id))
        return self._completed(context, calls, context.physical_id, body)

    def _completed(
        self, context: ResourceContext, calls: RestResourceClient, path_id: str, body: Json
    ) -> VerbResult:
        physical = PhysicalResource(
            calls, self.path_id(path_id), body, self.id_lookup(context), context
        )
        if self.create_subresources(physical) and self.spec.status_mapping.body_key is None:
            body = calls.get(self.path_id(path_id))
        return self.to_result(replace(context, physical_id=path_id), body)

    def create_subresources(self, physical: PhysicalResource) -> bool:
        """Apply the subresources of a new object; return whether there were any."""
        properties = physical.context.properties
        subresources = [
            subresource
            for subresource in self.spec.subresources
            if any(properties.get(n) for n in subresource.property_names)
        ]
        for subresource in subresources:
            subresource.apply(physical, properties, None)
        return bool(subresources)

    def update(
        self, context: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Change the object and the subresources whose properties changed."""
        calls, path_id = self.client(context), self._id(context)
        names = changed & self._sendable
        body = None
        arguments = self.update_arguments(context, after, names) if names else {}
        if arguments:
            body = calls.update(path_id, arguments)
        subresources = [
            subresource
            for subresource in self.spec.subresources
            if subresource.property_names & changed
        ]
        if subresources:
            physical = PhysicalResource(
                calls, path_id, body or {}, self.id_lookup(context), context
            )
            for subresource in subresources:
                subresource.apply(physical, after, context.properties)
        if not body or subresources:
            body = calls.get(path_id)
        return self.to_result(replace(context, properties=after), body)

    def delete(self, context: ResourceContext) -> VerbResult:
        """Delete the object after what prevents its deletion."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        calls, path_id = self.client(context), self._id(context)
        physical = PhysicalResource(calls, path_id, {}, self.id_lookup(context), context)
        for subresource in self.spec.subresources:
            subresource.remove(physical, context.properties)
        if not calls.delete(path_id) or not self.spec.deletes_asynchronously:
            return VerbResult(ObservedState.ABSENT)
        return self._busy(context)

    def observe(self, context: ResourceContext) -> VerbResult:
        """Read the object; ABSENT if it is missing."""
        if context.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        try:
            body = self.client(context).get(self._id(context))
            return self.to_result(context, self._with_restored_fields(context, body))
        except ResourceGone as error:
            return VerbResult(ObservedState.ABSENT, reason=str(error))

    def read_existing(self, context: ResourceContext) -> VerbResult | None:
        """Read the object; None where more than an id finds it."""
        if not self._is_importable:
            return None
        body = self.client(context).get(self._id(context))
        key = context.resource_id
        result = self.to_result(context, body)
        return self.with_related_objects([context], {key: result})[key]

    @property
    def _is_importable(self) -> bool:
        return not self.spec.path_properties and "%(" not in self.spec.rest_resource.path_template

    def _with_restored_fields(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Restore the template's values of fields that hold the ownership mark.

        Only an observation knows that the id is recorded, so that the mark may be removed.
        """
        fields = self._fields_to_restore(context, body)
        return self.apply_change(context, fields) if fields else body

    def drifted_properties(self, context: ResourceContext, result: VerbResult) -> frozenset[str]:
        """Return the names of properties that differ and that an update can restore."""
        differing = self.compare(context, self.comparable_values(context, result))
        return self.restorable_properties(drift.name for drift in differing)

    def restorable_properties(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of the properties that an update can restore after others changed them."""
        # The body need not show what an update of its own sends: there the declared ones count.
        declared_only = type(self).update is not DeclarativeType.update
        return frozenset(
            name
            for name in names
            if self.schema.update_allowed(name)
            and (name in self.spec.comparisons or not declared_only)
            and self.spec.is_restorable(name)
        )

    def apply_change(
        self, context: ResourceContext, arguments: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Update the object by one call and return its body."""
        return self.client(context).update(self._id(context), arguments)

    def observe_many(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        """Observe by one list call a project."""
        groups: dict[str, list[ResourceContext]] = {}
        results: dict[str, VerbResult] = {}
        for context in contexts:
            if context.physical_id is None:
                results[context.resource_id] = VerbResult(ObservedState.ABSENT)
            else:
                groups.setdefault(self.cloud(context).cache_key, []).append(context)
        for _, members in sorted(groups.items()):
            lists = self._by_list(members)
            observed = {key: each for some in lists for key, each in self._observed(some).items()}
            paced = _with_common_grid(members, observed, len(lists))
            results.update(self.with_related_objects(members, paced))
        return results

    def _by_list(self, contexts: Sequence[ResourceContext]) -> list[list[ResourceContext]]:
        """Return the resources of one project by the list that shows them: one for each parent."""
        lists: dict[tuple[tuple[str, str], ...], list[ResourceContext]] = {}
        for context in contexts:
            path = tuple(sorted(self._listed_path(context).items()))
            lists.setdefault(path, []).append(context)
        return list(lists.values())

    def _listed_path(self, context: ResourceContext) -> dict[str, str]:
        try:
            return self._path_values(context)
        except AnyError:
            return {"": context.resource_id}  # its parent is not found: it is read alone

    def with_related_objects(
        self, contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult]
    ) -> Mapping[str, VerbResult]:
        """Return the results of one project's resources with what other lists tell about them."""
        return results

    def _observed(self, contexts: Sequence[ResourceContext]) -> Mapping[str, VerbResult]:
        try:
            if len(contexts) == 1:
                return {context.resource_id: self.observe(context) for context in contexts}
            bodies = read_bodies(self.client(contexts[0]), contexts, self._id)
            return {
                context.resource_id: self._listed(context, bodies.get(self._id(context)))
                for context in contexts
            }
        except AnyError as error:
            if error.retry is not Retry.NEVER:
                return {each.resource_id: VerbResult.undecided(error) for each in contexts}
            if len(contexts) == 1:
                return {contexts[0].resource_id: VerbResult.from_error(error)}
            return {
                key: result
                for context in contexts
                for key, result in self._observed([context]).items()
            }

    def _listed(self, context: ResourceContext, body: Json) -> VerbResult:
        # RULE 10: its absence from a list proves nothing, because objects change while the list
        # is paged.
        if body is None and may_be_unchanged(self.client(context), context):
            return self._busy(context)
        if body is None:
            return self.observe(context)
        return self.to_result(context, self._with_restored_fields(context, body))

    def find(self, context: ResourceContext) -> str | None:
        """Find the object by its physical name, its ownership mark or its content."""
        if self.spec.path_properties and not context.properties:
            return None  # the path is not known
        calls = self.client(context)
        if self.spec.has_name:
            for body in calls.find_by_name(context.physical_name):
                if not self._is_deleted(body):
                    return self.extract_id(body)
        if self.spec.rest_resource.ownership_mark_field in (
            OwnershipMarkField.DESCRIPTION,
            OwnershipMarkField.METADATA,
        ):
            by_query = self.spec.rest_resource.mark_filterable
            query = {DESCRIPTION: ownership_marks.ownership_mark(context)} if by_query else {}
            for body in calls.list(**query):
                if self._is_deleted(body):
                    continue
                if ownership_marks.has_ownership_mark(context, body):
                    return self.extract_id(body)
        unmarked = bool(context.properties) and not ownership_marks.is_findable(self.spec, context)
        by_content = unmarked and self.spec.findable_by_content
        return self._find_by_content(context, calls) if by_content else None

    def _is_deleted(self, body: Mapping[str, Json]) -> bool:
        """Return whether a listed object is being removed; services list those for a moment."""
        status = self.spec.status_mapping
        return bool(status.body_key) and self._word(body) in status.absent

    def _find_by_content(self, context: ResourceContext, calls: RestResourceClient) -> str | None:
        arguments = {
            name: value
            for name, value in self.create_arguments(context).items()
            if name != DESCRIPTION
        }
        for body in calls.list():
            if all(body.get(name) == value for name, value in arguments.items()):
                return self.extract_id(body)
        return None

    def check(self, context: ResourceContext) -> VerbResult | None:
        """Observe the object; a missing one is FAILED."""
        result = self.observe(context)
        if result.observed is ObservedState.ABSENT:
            reason = result.reason or "it is gone"
            return replace(
                result, observed=ObservedState.FAILED, reason=reason, error_name="NotFound"
            )
        key = context.resource_id
        return self.with_related_objects([context], {key: result})[key]

    @cached_property
    def live_attributes(self) -> frozenset[str]:
        """The attributes that others change; none where more than an id finds the object."""
        names = ALWAYS_LIVE if self._is_read_by_id else frozenset()
        return (names | self.spec.live_attributes) & self.schema.all_attributes.keys()

    def read_live_attributes(self, context: ResourceContext) -> Mapping[str, Json]:
        """Read the object and what other lists tell about it; nothing is changed."""
        body = self.client(context).get(self._id(context))
        attributes = {**context.attributes, **self.recorded_attributes(context, body)}
        result = VerbResult(ObservedState.READY, context.physical_id, attributes)
        key = context.resource_id
        return self.with_related_objects([context], {key: result})[key].attributes or {}

    @property
    def _is_read_by_id(self) -> bool:
        plain = type(self).observe is DeclarativeType.observe
        return plain and "%(" not in self.spec.rest_resource.path_template

    def check_external(self, physical_id: str) -> None:
        """Read the external resource as the requesting user.

        Raises:
            StackValidationFailed: There is none.
        """
        cloud, rest_resource = request_cloud.current_cloud(), self.spec.rest_resource
        if cloud is None or not self._is_read_by_id:
            return
        try:
            RestResourceClient(cloud, rest_resource).get(self.path_id(physical_id))
        except ResourceGone as error:
            raise StackValidationFailed(
                f"Invalid external resource: Resource {physical_id} ({self.name})"
                " can not be found."
            ) from error
        except AnyError:
            return  # the service does not respond: decided when the resource is created

    def check_available(self) -> None:
        """Check that the requesting user's catalog has the service.

        Raises:
            ResourceTypeUnavailable: It has not.
        """
        request_cloud.check_service(self.spec.rest_resource.service, self.spec.service, self.name)

    def check_extension(self) -> None:
        """Ask the service for the extension that the schema names.

        Raises:
            ResourceTypeUnavailable: It lacks it.
        """
        cloud, service = request_cloud.current_cloud(), self.spec.rest_resource.service
        if cloud is None or self.extension is None:
            return
        if self.context.extensions.lacks(cloud, service, self.extension):
            label = self.spec.service
            reason = f"Required extension {self.extension} in {label} service is not available."
            raise request_cloud.unavailable_type(label, self.name, reason)


def _with_common_grid(
    contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult], calls: int
) -> Mapping[str, VerbResult]:
    """Return the results of one project's resources; busy ones are read together again."""
    busy = [
        context
        for context in contexts
        if results[context.resource_id].observed is ObservedState.BUSY
        and results[context.resource_id].poll_grid_s is not None
    ]
    found = dict(results)
    for each in busy:
        grid_s = poll_interval.list_interval_s(
            each.started_at, each.now, busy=len(busy), calls=calls
        )
        found[each.resource_id] = replace(found[each.resource_id], poll_grid_s=grid_s)
    return found
