"""Long values of rows by their hashes: the quick way comes to what the slow one does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.template.expression import (
    LONG,
    Expression,
    dump_values,
    load,
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


@pytest.mark.parametrize(("value", "kept"), [("x" * LONG, 1), (["x"] * LONG, 1), ("x", 0)])
def test_what_is_long_is_kept_by_its_hash(value, kept):
    contents = {}
    shared = share_plain({"a": value, "b": value}, contents)
    assert len(contents) == kept
    assert (shared["a"] == value) is not bool(kept)
