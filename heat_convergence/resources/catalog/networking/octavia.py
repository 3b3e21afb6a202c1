"""REST resources and specs of Octavia's resource types."""

from __future__ import annotations

from functools import partial

from heat_convergence.resources.catalog.catalog_rows import make_rest_resource, make_spec
from heat_convergence.resources.catalog.catalog_service import CatalogService
from heat_convergence.resources.driver.rest_resources import (
    OwnershipMarkField,
    by_entity,
)
from heat_convergence.resources.driver.type_spec import (
    ArgumentMapping,
    HealthMapping,
    StatusMapping,
    omit_arguments,
)
from heat_convergence.resources.openstack.octavia.l7_policies import L7Policy
from heat_convergence.resources.openstack.quotas import Quota

TESTED_RELEASE = "Octavia 19"
PROVISIONING_STATUS = StatusMapping(
    body_key="provisioning_status",
    ready=frozenset({"active"}),
    absent=frozenset({"deleted"}),
)

OPERATING_STATUS = HealthMapping(
    body_key="operating_status", unhealthy=frozenset({"degraded", "error"})
)
MEMBER_STATUS = HealthMapping(
    body_key="operating_status", healthy=frozenset({"online", "no_monitor"})
)

# Lists filter by id, name and description.
_rest_resource = partial(
    make_rest_resource,
    "Octavia",
    "load_balancer",
    ownership_mark_field=OwnershipMarkField.DESCRIPTION,
    mark_filterable=True,
)

REST_RESOURCES = by_entity(
    _rest_resource(
        "loadbalancer", "load_balancer.v2.load_balancer.LoadBalancer", entity_label="loadbalancer"
    ),
    _rest_resource("listener", "load_balancer.v2.listener.Listener"),
    _rest_resource("pool", "load_balancer.v2.pool.Pool"),
    _rest_resource(
        "member", "load_balancer.v2.member.Member", ownership_mark_field=OwnershipMarkField.NAME
    ),
    _rest_resource(
        "healthmonitor",
        "load_balancer.v2.health_monitor.HealthMonitor",
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _rest_resource("l7policy", "load_balancer.v2.l7_policy.L7Policy"),
    _rest_resource(
        "l7rule",
        "load_balancer.v2.l7_rule.L7Rule",
        name_key=None,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
    _rest_resource("flavor", "load_balancer.v2.flavor.Flavor"),
    _rest_resource(
        "flavorprofile",
        "load_balancer.v2.flavor_profile.FlavorProfile",
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _rest_resource(
        "availabilityzone",
        "load_balancer.v2.availability_zone.AvailabilityZone",
        id_key="name",
        ids_are_uuids=False,
    ),
    _rest_resource(
        "availabilityzoneprofile",
        "load_balancer.v2.availability_zone_profile.AvailabilityZoneProfile",
        ownership_mark_field=OwnershipMarkField.NAME,
    ),
    _rest_resource(
        "quota",
        "load_balancer.v2.quota.Quota",
        name_key=None,
        ownership_mark_field=OwnershipMarkField.NONE,
    ),
)

_PROJECT = {"tenant_id": ArgumentMapping("project_id")}
_LOAD_BALANCER = {"loadbalancer": ArgumentMapping("loadbalancer_id", "octavia.loadbalancer")}
_LISTENER = {"listener": ArgumentMapping("listener_id", "octavia.listener")}


_spec = partial(make_spec, "Octavia", REST_RESOURCES, test_environment=TESTED_RELEASE)
# Octavia creates, updates and deletes these asynchronously.
_provisioned = partial(
    _spec,
    status_mapping=PROVISIONING_STATUS,
    health_mapping=OPERATING_STATUS,
    deletes_asynchronously=True,
)

TYPE_SPECS = (
    _provisioned(
        "LoadBalancer",
        "loadbalancer",
        live_attributes=frozenset({"pools"}),
        arguments={
            **_PROJECT,
            "vip_subnet": ArgumentMapping("vip_subnet_id", "neutron.subnet"),
            "flavor": ArgumentMapping("flavor_id", "octavia.flavor"),
        },
    ),
    _provisioned(
        "Listener",
        "listener",
        arguments={
            **_PROJECT,
            **_LOAD_BALANCER,
            "default_pool": ArgumentMapping("default_pool_id", "octavia.pool"),
        },
    ),
    _provisioned(
        "Pool",
        "pool",
        arguments={**_LOAD_BALANCER, **_LISTENER},
        live_attributes=frozenset({"healthmonitor_id", "listeners", "members"}),
    ),
    _provisioned(
        "PoolMember",
        "member",
        health_mapping=MEMBER_STATUS,
        arguments={
            **omit_arguments("pool"),
            "subnet": ArgumentMapping("subnet_id", "neutron.subnet"),
        },
        path_properties={"pool_id": "pool"},
        path_entities={"pool_id": "octavia.pool"},
    ),
    _provisioned(
        "HealthMonitor",
        "healthmonitor",
        arguments={**_PROJECT, "pool": ArgumentMapping("pool_id", "octavia.pool")},
    ),
    _provisioned(
        "L7Policy",
        "l7policy",
        arguments={
            **_LISTENER,
            "redirect_pool": ArgumentMapping("redirect_pool_id", "octavia.pool"),
        },
    ),
    _provisioned(
        "L7Rule",
        "l7rule",
        arguments=omit_arguments("l7policy"),
        path_properties={"l7policy_id": "l7policy"},
        path_entities={"l7policy_id": "octavia.l7policy"},
        has_name=False,
        findable_by_content=True,
    ),
    _spec(
        "Flavor",
        "flavor",
        arguments={
            "flavor_profile": ArgumentMapping("flavor_profile_id", "octavia.flavorprofile")
        },
    ),
    _spec("FlavorProfile", "flavorprofile"),
    _spec(
        "AvailabilityZone",
        "availabilityzone",
        arguments={
            "availability_zone_profile": ArgumentMapping(
                "availability_zone_profile_id", "octavia.availabilityzoneprofile"
            )
        },
    ),
    _spec("AvailabilityZoneProfile", "availabilityzoneprofile"),
    _spec("Quota", "quota", has_name=False),
)

OCTAVIA = CatalogService(
    REST_RESOURCES,
    TYPE_SPECS,
    {
        "OS::Octavia::L7Policy": L7Policy,
        "OS::Octavia::Quota": Quota,
    },
)
