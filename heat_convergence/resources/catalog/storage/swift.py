"""REST resource and spec of Swift's resource type, whose class sends and reads headers."""

from __future__ import annotations

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.openstack.swift.containers import Container

TESTED_RELEASE = "Swift 2.38"
REST_RESOURCES = by_entity(
    make_rest_resource(
        "Swift",
        "object_store",
        "container",
        "object_store.v1.container.Container",
        id_key="name",
        ids_are_uuids=False,
    )
)

TYPE_SPECS = (
    make_spec("Swift", REST_RESOURCES, "Container", "container", test_environment=TESTED_RELEASE),
)

SWIFT = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Swift::Container": Container,
    },
)
