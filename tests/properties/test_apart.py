"""Goals are stored in parts and come back whole."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.convergence.apart import apart, files_of, whole, with_values
from heat_convergence.convergence.model import Goal
from heat_convergence.template.expression import LONG

LONG_MAP = {"text": "x" * LONG}
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("y" * LONG)
keys = st.sampled_from(["$call", "$data", "$content", "$json", "a", "b"])
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


def goal(**values: object) -> Goal:
    return Goal(**{**_FIELDS, **values})


_FIELDS = {
    "id": "g", "stack_id": "s", "version": 1, "template_hash": "t", "files": {"f": "hash of f"},
    "environment": {"parameters": {}, "parameter_defaults": {"d": 1}, "event_sinks": []},
    "parameters": {}, "outputs": {}, "description": "",
    "created_at": datetime(2026, 1, 1, tzinfo=UTC),
}  # fmt: skip


@given(given=st.dictionaries(st.text(max_size=3), values, max_size=4))
def test_it_comes_back_whole(given: dict) -> None:
    before = goal(
        parameters=given, environment={"parameters": given, "parameter_defaults": {"d": 1}}
    )
    lean, texts = apart(before)
    assert whole(lean, lambda keys: {key: texts[key] for key in keys}) == before
    assert set(texts) == {*lean.shared, lean.inherited}


def test_what_is_common_is_one_text() -> None:
    first, texts = apart(goal(parameters={"a": LONG_MAP}))
    other = goal(id="o", stack_id="p", environment={"parameters": {"b": LONG_MAP},
                 "parameter_defaults": {"d": 1}, "event_sinks": []})  # fmt: skip
    second, more = apart(other)
    assert set(more) <= set(texts)
    assert (first.inherited, first.files) == (second.inherited, {})
    assert files_of(texts[first.inherited or ""]) == {"f": "hash of f"}


def test_what_it_says_to_inherit_stays() -> None:
    own = goal(inherited="h", environment={"parameters": {"a": 1}}, files={})
    lean, texts = apart(own)
    assert (lean, texts) == (own, {})


def test_its_parameters_alone() -> None:
    lean, texts = apart(goal(parameters={"a": LONG_MAP}))
    asked: list[str] = []

    def load(keys: frozenset[str]) -> dict[str, str]:
        asked.extend(keys)
        return texts

    assert with_values(lean, load).parameters == {"a": LONG_MAP}
    assert lean.inherited not in asked


@pytest.mark.parametrize("inherited", [None, "h"])
def test_short_values_need_no_text(inherited: str | None) -> None:
    lean, _texts = apart(goal(parameters={"a": "short"}, inherited=inherited))
    assert with_values(lean, lambda _keys: pytest.fail("asked")).parameters == {"a": "short"}
    assert replace(lean, inherited=None) == whole(replace(lean, inherited=None), dict)
