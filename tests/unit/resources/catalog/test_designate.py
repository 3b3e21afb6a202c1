"""``OS::Designate::Zone``: which properties a zone of each type needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.verb_values import VerbResult
from tests.catalog_types import DECLARATIVE_TYPES
from tests.unit.resources.conftest import make_context

TYPES = DECLARATIVE_TYPES


@pytest.fixture
def zone() -> DeclarativeType:
    return TYPES["OS::Designate::Zone"]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"name"}, "PRIMARY requires email"),
        ({"name", "masters", "primaries"}, "masters and primaries at the same time"),
    ],
)
def test_zone_of_neither_type_is_refused(
    zone: DeclarativeType, names: set[str], message: str
) -> None:
    with pytest.raises(StackValidationFailed, match=message):
        zone.validate_property_names(frozenset(names))


@pytest.mark.parametrize("name", ["email", "masters", "primaries"])
def test_value_that_is_known_later_is_enough(zone: DeclarativeType, name: str) -> None:
    zone.validate_property_names(frozenset({"name", name}))


@pytest.mark.parametrize(
    ("name", "properties", "shown", "compared"),
    [
        ("RecordSet", {"name": "www", "ttl": 60}, {"name": "www.a.org.", "ttl": 60}, {"ttl"}),
        ("Zone", {"email": "a@a.org", "ttl": 3}, {"email": "b@a.org", "ttl": 3}, {"email", "ttl"}),
        ("Zone", {"type": "SECONDARY", "ttl": 3}, {"type": "SECONDARY", "ttl": 4}, {"type"}),
    ],
)
def test_watch_compares_what_the_service_was_sent(
    name: str, properties: dict[str, Any], shown: dict[str, Any], compared: set[str]
) -> None:
    resource_type = TYPES[f"OS::Designate::{name}"]
    required = {"name": "a.org.", "zone": "z", "type": "A", "records": ["192.0.2.1"]}
    if name == "Zone":
        required = {"name": "a.org.", "email": "a@a.org"}
    cloud = SimpleNamespace(send=None, cache_key="k")  # not called
    context = make_context(resource_type, {**required, **properties}, cloud=cloud)
    result = VerbResult(ObservedState.READY, "id", {"show": shown})
    assert set(resource_type.comparable_values(context, result)) == compared
