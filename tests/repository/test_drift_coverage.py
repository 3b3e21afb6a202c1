"""The page about drift of each type, which must be current and leave out no type."""

from __future__ import annotations

from pathlib import Path

from heat_convergence.resources.catalog.property_comparisons import (
    COMPARISONS,
    READ_ALONE,
    UNREAD,
)
from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.openstack.hidden_types import HiddenResourceType
from tests.catalog_types import DECLARATIVE_TYPES
from tests.conformance import drift_table

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "drift-coverage.rst"


def test_documentation_holds_the_current_page() -> None:
    assert DOCS.read_text() == drift_table.render_page(), "python -m tests.conformance.drift_table"


def test_every_type_is_read() -> None:
    """Let every type be watched, by lists or one by one for a reason."""
    types = drift_table.covered_types()
    assert len(types) > 70
    for name, each in types.items():
        assert each.is_watched, name
        assert each.spec.is_read_alone == bool(each.spec.unlisted_reason), name
    others = {
        each.name
        for each in load_resource_types()
        if each.name.split("::")[1] in drift_table.SERVICES and each.name not in types
    }
    hidden = {each.name for each in load_resource_types() if isinstance(each, HiddenResourceType)}
    assert others <= hidden


def test_data_names_existing_types_and_properties() -> None:
    assert set(READ_ALONE) | set(UNREAD) | set(COMPARISONS) <= set(DECLARATIVE_TYPES)
    assert not set(READ_ALONE) & set(UNREAD)
    for name, rules in COMPARISONS.items():
        assert set(rules) <= set(DECLARATIVE_TYPES[name].schema.properties), name


def test_properties_are_listed_once_by_their_comparison() -> None:
    """Find a declared rule, the rule of single values, and a map without a rule."""
    found = drift_table.compared_properties(DECLARATIVE_TYPES["OS::Neutron::Port"])
    assert "name" in found["exact"]
    assert "mac_address" in found["normalized"]
    assert "allowed_address_pairs" in found["subset"]
    assert "device_id" in found["set by the service"]
    assert "value_specs" in found["not readable"]
    names = [name for some in found.values() for name in some]
    assert len(names) == len(set(names))
