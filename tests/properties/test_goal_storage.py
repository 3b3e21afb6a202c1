"""Goals are stored in parts and restored in full."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import (
    deduplicate,
    file_hashes_of_common_part,
    restore_full,
    with_parameter_values,
)
from heat_convergence.template.expression import MIN_SHARED_LENGTH

LONG_MAP = {"text": "x" * MIN_SHARED_LENGTH}
json_leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.just("y" * MIN_SHARED_LENGTH)
)
json_keys = st.sampled_from(["$call", "$data", "$content", "$json", "a", "b"])
json_values = st.recursive(
    json_leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(json_keys, inner, max_size=3),
)


def make_goal(**values: Any) -> Goal:
    return Goal(**{**_FIELDS, **values})


_FIELDS: dict[str, Any] = {
    "id": "g", "stack_id": "s", "version": 1, "template_hash": "t", "files": {"f": "hash of f"},
    "environment": {"parameters": {}, "parameter_defaults": {"d": 1}, "event_sinks": []},
    "parameters": {}, "outputs": {}, "description": "",
    "created_at": datetime(2026, 1, 1, tzinfo=UTC),
}  # fmt: skip


@given(parameters=st.dictionaries(st.text(max_size=3), json_values, max_size=4))
def test_deduplicated_goal_is_restored_in_full(parameters: dict[str, object]) -> None:
    before = make_goal(
        parameters=parameters,
        environment={"parameters": parameters, "parameter_defaults": {"d": 1}},
    )
    goal_row, texts = deduplicate(before)
    assert restore_full(goal_row, lambda keys: {key: texts[key] for key in keys}) == before
    assert set(texts) == {*goal_row.content_hashes, goal_row.common_part_hash}


def test_common_parts_of_goals_are_one_text() -> None:
    first, texts = deduplicate(make_goal(parameters={"a": LONG_MAP}))
    other = make_goal(id="o", stack_id="p", environment={"parameters": {"b": LONG_MAP},
                 "parameter_defaults": {"d": 1}, "event_sinks": []})  # fmt: skip
    second, more = deduplicate(other)
    assert set(more) <= set(texts)
    assert (first.common_part_hash, first.files) == (second.common_part_hash, {})
    assert file_hashes_of_common_part(texts[first.common_part_hash or ""]) == {"f": "hash of f"}


def test_goal_that_inherits_its_common_part_is_unchanged() -> None:
    original = make_goal(common_part_hash="h", environment={"parameters": {"a": 1}}, files={})
    goal_row, texts = deduplicate(original)
    assert (goal_row, texts) == (original, {})


def test_parameters_are_loaded_without_the_common_part() -> None:
    goal_row, texts = deduplicate(make_goal(parameters={"a": LONG_MAP}))
    loaded_hashes: list[str] = []

    def load(keys: Collection[str]) -> dict[str, str]:
        loaded_hashes.extend(keys)
        return texts

    assert with_parameter_values(goal_row, load).parameters == {"a": LONG_MAP}
    assert goal_row.common_part_hash not in loaded_hashes


@pytest.mark.parametrize("common_part_hash", [None, "h"])
def test_short_values_are_stored_in_the_row(common_part_hash: str | None) -> None:
    goal_row, _texts = deduplicate(
        make_goal(parameters={"a": "short"}, common_part_hash=common_part_hash)
    )
    assert with_parameter_values(goal_row, lambda _keys: pytest.fail("asked")).parameters == {
        "a": "short"
    }
    assert replace(goal_row, common_part_hash=None) == restore_full(
        replace(goal_row, common_part_hash=None), lambda _keys: {}
    )
