"""``OS::Designate::Zone``: which properties a zone of each type needs."""

from __future__ import annotations

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.protocol.resource_type import ResourceType


@pytest.fixture(scope="module")
def zone() -> ResourceType:
    return next(each for each in load_resource_types() if each.name == "OS::Designate::Zone")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"name"}, "PRIMARY requires email"),
        ({"name", "masters", "primaries"}, "masters and primaries at the same time"),
    ],
)
def test_zone_of_neither_type_is_refused(
    zone: ResourceType, names: set[str], message: str
) -> None:
    with pytest.raises(StackValidationFailed, match=message):
        zone.validate_property_names(frozenset(names))


@pytest.mark.parametrize("name", ["email", "masters", "primaries"])
def test_value_that_is_known_later_is_enough(zone: ResourceType, name: str) -> None:
    zone.validate_property_names(frozenset({"name", name}))
