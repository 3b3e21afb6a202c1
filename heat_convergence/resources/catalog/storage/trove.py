"""REST resources and specs of Trove's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import DatabaseClusterResource
from heat_convergence.resources.driver.rest_resources import OwnershipMarkField, by_entity
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    StatusMapping,
    rename_arguments,
)
from heat_convergence.resources.openstack.trove.clusters import DatabaseCluster
from heat_convergence.resources.openstack.trove.instances import READY_STATES, DatabaseInstance
from heat_convergence.resources.openstack.trove.subresources import (
    InstanceDatabases,
    InstanceUsers,
)

TESTED_RELEASE = "Trove 26"
_rest_resource = partial(make_rest_resource, "Trove", "database", name_query=None)

REST_RESOURCES = by_entity(
    _rest_resource("flavor", "database.v1.flavor.Flavor", ids_are_uuids=False),
    _rest_resource(
        "instance",
        "database.v1.instance.Instance",
        commit_method="PATCH",
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _rest_resource("cluster", DatabaseClusterResource),
)


def _networks(path: str) -> dict[str, ArgumentMapping]:
    """Return the mapping of a list of networks at a path."""
    return {
        path: ArgumentMapping("nics"),
        f"{path}.network": ArgumentMapping("net-id", "neutron.network"),
        f"{path}.port": ArgumentMapping("port-id", "neutron.port"),
        f"{path}.fixed_ip": ArgumentMapping("v4-fixed-ip"),
    }


_DATASTORE = rename_arguments(
    datastore_type="datastore.type", datastore_version="datastore.version"
)
_spec = partial(
    make_spec,
    "Trove",
    REST_RESOURCES,
    test_environment=TESTED_RELEASE,
    deletes_asynchronously=True,
)

TYPE_SPECS = (
    _spec(
        "Instance",
        "instance",
        arguments={
            **_DATASTORE,
            **_networks("networks"),
            **rename_arguments(size="volume.size", restore_point="restorePoint.backupRef"),
            "flavor": ArgumentMapping("flavorRef", "trove.flavor"),
        },
        status_mapping=StatusMapping(ready=READY_STATES, failed=frozenset({"error", "failed"})),
        live_attributes=frozenset({"hostname"}),
        subresources=(InstanceDatabases(), InstanceUsers()),
    ),
    _spec(
        "Cluster",
        "cluster",
        arguments={
            **_DATASTORE,
            **_networks("instances.networks"),
            "instances.flavor": ArgumentMapping("flavorRef", "trove.flavor"),
        },
        live_attributes=frozenset({"instances", "ip"}),
    ),
)

TROVE = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {"OS::Trove::Cluster": DatabaseCluster, "OS::Trove::Instance": DatabaseInstance},
)
