"""``mergeWith`` gives what YAQL's own function gives, in a time that the second map decides."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaql
from yaql.language.conventions import CamelCaseConvention

from heat_convergence.template.functions import yaql_evaluation
from heat_convergence.template.functions.yaql_merge import merge_with
from heat_convergence.template.limits import YaqlCall

EXPRESSIONS = [
    "$.data.a.mergeWith($.data.b)",
    "$.data.a.mergeWith($.data.b, maxLevels => 1)",
    "$.data.a.mergeWith($.data.b, maxLevels => 2)",
    "$.data.a.mergeWith($.data.b, $1 + $2)",
    "$.data.a.mergeWith($.data.b, $1 + $2, $1)",
    "$.data.a.mergeWith($.data.b, itemMerger => [$1, $2])",
    "$.data.a.mergeWith($.data.b, listMerger => $2, maxLevels => 2)",
    "[$.data.a, $.data.b, $.data.a].reduce($1.mergeWith($2), {})",
]
LIBRARY = yaql.YaqlFactory().create({"yaql.convertTuplesToLists": True})
CONTEXT = yaql.create_context(convention=CamelCaseConvention())


def draw_map(rng: random.Random, depth: int = 3) -> dict[str, Any]:
    return {key: draw_value(rng, depth - 1) for key in rng.sample("abcdef", rng.randint(0, 5))}


def draw_value(rng: random.Random, depth: int) -> Any:
    if depth and rng.random() < 0.5:
        return draw_map(rng, depth)
    if rng.random() < 0.4:
        return [rng.choice("xyz") for _ in range(rng.randint(0, 3))]
    return rng.choice([None, 1, "text", True])


def evaluate(expression: str, data: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the value that this service gives, or that there is none."""
    limits = (20_000, 10_000_000, 100_000, 60.0, None)
    result = yaql_evaluation.run_call(YaqlCall(expression, data, *limits))
    if result.error is None:
        return ("value", list(result.value.items()))
    assert "Cannot merge" in result.error
    return ("error", None)


def evaluate_with_library(expression: str, data: Mapping[str, Any]) -> tuple[str, Any]:
    try:
        value = LIBRARY(expression).evaluate(
            {"data": data}, context=CONTEXT.create_child_context()
        )
    except TypeError:
        return ("error", None)
    return ("value", list(value.items()))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_result_is_that_of_the_library(expression: str) -> None:
    rng = random.Random(expression)
    outcomes = set()
    for _ in range(150):
        data = {"a": draw_map(rng), "b": draw_map(rng)}
        found = evaluate(expression, data)
        assert found == evaluate_with_library(expression, data), data
        outcomes.add(found[0])
    assert "value" in outcomes


class CountedMap(dict[str, int]):
    """A map that counts the keys that are looked at one by one."""

    looked_at = 0

    def __contains__(self, key: object) -> bool:
        self.looked_at += 1
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        for key in super().__iter__():
            self.looked_at += 1
            yield key


def test_only_keys_of_the_second_map_are_looked_at() -> None:
    one = CountedMap({f"key {number}": number for number in range(1_000)})
    merged = merge_with(None, list, one, {"key 1": 7, "new": 8})
    assert (merged["key 1"], merged["key 2"], merged["new"], len(merged)) == (7, 2, 8, 1_001)
    assert one.looked_at == 2
