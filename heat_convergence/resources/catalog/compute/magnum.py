"""REST resources and specs of Magnum's resource types."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    rename_arguments,
)
from heat_convergence.resources.openstack.magnum.clusters import Cluster, ClusterTemplate

TESTED_RELEASE = "Magnum 23"
_rest_resource = partial(
    make_rest_resource,
    "Magnum",
    "container_infrastructure_management",
    id_key="uuid",
    name_query=None,
    updates_by_patch=True,
)

REST_RESOURCES = by_entity(
    _rest_resource("cluster", "container_infrastructure_management.v1.cluster.Cluster"),
    _rest_resource(
        "cluster_template",
        "container_infrastructure_management.v1.cluster_template.ClusterTemplate",
    ),
)

_spec = partial(make_spec, "Magnum", REST_RESOURCES, test_environment=TESTED_RELEASE)
_CLUSTER_TEMPLATE = _spec(
    "ClusterTemplate",
    "cluster_template",
    arguments={
        **rename_arguments(
            image="image_id",
            flavor="flavor_id",
            master_flavor="master_flavor_id",
            keypair="keypair_id",
        ),
        "external_network": ArgumentMapping("external_network_id", "neutron.network"),
        "fixed_network": ArgumentMapping("fixed_network", "neutron.network"),
        "fixed_subnet": ArgumentMapping("fixed_subnet", "neutron.subnet"),
    },
)

TYPE_SPECS = (
    _spec(
        "Cluster",
        "cluster",
        arguments={
            "cluster_template": ArgumentMapping("cluster_template_id", "magnum.cluster_template")
        },
        status_mapping=StatusMapping(
            ready=frozenset({"create_complete", "update_complete"}),
            failed=frozenset({"create_failed", "update_failed", "delete_failed"}),
            reason_key="status_reason",
        ),
        live_attributes=frozenset(
            {"api_address", "master_addresses", "node_addresses", "status_reason"}
        ),
        null_when_unset=frozenset({"discovery_url"}),
        deletes_asynchronously=True,
    ),
    _CLUSTER_TEMPLATE,
    replace(_CLUSTER_TEMPLATE, name="OS::Magnum::BayModel"),  # its old name
)

MAGNUM = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Magnum::BayModel": ClusterTemplate,
        "OS::Magnum::Cluster": Cluster,
        "OS::Magnum::ClusterTemplate": ClusterTemplate,
    },
)
