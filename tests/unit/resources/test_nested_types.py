"""Built-in types with a stack behind them: schemas, and the arithmetic of batches."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.resources.builtin.nested.batches import Pace, step
from heat_convergence.resources.builtin.nested.cfn_stack import CloudFormationStack
from heat_convergence.resources.builtin.nested.resource_chain import ResourceChain
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup, member
from heat_convergence.resources.nesting.kinds import NestedType, normal
from tests.unit.resources.test_resource_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

FACTS = json.loads((Path(__file__).parent / "data" / "nested_types.json").read_text())
TYPES = (CloudFormationStack(), ResourceChain(), ResourceGroup())

every_type = pytest.mark.parametrize("kind", TYPES, ids=lambda item: item.name)


def test_facts_cover_the_same_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_is_as_the_facts_say(kind: NestedType) -> None:
    facts, schema = FACTS[kind.name], kind.schema
    told = {name: property_as_fact(each) for name, each in schema.properties.items()}
    policy = {name: property_as_fact(each) for name, each in schema.update_policy.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (told, attributes) == (facts["properties"], facts["attributes"])
    assert policy == facts["update_policy"]
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_everything_is_described(kind: NestedType) -> None:
    assert kind.schema.description
    assert [name for name, text in descriptions(kind.schema.properties) if not text] == []


SIZES = st.integers(0, 12)
PACES = st.builds(Pace, st.integers(1, 5), st.integers(0, 12))


@given(before=SIZES, after=SIZES, pace=PACES, updated=st.integers(0, 12))
def test_batches_come_to_an_end_within_their_bounds(
    before: int, after: int, pace: Pace, updated: int
) -> None:
    target = [str(at) for at in range(after)]
    members = {str(at): "new" if at < updated else "old" for at in range(before)}
    more = True
    for _step in range(100):
        if not more:
            break
        standing = set(members)
        outdated = {name for name, each in members.items() if each == "old"}
        members, more = step(members, lambda _name: "new", target, str, pace)
        changed = {name for name in outdated & set(members) if members[name] == "new"}
        kept = (standing & set(members)) - changed
        # Short of the floor by no more than those that did not run before.
        assert len(changed) <= pace.batch_size
        assert len(kept) >= min(pace.min_in_service, after, len(standing)) - len(changed)
    assert members == dict.fromkeys(target, "new")
    assert not more


@pytest.mark.parametrize(
    ("name", "path", "read"),
    [
        ("out", (), ("out",)),
        ("out", ("a", 0), ("out", "a", "0")),
        ("resource.a", (), ("resource.a",)),
        ("resource.a", ("b",), ("resource.a", "b")),
        ("resource.a.b", ("c",), ("resource.a", "b", "c")),
        ("out", ({"open": 1},), None),
    ],
)
def test_reads_are_brought_to_one_form(name: str, path: tuple, read: tuple | None) -> None:
    assert normal(name, path) == read


def test_numbers_go_into_values_and_not_into_names_or_metadata() -> None:
    properties = {
        "resource_def": {
            "type": "T%index%",
            "properties": {"%index%": ["a%index%", {"b": "%index%"}], "none": None, "n": 1},
            "metadata": {"m": "%index%"},
        }
    }
    assert member(properties, "7") == {
        "type": "T%index%",
        "properties": {"%index%": ["a7", {"b": "7"}], "n": 1},
        "metadata": {"m": "%index%"},
    }
