"""Values without calls are kept once: the template's own objects are stored with resources."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.template.evaluation.resource_definition import EMPTY_SECTION
from tests.unit.template.template_helpers import evaluate, hot_template

PLAIN = {"a": 1, "b": ["x", {"c": None}]}


def with_properties(properties: Any) -> Any:
    return hot_template(
        parameters={"p": {"type": "string", "default": "value"}},
        resources={
            "first": {"type": "OS::Heat::None"},
            "r": {"type": "OS::Heat::None", "properties": properties},
        },
    )


def test_properties_without_calls_are_the_templates_own() -> None:
    template = with_properties(PLAIN)
    definition = evaluate(template).definitions["r"]
    assert definition.properties is PLAIN
    assert DesiredResource.from_definition(definition, "T").definition["properties"] is PLAIN


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ({"get_param": "p"}, "value"),
        ({"list_join": ["-", ["a", "b"]]}, "a-b"),
        ({"get_resource": "first"}, None),
    ],
)
def test_values_beside_a_call_are_the_templates_own_and_it_stays_as_it_is(
    call: Any, value: Any
) -> None:
    plain = {"kept": [1, 2]}
    properties = {"list": [call, plain], "map": {"call": call, "plain": plain}, "plain": plain}
    before = repr(properties)
    evaluated = evaluate(with_properties(properties)).definitions["r"].properties
    assert repr(properties) == before
    assert evaluated["list"][1] is evaluated["map"]["plain"] is evaluated["plain"] is plain
    if value is not None:
        assert evaluated["list"][0] == evaluated["map"]["call"] == value


def test_members_left_out_by_a_condition_stay_in_the_template() -> None:
    left_out = {"if": [False, 1]}
    properties = {"list": [left_out, 2], "map": {"a": left_out, "b": 2}}
    before = repr(properties)
    evaluated = evaluate(with_properties(properties)).definitions["r"].properties
    assert evaluated == {"list": [2], "map": {"b": 2}}
    assert repr(properties) == before


def test_resources_share_what_they_do_not_have() -> None:
    definition = evaluate(with_properties(PLAIN)).definitions["r"]
    other = evaluate(with_properties(PLAIN)).definitions["first"]
    assert definition.metadata is other.properties is EMPTY_SECTION
    desired = [DesiredResource.from_definition(each, "T") for each in (definition, other)]
    assert desired[0].contents is desired[1].contents
    assert desired[0].requirement_levels is desired[1].requirement_levels
    assert EMPTY_SECTION == {}
