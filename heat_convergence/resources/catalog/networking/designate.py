"""REST resources and specs of Designate's resource types."""

from __future__ import annotations

from typing import Any

from openstack.dns.v2 import recordset, zone

from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    RestResource,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    StatusMapping,
    TypeSpec,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.designate.zones import RecordSet, Zone

REST_RESOURCES = by_entity(
    RestResource(
        entity="designate.zone",
        service="dns",
        sdk_class=zone.Zone,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    RestResource(
        entity="designate.recordset",
        service="dns",
        sdk_class=recordset.Recordset,
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
)


def _spec(name: str, entity: str, **fields: Any) -> TypeSpec:
    """Return the spec of a type whose name is not the physical name as it is."""
    return TypeSpec(
        name=f"OS::Designate::{name}",
        schema_file="designate",
        service="designate",
        rest_resource=REST_RESOURCES[f"designate.{entity}"],
        status_mapping=StatusMapping(busy=frozenset({"pending"})),
        deletes_asynchronously=True,
        has_name=False,
        **fields,
    )


TYPE_SPECS = (
    _spec("Zone", "zone", arguments=rename_arguments(primaries="masters")),
    _spec(
        "RecordSet",
        "recordset",
        arguments=omit_arguments("zone"),
        path_properties={"zone_id": "zone"},
        path_entities={"zone_id": "designate.zone"},
    ),
)

DESIGNATE = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Designate::RecordSet": RecordSet,
        "OS::Designate::Zone": Zone,
    },
)
