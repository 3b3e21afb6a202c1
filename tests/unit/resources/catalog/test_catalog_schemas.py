"""Schemas of the catalog's types compared with Heat's, type by type.

``data/catalog_types.json`` holds what Heat's API shows of each type.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources.catalog.rest_resources import REST_RESOURCES
from heat_convergence.resources.protocol.type_schema import PropertySchema
from tests.catalog_types import CATALOG, DECLARATIVE_TYPES
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    property_as_fact,
)

Json = Any
HEAT = json.loads((Path(__file__).parents[1] / "data" / "catalog_types.json").read_text())
TYPES = DECLARATIVE_TYPES


def heat_type(name: str) -> dict[str, Json]:
    """Return what Heat's API shows of the type."""
    shown: dict[str, Json] = HEAT["types"][name]
    return shown


def test_types_are_those_of_heat() -> None:
    assert sorted(TYPES) == sorted(HEAT["types"])


@pytest.mark.parametrize("name", TYPES)
def test_properties_equal_those_of_heat(name: str) -> None:
    properties = TYPES[name].schema.properties
    shown = {key: property_as_fact(item) for key, item in properties.items()}
    assert shown == heat_type(name)["properties"]


@pytest.mark.parametrize("name", TYPES)
def test_attributes_and_traits_equal_those_of_heat(name: str) -> None:
    resource_type = TYPES[name]
    attributes = resource_type.schema.attributes
    shown = {key: attribute_as_fact(item) for key, item in attributes.items()}
    assert shown == heat_type(name)["attributes"]
    traits = dict(heat_type(name)["traits"])
    del traits["check"]  # every type of the catalog can be checked, not only those of Heat
    assert traits == {
        "name_limit": resource_type.physical_name_limit,
        "snapshot": resource_type.allows_snapshot_on_delete,
        "update_repairs_failure": resource_type.update_repairs_failure,
        "status": str(resource_type.schema.support_status.status),
    }


@pytest.mark.parametrize("name", TYPES)
def test_aliases_are_hidden_and_refer_to_a_property(name: str) -> None:
    def check(properties: Mapping[str, PropertySchema]) -> None:
        for key, item in properties.items():
            if item.alias_of:
                assert item.support_status.hidden, key
                assert item.alias_of in properties, key
            check(item.schema or {})
            check((item.item and item.item.schema) or {})

    check(TYPES[name].schema.properties)


@pytest.mark.parametrize("name", TYPES)
def test_specs_refer_to_properties_and_attributes_of_the_schema(name: str) -> None:
    resource_type = TYPES[name]
    known = set(resource_type.schema.properties)
    for path in [*resource_type.spec.arguments, *resource_type.spec.aliases]:
        assert path.partition(".")[0] in known, path
    assert set(resource_type.spec.path_properties.values()) <= known
    assert set(resource_type.spec.attribute_paths) <= set(resource_type.schema.attributes)
    for subresource in resource_type.spec.subresources:
        assert subresource.property_names <= known, subresource


def test_hidden_types_are_known_and_accept_any_property() -> None:
    hidden = {
        resource_type.name: resource_type
        for resource_type in CATALOG
        if resource_type.name not in TYPES
    }
    assert sorted(hidden) == HEAT["hidden_types"]
    for resource_type in hidden.values():
        assert resource_type.schema.support_status.hidden
        assert resource_type.schema.accepts_any_property


@pytest.mark.parametrize("entity", sorted(REST_RESOURCES))
def test_path_of_an_entity_is_that_of_its_class(entity: str) -> None:
    """The classes are named, and loaded with the first request."""
    rest_resource = REST_RESOURCES[entity]
    assert rest_resource.path_template.startswith("/")
    assert rest_resource.update_method in {"PUT", "PATCH", "POST"}
    assert rest_resource.item_key != "" != rest_resource.list_key
