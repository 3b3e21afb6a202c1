"""REST resource and spec of Glance's resource type."""

from __future__ import annotations

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import StatusMapping, omit_arguments
from heat_convergence.resources.openstack.glance.images import WebImage
from heat_convergence.resources.openstack.glance.subresources import IMAGE_MEMBERS

IMAGE_STATUS = StatusMapping(
    ready=frozenset({"active", "deactivated"}),
    failed=frozenset({"killed"}),
    absent=frozenset({"deleted"}),
)

REST_RESOURCES = by_entity(
    make_rest_resource(
        "Glance",
        "image",
        "image",
        "image.v2.image.Image",
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
)

TYPE_SPECS = (
    make_spec(
        "Glance",
        REST_RESOURCES,
        "WebImage",
        "image",
        arguments=omit_arguments("location", "extra_properties", "active"),
        status_mapping=IMAGE_STATUS,
        subresources=(IMAGE_MEMBERS,),
        test_environment="Glance 33",
    ),
)

GLANCE = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Glance::WebImage": WebImage,
    },
)
