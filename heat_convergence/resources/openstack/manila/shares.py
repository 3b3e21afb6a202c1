"""``OS::Manila::Share``: a share, whose access rules can be set once it is available.

Source: docs.openstack.org/api-ref/shared-file-system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import Conflict, ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.driver.resource_client import RestResourceClient
from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY
from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult

Json = Any
ACCESS_RULES, EXPORT_LOCATIONS, METADATA = "access_rules", "export_locations", "metadata"
AVAILABLE = "available"
_RULE_KEYS = ("access_type", "access_to", "access_level")
DEFAULT_ACCESS_LEVEL = "rw"


class Share(DeclarativeType):
    """A share of a file system."""

    def create_arguments(self, context: ResourceContext) -> dict[str, Json]:
        """Return the arguments with the metadata and the ownership mark."""
        metadata = context.properties.get(METADATA) or {}
        values = {key: str(value) for key, value in metadata.items()}
        arguments = super().create_arguments(context)
        return {**arguments, METADATA: {**values, OWNER_METADATA_KEY: context.resource_id}}

    def _with_restored_fields(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Set the access rules of a new share as soon as it is available."""
        if context.action is Action.CREATE and body.get("status") == AVAILABLE:
            apply_access_rules(
                self.client(context), self._id(context), context.properties, remove=False
            )
        return super()._with_restored_fields(context, body)

    def recorded_attributes(
        self, context: ResourceContext, body: Mapping[str, Json]
    ) -> Mapping[str, Json]:
        """Return the attributes with the export locations that were read before."""
        known = context.attributes.get(EXPORT_LOCATIONS)
        return {"show": dict(body), **({} if known is None else {EXPORT_LOCATIONS: known})}

    def with_related_objects(
        self, contexts: Sequence[ResourceContext], results: Mapping[str, VerbResult]
    ) -> Mapping[str, VerbResult]:
        """Return the results with the export locations of shares that have become ready."""
        return {
            context.resource_id: self._with_export_locations(context, results[context.resource_id])
            for context in contexts
            if context.resource_id in results
        }

    def _with_export_locations(self, context: ResourceContext, result: VerbResult) -> VerbResult:
        attributes = result.attributes or {}
        if result.observed is not ObservedState.READY or EXPORT_LOCATIONS in attributes:
            return result
        client = self.client(context)
        try:
            body = client.send("GET", client.path(self._id(context), EXPORT_LOCATIONS)).body
        except Error:
            return VerbResult(ObservedState.BUSY, context.physical_id, attributes)
        paths = [each["path"] for each in body[EXPORT_LOCATIONS]]
        return replace(result, attributes={**attributes, EXPORT_LOCATIONS: paths})


class AccessRules(SubResource):
    """The rules that say who may use a share."""

    property_names = frozenset({ACCESS_RULES})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Change the rules of an existing share; a new one is not available yet."""
        if before is not None:
            apply_access_rules(physical.client, physical.path_id, properties, remove=True)


def apply_access_rules(
    client: RestResourceClient, share_id: str, properties: Mapping[str, Json], *, remove: bool
) -> None:
    """Add the rules that are missing, and perhaps remove those that are not desired.

    Args:
        client: A client of shares.
        share_id: The share.
        properties: The share's properties.
        remove: Whether to remove other rules.

    Raises:
        Conflict: A rule of the same user is still being removed.
    """
    desired = {_rule(each) for each in properties.get(ACCESS_RULES) or ()}
    if not desired and not remove:
        return
    listed = client.action(share_id, "access_list")["access_list"]
    current = {_rule(each): str(each["id"]) for each in listed}
    for rule in sorted(current.keys() - desired) if remove else ():
        with suppress(ResourceGone):
            client.action(share_id, "deny_access", {"access_id": current[rule]})
    users = {rule[:2] for rule in current.keys() - desired}
    if remove and any(rule[:2] in users for rule in desired - current.keys()):
        raise Conflict("an access rule of the same user is being removed")
    for rule in sorted(desired - current.keys()):
        client.action(share_id, "allow_access", dict(zip(_RULE_KEYS, rule, strict=True)))


def _rule(declared: Mapping[str, Json]) -> tuple[str, str, str]:
    """Return the type, the user and the level of a rule."""
    level = declared.get("access_level") or DEFAULT_ACCESS_LEVEL
    return str(declared["access_type"]), str(declared["access_to"]), str(level)
