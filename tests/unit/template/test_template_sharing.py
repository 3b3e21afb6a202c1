"""Long values of rows by their hashes: the quick way comes to what the slow one does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.template.expression import (
    LONG,
    Expression,
    dump,
    dump_values,
    load,
    restore,
    share,
    share_plain,
    share_values,
    unshare,
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
PADDING = st.sampled_from(([], ["x" * 10], ["x" * LONG]))


@given(st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=2), max_size=4), PADDING)
def test_both_ways_come_to_the_same(values, padding):
    values = {**values, **{f"long{at}": [text, values] for at, text in enumerate(padding)}}
    quick, slow = {}, {}
    shared = share_plain(values, quick)
    assert shared == share_values(dump_values(values), slow)
    assert quick == slow
    found = {name: load(unshare(value, quick.__getitem__)) for name, value in shared.items()}
    assert found == values
    made = {}
    found = {name: restore(value, quick.__getitem__, made) for name, value in shared.items()}
    assert found == values


@given(VALUES)
def test_restoring_is_loading_what_is_no_longer_shared(value):
    contents = {}
    shared = share(dump(value), contents, min_chars=2)
    assert restore(shared, contents.__getitem__) == value
    assert load(unshare(shared, contents.__getitem__)) == value


def test_what_several_places_lead_to_is_made_once():
    value, contents, made = {"a": ["x"] * LONG}, {}, {}
    shared = share_plain({"one": value, "two": value, "own": ["y"] * LONG}, contents)
    first, second = (restore(shared, contents.__getitem__, made) for _ in range(2))
    assert first == {"one": value, "two": value, "own": ["y"] * LONG}
    assert first["one"] is first["two"] is second["one"]
    assert restore(shared, contents.__getitem__)["one"] is not first["one"]


@pytest.mark.parametrize(("value", "kept"), [("x" * LONG, 1), (["x"] * LONG, 1), ("x", 0)])
def test_what_is_long_is_kept_by_its_hash(value, kept):
    contents = {}
    shared = share_plain({"a": value, "b": value}, contents)
    assert len(contents) == kept
    assert (shared["a"] == value) is not bool(kept)
