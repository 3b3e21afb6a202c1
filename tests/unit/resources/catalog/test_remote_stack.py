"""``OS::Heat::Stack``: its schema, and when it is replaced."""

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
KIND = RemoteStack()


def test_schema_is_as_the_facts_say() -> None:
    facts, schema = FACTS[KIND.name], KIND.schema
    told = {name: property_as_fact(each) for name, each in schema.properties.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (told, attributes) == (facts["properties"], facts["attributes"])
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
def test_another_region_takes_another_stack(
    before: dict[str, Any], after: dict[str, Any], replaced: bool
) -> None:
    assert KIND.needs_replace(before, after, frozenset({"context"})) is replaced
