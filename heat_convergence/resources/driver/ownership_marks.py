"""Ownership marks, by which an object is found again after a create without answer (RULE 4).

Decides which field of an object identifies its resource: its physical name, or a mark in another
field. Where the template assigns every such field, the object is created with the mark, and the
first observation, which happens once its id is recorded, restores the template's value. Called by
``declarative``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY, OwnershipMarkField
from heat_convergence.resources.driver.type_spec import TypeSpec
from heat_convergence.resources.protocol.verb_values import ResourceContext

Json = Any
DESCRIPTION = "description"
METADATA = "metadata"
VALUE_SPECS = "value_specs"  # a map of further arguments, as the service calls them


_MARK = "heat-convergence "  # stored in clouds: must not change


def ownership_mark(context: ResourceContext) -> str:
    """Return the mark of an object that does not have the physical name."""
    return f"{_MARK}{context.resource_id}"


def has_any_ownership_mark(body: Mapping[str, Json]) -> bool:
    """Return whether an object has the mark of any resource."""
    return str(body.get(DESCRIPTION) or "").startswith(_MARK)


def with_ownership_mark(
    spec: TypeSpec, context: ResourceContext, arguments: dict[str, Json]
) -> dict[str, Json]:
    """Add a mark to the arguments of a create, if there is a free field for one."""
    key = _name_key(spec)
    if key is not None and not arguments.get(key):
        return {**arguments, key: context.physical_name}
    if spec.rest_resource.ownership_mark_field is OwnershipMarkField.METADATA:
        kept = {**(arguments.get(METADATA) or {}), OWNER_METADATA_KEY: context.resource_id}
        return {**arguments, METADATA: kept}
    if spec.rest_resource.ownership_mark_field is OwnershipMarkField.NAME and key is not None:
        return {**arguments, key: context.physical_name}
    if spec.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION and (
        not arguments.get(DESCRIPTION) or not spec.immutable
    ):
        return {**arguments, DESCRIPTION: ownership_mark(context)}
    return arguments


def fields_to_restore(
    spec: TypeSpec, context: ResourceContext, body: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the template's values of fields that still hold the mark."""
    if spec.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION:
        value = _template_value(context, DESCRIPTION)
        return (
            {DESCRIPTION: value}
            if value and body.get(DESCRIPTION) == ownership_mark(context)
            else {}
        )
    key = _name_key(spec)
    if spec.rest_resource.ownership_mark_field is OwnershipMarkField.NAME and key is not None:
        value = _template_value(context, key)
        return {key: value} if value and body.get(key) == context.physical_name != value else {}
    return {}


def has_ownership_mark(context: ResourceContext, body: Mapping[str, Json]) -> bool:
    """Return whether an object has this resource's mark."""
    in_metadata = (body.get(METADATA) or {}).get(OWNER_METADATA_KEY) == context.resource_id
    return in_metadata or body.get(DESCRIPTION) == ownership_mark(context)


def is_findable(spec: TypeSpec, context: ResourceContext) -> bool:
    """Return whether a create with these properties leaves a mark to search for."""
    free = _name_key(spec) is not None and not _template_value(context, str(_name_key(spec)))
    if free or spec.rest_resource.ownership_mark_field in (
        OwnershipMarkField.METADATA,
        OwnershipMarkField.NAME,
    ):
        return True
    can_restore = not spec.immutable or not _template_value(context, DESCRIPTION)
    return (
        spec.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION and can_restore
    )


def _name_key(spec: TypeSpec) -> str | None:
    return spec.rest_resource.name_key if spec.has_name else None


def _template_value(context: ResourceContext, name: str) -> Json:
    return context.properties.get(name) or (context.properties.get(VALUE_SPECS) or {}).get(name)
