"""The memory of values is measured, and caches that are bounded by it drop the oldest."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from heat_convergence.common.strict_json import parse_json
from heat_convergence.common.values.value_size import SizedCache, value_bytes


@pytest.mark.parametrize(
    "text",
    [
        "[" + "{}," * 5_000 + "{}]",
        "[" + ",".join(f'"text {number}"' for number in range(5_000)) + "]",
        "{" + ",".join(f'"key{number}": [{number}.5]' for number in range(5_000)) + "}",
    ],
    ids=["maps", "texts", "lists"],
)
def test_size_is_that_of_the_allocated_memory(text: str) -> None:
    tracemalloc.start()
    value = parse_json(text)
    taken, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken * 0.8 < value_bytes(value) < taken * 1.2


def test_member_that_occurs_often_counts_once() -> None:
    member: Any = ["text"] * 100
    for _ in range(30):  # 2**30 members
        member = [member, member]
    assert value_bytes(member) < 10_000


def test_cache_drops_the_least_recently_used_values() -> None:
    cache = SizedCache[str](100)
    for number in range(10):
        cache.put(number, f"value {number}", 30)
        assert cache.get(0) == "value 0"
        assert (len(cache), cache.size_bytes) == (min(number + 1, 3), min(number + 1, 3) * 30)
    assert [number for number in range(10) if cache.get(number)] == [0, 8, 9]
    cache.put(9, "another", 80)
    assert (cache.get(9), cache.get(0), cache.size_bytes) == ("another", None, 80)


def test_value_beyond_the_limit_is_kept_until_the_next() -> None:
    cache = SizedCache[str](100)
    cache.put("large", "value", 1_000)
    assert cache.get("large") == "value"
    cache.put("small", "value", 1)
    assert (cache.get("large"), cache.size_bytes) == (None, 1)
