"""Equal parts of JSON values are one object, and the values stay what they are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common.values.equal_parts import EqualParts
from heat_convergence.common.values.value_size import value_bytes


@pytest.mark.parametrize(
    "value",
    [
        None,
        1,
        1.0,
        True,
        "text",
        [],
        {},
        [1, True, 1.0, 0, False, 0.0, None],
        [{"a": 1}, {"a": True}, {"a": 1.0}],
        [[1], [True], [1.0]],
        [[], {}, "", [[]], [{}]],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
        [{"a": "b"}, {"b": "a"}, ["a", "b"]],
        {"a": {"a": {"a": "a"}}},
    ],
)
def test_a_shared_value_has_the_same_json(value: Any) -> None:
    assert json.dumps(EqualParts().share(value)) == json.dumps(value)


def test_equal_parts_are_one_object() -> None:
    text = '[{"get_param": "Servers"}, {"p": {"get_param": "Servers"}}, ["x", "y"], [["x", "y"]]]'
    shared = EqualParts().share(json.loads(text))
    assert shared[0] is shared[1]["p"]
    assert shared[2] is shared[3][0]


def test_parts_of_several_values_are_one_object_while_they_are_shared_together() -> None:
    share = EqualParts().share
    first, second = (share(json.loads('{"a": {"b": ["c"]}}')) for _ in range(2))
    assert first is second


def test_strings_are_one_object_as_keys_and_as_values() -> None:
    shared = EqualParts().share(json.loads('[{"a text": 1}, ["a text"], "a text"]'))
    ((key, _value),) = shared[0].items()
    assert key is shared[1][0] is shared[2]


def test_objects_that_are_not_json_are_left_alone() -> None:
    class Text(str):
        """A string of its own type."""

    for value in (Text("a"), ("a", "a"), object()):
        assert EqualParts().share(value) is value


def test_a_value_that_is_nested_too_deeply_is_left_alone() -> None:
    value: list[Any] = []
    for _ in range(5000):
        value = [value]
    assert EqualParts().share(value) is value


def test_a_group_of_equal_members_takes_the_memory_of_one() -> None:
    member = {"type": "OS::Heat::None", "properties": {"value": ["a", {"get_param": "b"}]}}
    group = json.loads(json.dumps({str(number): member for number in range(100)}))
    names = {str(number): None for number in range(100)}
    shared = value_bytes(EqualParts().share(group))
    assert shared == value_bytes(names) + value_bytes(member) < value_bytes(group) / 4
