"""Blazar's types: objects that have no mark but their names."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common.errors import PhysicalResourceNameAmbiguity
from tests.unit.resources.emulated_cloud import TYPES, EmulatedCloud

HOST, LEASE = "OS::Blazar::Host", "OS::Blazar::Lease"
LEASE_PROPERTIES: dict[str, Any] = {
    "name": "nightly",
    "start_date": "2027-01-01 00:00",
    "end_date": "2027-01-02 00:00",
    "reservations": [{"resource_type": "physical:host", "min": 1, "max": 1}],
}


@pytest.mark.parametrize(
    ("type_name", "properties", "entity", "field"),
    [
        (HOST, {"name": "compute-1"}, "blazar.host", "hypervisor_hostname"),
        (LEASE, LEASE_PROPERTIES, "blazar.lease", "name"),
    ],
)
def test_object_is_adopted_only_if_its_name_is_unique(
    type_name: str, properties: dict[str, Any], entity: str, field: str
) -> None:
    cloud, resource_type = EmulatedCloud(), TYPES[type_name]
    context = cloud.context(type_name, properties)
    assert resource_type.find(context) is None
    own = cloud.emulation.add(entity, **{field: properties["name"]})
    cloud.emulation.add(entity, **{field: "another"})
    assert resource_type.find(context) == own["id"]
    cloud.emulation.add(entity, **{field: properties["name"]})
    with pytest.raises(PhysicalResourceNameAmbiguity, match=properties["name"]):
        resource_type.find(context)
