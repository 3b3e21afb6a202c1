"""Tests of the built-in types with nested stacks, and of the arithmetic of batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.resources.builtin.nested.auto_scaling_group import AutoScalingGroup
from heat_convergence.resources.builtin.nested.cfn_stack import CloudFormationStack
from heat_convergence.resources.builtin.nested.group_members import (
    MemberTemplate,
    member_definition,
)
from heat_convergence.resources.builtin.nested.resource_chain import ResourceChain
from heat_convergence.resources.builtin.nested.resource_group import ResourceGroup
from heat_convergence.resources.builtin.nested.rolling_update import (
    RollingUpdatePolicy,
    roll_by_order,
)
from heat_convergence.resources.builtin.software.deployment_groups import (
    SoftwareDeploymentGroup,
    SoftwareDeployments,
    StructuredDeploymentGroup,
    StructuredDeployments,
)
from heat_convergence.resources.nested.nested_type import NestedType, normalize_attribute_path
from tests.unit.resources.builtin.test_builtin_conformance import (
    attribute_as_fact,
    descriptions,
    property_as_fact,
    support_as_fact,
)

FACTS = json.loads((Path(__file__).parents[1] / "data" / "nested_types.json").read_text())
TYPES = (
    CloudFormationStack(),
    AutoScalingGroup(),
    ResourceChain(),
    ResourceGroup(),
    SoftwareDeploymentGroup(),
    SoftwareDeployments(),
    StructuredDeploymentGroup(),
    StructuredDeployments(),
)

every_type = pytest.mark.parametrize("resource_type", TYPES, ids=lambda item: item.name)


def test_facts_cover_all_types() -> None:
    assert sorted(FACTS) == [item.name for item in TYPES]


@every_type
def test_schema_matches_the_facts(resource_type: NestedType) -> None:
    facts, schema = FACTS[resource_type.name], resource_type.schema
    properties = {name: property_as_fact(each) for name, each in schema.properties.items()}
    policy = {name: property_as_fact(each) for name, each in schema.update_policy.items()}
    attributes = {name: attribute_as_fact(each) for name, each in schema.attributes.items()}
    assert (properties, attributes) == (facts["properties"], facts["attributes"])
    assert policy == facts["update_policy"]
    assert support_as_fact(schema) == facts["support_status"]


@every_type
def test_every_property_has_a_description(resource_type: NestedType) -> None:
    assert resource_type.schema.description
    assert [name for name, text in descriptions(resource_type.schema.properties) if not text] == []


def test_extra_members_keep_min_in_service_and_oldest_is_removed_last() -> None:
    members = dict.fromkeys(["a", "b", "c"], "old")
    names = iter(["x"])
    limits = RollingUpdatePolicy(batch_size=1, min_in_service=3)
    steps = []
    for _step in range(5):
        members = roll_by_order(members, "new", 3, limits, lambda: next(names))
        steps.append("".join(n.upper() if d == "new" else n for n, d in members.items()))
    assert steps == ["abcX", "AbcX", "ABcX", "ABCX", "BCX"]


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
def test_attribute_paths_are_normalized(
    name: str, path: tuple[Any, ...], read: tuple[str, ...] | None
) -> None:
    assert normalize_attribute_path(name, path) == read


def test_index_is_substituted_in_values_only() -> None:
    properties = {
        "resource_def": {
            "type": "T%index%",
            "properties": {"%index%": ["a%index%", {"b": "%index%"}], "none": None, "n": 1},
            "metadata": {"m": "%index%"},
        }
    }
    assert member_definition(properties, "7") == {
        "type": "T%index%",
        "properties": {"%index%": ["a7", {"b": "7"}], "n": 1},
        "metadata": {"m": "%index%"},
    }


def group_of(value: Any) -> MemberTemplate:
    definition = {"type": "T", "properties": {"value": value}}
    return MemberTemplate({"resource_def": definition})


def test_members_share_what_has_no_number() -> None:
    members = group_of([["x"] * 1000])
    first, second = (members.definition(name)["properties"] for name in ("0", "1"))
    assert first["value"] is second["value"]
    members.check_count(100_000)


@pytest.mark.parametrize(("value", "count"), [(["%index%"] * 20_000, 900), ("a", 10**9)])
def test_members_that_no_template_could_hold_are_refused(value: Any, count: int) -> None:
    """The members would take gigabytes, so none is made."""
    with pytest.raises(RequestLimitExceeded, match=rf"template of {count} members .* 500000"):
        group_of(value).check_count(count)
    group_of(value).check_count(20)
