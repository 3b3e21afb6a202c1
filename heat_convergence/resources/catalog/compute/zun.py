"""REST resource and spec of Zun's resource type."""

from __future__ import annotations

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.catalog.missing_sdk_resources import ContainerResource
from heat_convergence.resources.driver.rest_resources import by_entity
from heat_convergence.resources.driver.type_spec import StatusMapping, omit_arguments
from heat_convergence.resources.openstack.zun.containers import ContainerNetworks, ZunContainer

TESTED_RELEASE = "Zun 18"
REST_RESOURCES = by_entity(
    make_rest_resource(
        "Zun",
        "application_container",
        "container",
        ContainerResource,
        id_key="uuid",
        name_query=None,
        commit_method="PATCH",
        # Commands are lists, and a terminal is not the same as interactive. keystoneauth would
        # name the service otherwise than Zun does.
        headers=(("OpenStack-API-Version", "container 1.36"),),
    ),
)

TYPE_SPECS = (
    make_spec(
        "Zun",
        REST_RESOURCES,
        "Container",
        "container",
        test_environment=TESTED_RELEASE,
        arguments=omit_arguments("command", "restart_policy", "mounts"),
        status_mapping=StatusMapping(
            ready=frozenset({"running"}),
            failed=frozenset({"error", "dead"}),
            reason_key="status_reason",
        ),
        live_attributes=frozenset({"addresses"}),
        subresources=(ContainerNetworks(),),
        deletes_asynchronously=True,
    ),
)

ZUN = CatalogService(REST_RESOURCES, TYPE_SPECS, {"OS::Zun::Container": ZunContainer})
