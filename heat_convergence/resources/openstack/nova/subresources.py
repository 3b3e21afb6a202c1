"""Subresources of host aggregates and flavors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.resources.driver.type_spec import PhysicalResource, SubResource
from heat_convergence.resources.openstack.subresources import ExtraSpecs, ProjectAccess

Json = Any


class AggregateHosts(SubResource):
    """The hosts of an aggregate.

    They are read first, because Nova refuses to add a host twice.
    """

    property_names = frozenset({"hosts"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Remove and add hosts until the aggregate has the desired ones."""
        current = set(physical.client.get(physical.path_id).get("hosts") or ())
        desired = set(properties.get("hosts") or ())
        for action, hosts in (("remove_host", current - desired), ("add_host", desired - current)):
            for host in sorted(hosts):
                physical.client.action(physical.path_id, action, {"host": host})

    def remove(self, physical: PhysicalResource, properties: Mapping[str, Json]) -> None:
        """Remove all hosts; Nova deletes no aggregate that has some."""
        if properties.get("hosts"):
            self.apply(physical, {}, properties)


class AggregateMetadata(SubResource):
    """The metadata of an aggregate."""

    property_names = frozenset({"metadata"})

    def apply(
        self,
        physical: PhysicalResource,
        properties: Mapping[str, Json],
        before: Mapping[str, Json] | None,
    ) -> None:
        """Set the desired keys, and the ones to remove to null."""
        desired = {key: str(value) for key, value in (properties.get("metadata") or {}).items()}
        removed_keys = ((before or {}).get("metadata") or {}).keys() - desired.keys()
        values = {**desired, **dict.fromkeys(sorted(removed_keys))}
        if values:
            physical.client.action(physical.path_id, "set_metadata", {"metadata": values})


AGGREGATE_HOSTS = AggregateHosts()
AGGREGATE_METADATA = AggregateMetadata()
FLAVOR_EXTRA_SPECS = ExtraSpecs("extra_specs", "os-extra_specs")
FLAVOR_ACCESS = ProjectAccess(
    "tenants",
    "os-flavor-access",
    ("addTenantAccess", "removeTenantAccess"),
    "flavor_access/tenant",
)
