"""REST resources and spec of Ironic's resource type."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import ArgumentMapping
from heat_convergence.resources.openstack.ironic.ports import BaremetalPort

TESTED_RELEASE = "Ironic 39"
# The first microversion whose ports have all properties.
_rest_resource = partial(
    make_rest_resource,
    "Ironic",
    "baremetal",
    id_key="uuid",
    name_query=None,
    updates_by_patch=True,
    microversion="1.53",
)

REST_RESOURCES = by_entity(
    _rest_resource("node", "baremetal.v1.node.Node"),
    _rest_resource("portgroup", "baremetal.v1.port_group.PortGroup"),
    _rest_resource("port", "baremetal.v1.port.Port", name_key=None, list_path="/ports/detail"),
)

TYPE_SPECS = (
    make_spec(
        "Ironic",
        REST_RESOURCES,
        "Port",
        "port",
        test_environment=TESTED_RELEASE,
        arguments={
            "node": ArgumentMapping("node_uuid", "ironic.node"),
            "portgroup": ArgumentMapping("portgroup_uuid", "ironic.portgroup"),
        },
        null_when_unset=frozenset(
            {"extra", "is_smartnic", "local_link_connection", "physical_network", "pxe_enabled"}
        ),
        has_name=False,
        findable_by_content=True,
    ),
)

IRONIC = CatalogService(REST_RESOURCES, TYPE_SPECS, {"OS::Ironic::Port": BaremetalPort})
