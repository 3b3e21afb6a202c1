"""REST resource and spec of Swift's resource type, whose class sends and reads headers."""

from __future__ import annotations

from openstack.object_store.v1 import container

from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import RestResource, by_entity
from heat_convergence.resources.driver.type_spec import TypeSpec
from heat_convergence.resources.openstack.swift.containers import Container

REST_RESOURCES = by_entity(
    RestResource(
        entity="swift.container",
        service="object_store",
        sdk_class=container.Container,
        id_key="name",
        ids_are_uuids=False,
    )
)

TYPE_SPECS = (
    TypeSpec(
        name="OS::Swift::Container",
        schema_file="swift",
        service="swift",
        rest_resource=REST_RESOURCES["swift.container"],
    ),
)

SWIFT = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Swift::Container": Container,
    },
)
