"""``OS::Heat::Stack``: its schema, and its replacement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.resources.openstack.heat.remote_stack import RemoteStack
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

FACTS = json.loads((Path(__file__).parents[1] / "data" / "remote_types.json").read_text())
REMOTE_STACK = RemoteStack()


def test_schema_equals_that_of_heat() -> None:
    facts, schema = FACTS[REMOTE_STACK.name], REMOTE_STACK.schema
    properties = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (properties, attributes) == (facts["properties"], facts["attributes"])
    assert support_as_fact(schema) == facts["support_status"]
    assert [name for name, text in descriptions(schema.properties) if not text] == []


@pytest.mark.parametrize(
    ("before", "after", "replaced"),
    [
        ({}, {"context": {"region_name": "b"}}, True),
        ({"context": {"region_name": "a"}}, {"context": {"region_name": "b"}}, True),
        ({"context": {"region_name": "a"}}, {"context": {"region_name": "a"}}, False),
        ({"context": {"insecure": False}}, {}, False),
    ],
)
def test_change_of_region_replaces_the_stack(
    before: dict[str, Any], after: dict[str, Any], replaced: bool
) -> None:
    assert REMOTE_STACK.needs_replace(before, after, frozenset({"context"})) is replaced
