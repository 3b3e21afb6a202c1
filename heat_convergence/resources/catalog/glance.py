"""Spec of Glance's resource type."""

from __future__ import annotations

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.driver.type_spec import StatusMapping, TypeSpec, omit_arguments
from heat_convergence.resources.openstack.glance.subresources import IMAGE_MEMBERS

IMAGE_STATUS = StatusMapping(
    ready=frozenset({"active", "deactivated"}),
    failed=frozenset({"killed"}),
    absent=frozenset({"deleted"}),
)

TYPE_SPECS = (
    TypeSpec(
        name="OS::Glance::WebImage",
        schema_file="glance",
        service="glance",
        rest_resource=REST_RESOURCES["glance.image"],
        arguments=omit_arguments("location", "extra_properties", "active"),
        status_mapping=IMAGE_STATUS,
        subresources=(IMAGE_MEMBERS,),
        test_environment="Glance 33",
    ),
)
