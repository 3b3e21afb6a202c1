"""Spec of Swift's resource type, whose class sends and reads headers."""

from __future__ import annotations

from openstack.object_store.v1 import container

from heat_convergence.resources.driver.rest_resources import RestResource
from heat_convergence.resources.driver.type_spec import TypeSpec

CONTAINER = RestResource(
    entity="swift.container",
    service="object_store",
    sdk_class=container.Container,
    id_key="name",
    ids_are_uuids=False,
)

TYPE_SPECS = (
    TypeSpec(
        name="OS::Swift::Container", schema_file="swift", service="swift", rest_resource=CONTAINER
    ),
)
