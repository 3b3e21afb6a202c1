"""By what a thing is found again whose creation was never answered (RULE 4).

Decides what of a thing bears its resource: its physical name, or a mark in another field.
Where the template has a word for every such field, the thing is made with the mark, and
gets the author's word by the first look at it, which comes once its id is on record.
Called by ``declared``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.rest_resources import OWNER_METADATA_KEY, OwnershipMarkField
from heat_convergence.resources.driver.type_spec import TypeSpec
from heat_convergence.resources.protocol.resource_type import ResourceContext

Json = Any
DESCRIPTION = "description"
METADATA = "metadata"
VALUE_SPECS = "value_specs"  # a map of further arguments, as the service calls them


_MARK = "heat-convergence "


def ownership_mark(view: ResourceContext) -> str:
    """By what a thing is found again that has not the physical name."""
    return f"{_MARK}{view.resource_id}"


def has_any_ownership_mark(body: Mapping[str, Json]) -> bool:
    """Whether some resource's mark is on it."""
    return str(body.get(DESCRIPTION) or "").startswith(_MARK)


def with_ownership_mark(
    row: TypeSpec, view: ResourceContext, arguments: dict[str, Json]
) -> dict[str, Json]:
    """The arguments of a create that can be found again, if any can."""
    key = _name_key(row)
    if key is not None and not arguments.get(key):
        return {**arguments, key: view.physical_name}
    if row.rest_resource.ownership_mark_field is OwnershipMarkField.METADATA:
        kept = {**(arguments.get(METADATA) or {}), OWNER_METADATA_KEY: view.resource_id}
        return {**arguments, METADATA: kept}
    if row.rest_resource.ownership_mark_field is OwnershipMarkField.NAME and key is not None:
        return {**arguments, key: view.physical_name}
    if row.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION and (
        not arguments.get(DESCRIPTION) or not row.immutable
    ):
        return {**arguments, DESCRIPTION: ownership_mark(view)}
    return arguments


def fields_to_restore(
    row: TypeSpec, view: ResourceContext, body: Mapping[str, Json]
) -> dict[str, Json]:
    """The author's word where the body still has the mark."""
    if row.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION:
        word = _given(view, DESCRIPTION)
        return (
            {DESCRIPTION: word} if word and body.get(DESCRIPTION) == ownership_mark(view) else {}
        )
    key = _name_key(row)
    if row.rest_resource.ownership_mark_field is OwnershipMarkField.NAME and key is not None:
        word = _given(view, key)
        return {key: word} if word and body.get(key) == view.physical_name != word else {}
    return {}


def has_ownership_mark(view: ResourceContext, body: Mapping[str, Json]) -> bool:
    """Whether the mark is on it."""
    in_metadata = (body.get(METADATA) or {}).get(OWNER_METADATA_KEY) == view.resource_id
    return in_metadata or body.get(DESCRIPTION) == ownership_mark(view)


def is_findable(row: TypeSpec, view: ResourceContext) -> bool:
    """Whether a create of these properties leaves something to be found by."""
    free = _name_key(row) is not None and not _given(view, str(_name_key(row)))
    if free or row.rest_resource.ownership_mark_field in (
        OwnershipMarkField.METADATA,
        OwnershipMarkField.NAME,
    ):
        return True
    spare = not row.immutable or not _given(view, DESCRIPTION)
    return row.rest_resource.ownership_mark_field is OwnershipMarkField.DESCRIPTION and spare


def _name_key(row: TypeSpec) -> str | None:
    return row.rest_resource.name_key if row.has_name else None


def _given(view: ResourceContext, name: str) -> Json:
    return view.properties.get(name) or (view.properties.get(VALUE_SPECS) or {}).get(name)
