"""REST resources and specs of Designate's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    StatusMapping,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.designate.zones import RecordSet, Zone
from heat_convergence.template.environment.readiness import ReadinessLevel

TESTED_RELEASE = "Designate 23"
_rest_resource = partial(
    make_rest_resource, "Designate", "dns", ownership_mark_field=OwnershipMarkField.DESCRIPTION
)

REST_RESOURCES = by_entity(
    _rest_resource("zone", "dns.v2.zone.Zone"),
    _rest_resource("recordset", "dns.v2.recordset.Recordset"),
)

# A zone's name is not the physical name as it is.
_spec = partial(
    make_spec,
    "Designate",
    REST_RESOURCES,
    test_environment=TESTED_RELEASE,
    status_mapping=StatusMapping(busy=frozenset({"pending"})),
    deletes_asynchronously=True,
    has_name=False,
)

TYPE_SPECS = (
    # A zone takes record sets while its name servers do not have it yet.
    _spec(
        "Zone",
        "zone",
        arguments=rename_arguments(primaries="masters"),
        dependent_levels={"OS::Designate::RecordSet": ReadinessLevel.EXISTS},
    ),
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
