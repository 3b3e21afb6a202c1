"""Glance's resource type, as data."""

from __future__ import annotations

from heat_convergence.resources.catalog.things import THINGS
from heat_convergence.resources.driver.row import Row, Status, not_sent
from heat_convergence.resources.openstack.images import MEMBERS

IMAGE_STATUS = Status(
    ready=frozenset({"active", "deactivated"}),
    failed=frozenset({"killed"}),
    gone=frozenset({"deleted"}),
)

ROWS = (
    Row(
        name="OS::Glance::WebImage",
        schema="glance",
        service="glance",
        thing=THINGS["glance.image"],
        arguments=not_sent("location", "extra_properties", "active"),
        status=IMAGE_STATUS,
        parts=(MEMBERS,),
        tested_on="Glance 33",
    ),
)
