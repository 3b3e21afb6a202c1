"""Quick looks at the JSON of a template say no less than the walks over it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heat_convergence.common.strict_json import encode_json
from heat_convergence.stacks.goal.part_selection import ReferenceReader
from heat_convergence.template.evaluation_budget import CHARS_PER_STEP, EvaluationBudget
from heat_convergence.template.limits import TemplateLimits

NAMES = ("a", "value", "é", 'say "a"', "back\\slash", "{", ",", "1")
FUNCTIONS = frozenset({"own_function"})
WORDS = st.sampled_from(
    (*NAMES, "get_attr", "get_resource", "own_function", "repeat", "type", '"a"', "other")
)
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(2**64) | WORDS
LONG = st.builds(lambda word, times: word * times, WORDS, st.integers(1, 3 * CHARS_PER_STEP))
DOCUMENTS = st.recursive(
    SCALARS | LONG,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | LONG, inner, max_size=4),
    max_leaves=20,
)


@given(DOCUMENTS, st.sets(st.sampled_from(NAMES)))
def test_what_has_a_reference_is_read(document: Any, names: set[str]) -> None:
    reader = ReferenceReader(names, FUNCTIONS)
    found = reader.read(document)
    assert reader.may_refer(encode_json(document)) or (found.names, found.is_computed) == (
        frozenset(),
        False,
    )


def test_most_resources_are_not_read() -> None:
    reader = ReferenceReader({"a", "r1"}, FUNCTIONS)
    assert not reader.may_refer(encode_json({"type": "T", "properties": {"value": ["b", 1]}}))
    assert reader.may_refer(encode_json({"type": "T", "properties": {"value": ["b", "r1"]}}))


@given(DOCUMENTS)
def test_section_that_is_covered_can_be_charged(document: Any) -> None:
    text, limits = encode_json(document), TemplateLimits()
    budget = EvaluationBudget(limits)
    budget.charge_section(document)
    exact = limits.max_evaluation_steps - budget.steps_left
    tight = EvaluationBudget(limits)
    tight.charge(tight.steps_left - exact + 1)
    assert not tight.covers_section(text)
    assert EvaluationBudget(limits).covers_section(text)
