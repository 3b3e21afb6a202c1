"""The data of YAQL expressions are those that the library makes of them by itself."""

from __future__ import annotations

from typing import Any

import pytest
from yaql.language import utils

from heat_convergence.template.functions import yaql_evaluation
from heat_convergence.template.limits import YaqlCall

DATA = {"map": {"a": [1, {"b": None}], "empty": {}}, "list": [[], "text", 1.5, True]}


def test_maps_and_lists_are_frozen_as_the_library_does_it() -> None:
    frozen = yaql_evaluation._frozen(DATA)
    expected = utils.convert_input_data(DATA)
    assert frozen == expected
    assert type(frozen["map"]["a"]) is type(expected["map"]["a"])
    assert type(frozen["map"]["a"][1]) is type(expected["map"]["a"][1])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$.data", DATA),
        ("$.data.list.where(isList($))", [[]]),
        ("isDict($.data.map) and not isDict($.data.list)", True),
        ("$.data.map.a.select(isDict($))", [False, True]),
        ("$.data.map.set(a, 2).a", 2),
        ("dict($.data.map.items().where($[0] = a))", {"a": [1, {"b": None}]}),
        ("$.data.list.toSet().len()", 4),
        ("{$.data.map => 1}.get($.data.map)", 1),
    ],
)
def test_expressions_read_frozen_data(expression: str, value: Any) -> None:
    result = yaql_evaluation.run_call(YaqlCall(expression, DATA, 200, 10_000, 1_000, 1.0))
    assert (result.value, result.error) == (value, None)
