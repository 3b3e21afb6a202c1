"""Deduplication of long values by hash; the fast path equals the general one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.template.expression import (
    MIN_SHARED_LENGTH,
    Expression,
    deduplicate_plain_values,
    deduplicate_value,
    deduplicate_values,
    dump,
    dump_values,
    load,
    load_deduplicated,
    restore_value,
)

MARKS = ("$call", "$data", "$content", "$json")
NAMES = st.sampled_from(("a", "b", *MARKS))
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(MARKS)
CALLS = st.builds(Expression, st.just("get_attr"), st.just("attr"), st.just(["a", "b"]))
VALUES = st.recursive(
    LEAVES | CALLS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
PADDING = st.sampled_from(([], ["x" * 10], ["x" * MIN_SHARED_LENGTH]))


@given(st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=2), max_size=4), PADDING)
def test_fast_deduplication_equals_the_general_one(values: Any, padding: Any) -> None:
    values = {**values, **{f"long{at}": [text, values] for at, text in enumerate(padding)}}
    quick: dict[str, str] = {}
    slow: dict[str, str] = {}
    shared = deduplicate_plain_values(values, quick)
    assert shared == deduplicate_values(dump_values(values), slow)
    assert quick == slow
    loaded = {
        name: load(restore_value(value, quick.__getitem__)) for name, value in shared.items()
    }
    assert loaded == values
    cache: dict[str, Any] = {}
    loaded = {
        name: load_deduplicated(value, quick.__getitem__, cache) for name, value in shared.items()
    }
    assert loaded == values


@given(VALUES)
def test_load_deduplicated_equals_restore_then_load(value: Any) -> None:
    contents: dict[str, str] = {}
    shared = deduplicate_value(dump(value), contents, min_chars=2)
    assert load_deduplicated(shared, contents.__getitem__) == value
    assert load(restore_value(shared, contents.__getitem__)) == value


def test_values_loaded_with_one_cache_share_objects() -> None:
    value = {"a": ["x"] * MIN_SHARED_LENGTH}
    contents: dict[str, str] = {}
    cache: dict[str, Any] = {}
    shared = deduplicate_plain_values(
        {"one": value, "two": value, "own": ["y"] * MIN_SHARED_LENGTH}, contents
    )
    first, second = (load_deduplicated(shared, contents.__getitem__, cache) for _ in range(2))
    assert first == {"one": value, "two": value, "own": ["y"] * MIN_SHARED_LENGTH}
    assert first["one"] is first["two"] is second["one"]
    assert load_deduplicated(shared, contents.__getitem__)["one"] is not first["one"]


@pytest.mark.parametrize(
    ("value", "kept"), [("x" * MIN_SHARED_LENGTH, 1), (["x"] * MIN_SHARED_LENGTH, 1), ("x", 0)]
)
def test_long_values_are_stored_by_hash(value: Any, kept: Any) -> None:
    contents: dict[str, str] = {}
    shared = deduplicate_plain_values({"a": value, "b": value}, contents)
    assert len(contents) == kept
    assert (shared["a"] == value) is not bool(kept)
