"""What the conformance suite reaches: every type, and every property that changes in place."""

from __future__ import annotations

import pytest

from heat_convergence.resources.catalog.resource_types import load_resource_types
from heat_convergence.resources.driver.declarative import DeclarativeType
from tests.conformance.cases import CASES

TYPES = {kind.name: kind for kind in load_resource_types() if isinstance(kind, DeclarativeType)}
# What no service changes though clients are told so, by type and property.
REFUSED = {
    ("OS::Octavia::AvailabilityZone", "name"): "the service knows it by its name",
    ("OS::Nova::Server", "deployment_swift_data"): "it is of a transport that is refused",
}


def changed(name: str) -> set[str]:
    """Properties that some case changes, by their new names."""
    aliases = TYPES[name].spec.aliases
    found = set().union(*(case.updated_property_names() for case in CASES if case.type == name))
    return {aliases.get(each, each) for each in found}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_lives_and_every_updatable_property_changes(name):
    assert any(case.type == name for case in CASES)
    declared = TYPES[name].schema.properties
    allowed = {
        key
        for key, item in declared.items()
        if item.update_allowed and item.implemented and not item.support_status.hidden
    }
    assert allowed - changed(name) == {key for kind, key in REFUSED if kind == name}


def test_names_of_cases_differ():
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
