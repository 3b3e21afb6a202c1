"""REST resources and specs of Manila's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import SecurityServiceResource
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    omit_arguments,
    rename_arguments,
)
from heat_convergence.resources.openstack.cinder.subresources import VOLUME_METADATA
from heat_convergence.resources.openstack.manila.share_networks import (
    SecurityService,
    SecurityServices,
    ShareNetwork,
    ShareType,
)
from heat_convergence.resources.openstack.manila.shares import AccessRules, Share
from heat_convergence.resources.openstack.subresources import ExtraSpecs

TESTED_RELEASE = "Manila 23"
_rest_resource = partial(make_rest_resource, "Manila", "shared_file_system", microversion="2.13")

REST_RESOURCES = by_entity(
    _rest_resource(
        "share",
        "shared_file_system.v2.share.Share",
        list_path="/shares/detail",
        ownership_mark_field=OwnershipMarkField.METADATA,
    ),
    _rest_resource(
        "share_snapshot",
        "shared_file_system.v2.share_snapshot.ShareSnapshot",
        list_path="/snapshots/detail",
    ),
    _rest_resource(
        "share_network",
        "shared_file_system.v2.share_network.ShareNetwork",
        list_path="/share-networks/detail",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
    _rest_resource(
        "share_type",
        "shared_file_system.v2.share_type.ShareType",
        list_query=(("is_public", "all"),),
    ),
    _rest_resource(
        "security_service",
        SecurityServiceResource,
        list_path="/security-services/detail",
        ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    ),
)


_spec = partial(make_spec, "Manila", REST_RESOURCES, test_environment=TESTED_RELEASE)

TYPE_SPECS = (
    _spec(
        "Share",
        "share",
        arguments={
            **rename_arguments(share_protocol="share_proto"),
            "share_network": ArgumentMapping("share_network_id", "manila.share_network"),
            "share_type": ArgumentMapping("share_type", "manila.share_type"),
            "snapshot": ArgumentMapping("snapshot_id", "manila.share_snapshot"),
        },
        update_argument_names={"name": "display_name", "description": "display_description"},
        status_mapping=StatusMapping(
            ready=frozenset({"available"}), failed=frozenset({"error", "error_deleting"})
        ),
        live_attributes=frozenset({"host", "share_server_id"}),
        subresources=(VOLUME_METADATA, AccessRules()),
        deletes_asynchronously=True,
    ),
    _spec(
        "ShareNetwork",
        "share_network",
        arguments={
            **omit_arguments("nova_network"),
            "neutron_network": ArgumentMapping("neutron_net_id", "neutron.network"),
            "neutron_subnet": ArgumentMapping("neutron_subnet_id", "neutron.subnet"),
        },
        subresources=(SecurityServices(),),
    ),
    _spec(
        "ShareType",
        "share_type",
        arguments={
            **omit_arguments("driver_handles_share_servers", "snapshot_support"),
            **rename_arguments(is_public="share_type_access:is_public"),
        },
        subresources=(ExtraSpecs("extra_specs", "extra_specs"),),
    ),
    _spec("SecurityService", "security_service"),
)

MANILA = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Manila::Share": Share,
        "OS::Manila::SecurityService": SecurityService,
        "OS::Manila::ShareNetwork": ShareNetwork,
        "OS::Manila::ShareType": ShareType,
    },
)
