"""Coverage of the conformance suite: every type, and every property that can be updated."""

from __future__ import annotations

import pytest

from tests.catalog_types import DECLARATIVE_TYPES
from tests.conformance.cases.all_cases import CASES

TYPES = DECLARATIVE_TYPES
# Properties that no service changes although Heat's schema says so, by type and property.
NOT_UPDATABLE = {
    ("OS::Octavia::AvailabilityZone", "name"): "Octavia identifies it by its name",
    (
        "OS::Nova::Server",
        "deployment_swift_data",
    ): "it applies when the transport changes, as in Heat",
}


def updated_property_names(name: str) -> set[str]:
    """Return the properties of a type that some case updates, without their aliases."""
    aliases = TYPES[name].spec.aliases
    names: set[str] = set()
    for case in CASES:
        if case.type == name:
            names |= case.updated_property_names()
    return {aliases.get(each, each) for each in names}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_a_case_and_updates_all_its_properties(name: str) -> None:
    assert any(case.type == name for case in CASES)
    declared = TYPES[name].schema.properties
    updatable = {
        key
        for key, item in declared.items()
        if item.update_allowed and item.implemented and not item.support_status.hidden
    }
    exceptions = {key for type_name, key in NOT_UPDATABLE if type_name == name}
    assert updatable - updated_property_names(name) == exceptions


def test_ids_of_cases_are_unique() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids)
