"""Long values of rows by their hashes: the quick way comes to what the slow one does."""

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
def test_both_ways_come_to_the_same(values, padding):
    values = {**values, **{f"long{at}": [text, values] for at, text in enumerate(padding)}}
    quick, slow = {}, {}
    shared = deduplicate_plain_values(values, quick)
    assert shared == deduplicate_values(dump_values(values), slow)
    assert quick == slow
    found = {name: load(restore_value(value, quick.__getitem__)) for name, value in shared.items()}
    assert found == values
    made = {}
    found = {
        name: load_deduplicated(value, quick.__getitem__, made) for name, value in shared.items()
    }
    assert found == values


@given(VALUES)
def test_restoring_is_loading_what_is_no_longer_shared(value):
    contents = {}
    shared = deduplicate_value(dump(value), contents, min_chars=2)
    assert load_deduplicated(shared, contents.__getitem__) == value
    assert load(restore_value(shared, contents.__getitem__)) == value


def test_what_several_places_lead_to_is_made_once():
    value, contents, made = {"a": ["x"] * MIN_SHARED_LENGTH}, {}, {}
    shared = deduplicate_plain_values(
        {"one": value, "two": value, "own": ["y"] * MIN_SHARED_LENGTH}, contents
    )
    first, second = (load_deduplicated(shared, contents.__getitem__, made) for _ in range(2))
    assert first == {"one": value, "two": value, "own": ["y"] * MIN_SHARED_LENGTH}
    assert first["one"] is first["two"] is second["one"]
    assert load_deduplicated(shared, contents.__getitem__)["one"] is not first["one"]


@pytest.mark.parametrize(
    ("value", "kept"), [("x" * MIN_SHARED_LENGTH, 1), (["x"] * MIN_SHARED_LENGTH, 1), ("x", 0)]
)
def test_what_is_long_is_kept_by_its_hash(value, kept):
    contents = {}
    shared = deduplicate_plain_values({"a": value, "b": value}, contents)
    assert len(contents) == kept
    assert (shared["a"] == value) is not bool(kept)
