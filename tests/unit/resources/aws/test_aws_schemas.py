"""Schemas of the AWS types compared with Heat's, type by type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from heat_convergence.resources.protocol.resource_type import ResourceType
from tests.installed_types import REGISTRY
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

FACTS = json.loads((Path(__file__).parents[1] / "data" / "aws_types.json").read_text())
TYPES = [REGISTRY.get(name) for name in sorted(FACTS)]

every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def test_facts_cover_all_types() -> None:
    own = [each.name for each in REGISTRY if ".resources.aws." in type(each).__module__]
    assert sorted(FACTS) == own


@every_type
def test_schema_matches_the_facts(resource_type: ResourceType) -> None:
    facts, schema = FACTS[resource_type.name], resource_type.schema
    assert {n: property_as_fact(p) for n, p in schema.properties.items()} == facts["properties"]
    policy = {name: property_as_fact(each) for name, each in schema.update_policy.items()}
    assert policy == facts["update_policy"]
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert attributes == facts["attributes"]
    assert support_as_fact(schema) == facts["support_status"]
    assert resource_type.physical_name_limit == facts["name_limit"]


@every_type
def test_everything_has_a_description(resource_type: ResourceType) -> None:
    schema = resource_type.schema
    assert schema.description
    declared = {**schema.properties, **schema.update_policy}
    assert [name for name, text in descriptions(declared) if not text] == []
    assert [name for name, each in schema.attributes.items() if not each.description] == []
