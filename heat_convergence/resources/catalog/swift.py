"""Swift's resource type; its interface is headers, which its class sees to."""

from __future__ import annotations

from openstack.object_store.v1 import container

from heat_convergence.resources.driver.row import Row
from heat_convergence.resources.driver.things import Thing

CONTAINER = Thing(
    noun="swift.container",
    service="object_store",
    resource=container.Container,
    id_key="name",
    uuids=False,
)

ROWS = (
    Row(name="OS::Swift::Container", schema="swift", service="swift", thing=CONTAINER),
)
