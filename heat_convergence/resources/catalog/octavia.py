"""Octavia's things and resource types: nothing but data."""

from __future__ import annotations

from typing import Any

from openstack.load_balancer.v2 import (
    availability_zone,
    availability_zone_profile,
    flavor,
    flavor_profile,
    health_monitor,
    l7_policy,
    l7_rule,
    listener,
    load_balancer,
    member,
    pool,
    quota,
)

from heat_convergence.resources.driver.row import Arg, Row, Status, not_sent
from heat_convergence.resources.driver.things import Mark, Thing

PROVISIONED = Status(
    key="provisioning_status",
    ready=frozenset({"active"}),
    gone=frozenset({"deleted"}),
)


def _thing(noun: str, resource: type[Any], **given: Any) -> Thing:
    """Lists filter by id, name and description."""
    facts = {"mark": Mark.DESCRIPTION, "marks_found_by_query": True, **given}
    return Thing(noun=f"octavia.{noun}", service="load_balancer", resource=resource, **facts)


THINGS = (
    _thing("loadbalancer", load_balancer.LoadBalancer, word="loadbalancer"),
    _thing("listener", listener.Listener),
    _thing("pool", pool.Pool),
    _thing("member", member.Member, mark=Mark.NAME),
    _thing("healthmonitor", health_monitor.HealthMonitor, mark=Mark.NAME),
    _thing("l7policy", l7_policy.L7Policy),
    _thing("l7rule", l7_rule.L7Rule, name_key=None, mark=Mark.NONE),
    _thing("flavor", flavor.Flavor),
    _thing("flavorprofile", flavor_profile.FlavorProfile, mark=Mark.NAME),
    _thing("availabilityzone", availability_zone.AvailabilityZone, id_key="name",
           uuids=False),
    _thing("availabilityzoneprofile", availability_zone_profile.AvailabilityZoneProfile,
           mark=Mark.NAME),
    _thing("quota", quota.Quota, name_key=None, mark=Mark.NONE),
)
_BY_NOUN = {thing.noun.partition(".")[2]: thing for thing in THINGS}

_PROJECT = {"tenant_id": Arg("project_id")}
_LOAD_BALANCER = {"loadbalancer": Arg("loadbalancer_id", "octavia.loadbalancer")}
_LISTENER = {"listener": Arg("listener_id", "octavia.listener")}


def _row(name: str, noun: str, **given: Any) -> Row:
    return Row(
        name=f"OS::Octavia::{name}",
        schema="octavia",
        service="octavia",
        thing=_BY_NOUN[noun],
        **given,
    )


def _provisioned(name: str, noun: str, **given: Any) -> Row:
    """What the service makes, changes and deletes in its own time."""
    return _row(name, noun, status=PROVISIONED, waits_for_delete=True, **given)


ROWS = (
    _provisioned(
        "LoadBalancer", "loadbalancer",
        arguments={
            **_PROJECT,
            "vip_subnet": Arg("vip_subnet_id", "neutron.subnet"),
            "flavor": Arg("flavor_id", "octavia.flavor"),
        },
    ),
    _provisioned(
        "Listener", "listener",
        arguments={
            **_PROJECT,
            **_LOAD_BALANCER,
            "default_pool": Arg("default_pool_id", "octavia.pool"),
        },
    ),
    _provisioned("Pool", "pool", arguments={**_LOAD_BALANCER, **_LISTENER}),
    _provisioned(
        "PoolMember", "member",
        arguments={**not_sent("pool"), "subnet": Arg("subnet_id", "neutron.subnet")},
        places={"pool_id": "pool"},
        place_nouns={"pool_id": "octavia.pool"},
    ),
    _provisioned(
        "HealthMonitor", "healthmonitor",
        arguments={**_PROJECT, "pool": Arg("pool_id", "octavia.pool")},
    ),
    _provisioned(
        "L7Policy", "l7policy",
        arguments={**_LISTENER, "redirect_pool": Arg("redirect_pool_id", "octavia.pool")},
    ),
    _provisioned(
        "L7Rule", "l7rule",
        arguments=not_sent("l7policy"),
        places={"l7policy_id": "l7policy"},
        place_nouns={"l7policy_id": "octavia.l7policy"},
        named=False,
        found_by_content=True,
    ),
    _row(
        "Flavor", "flavor",
        arguments={"flavor_profile": Arg("flavor_profile_id", "octavia.flavorprofile")},
    ),
    _row("FlavorProfile", "flavorprofile"),
    _row(
        "AvailabilityZone", "availabilityzone",
        arguments={
            "availability_zone_profile": Arg(
                "availability_zone_profile_id", "octavia.availabilityzoneprofile"
            )
        },
    ),
    _row("AvailabilityZoneProfile", "availabilityzoneprofile"),
    _row("Quota", "quota", named=False),
)
