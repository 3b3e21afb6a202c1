"""The steps that one request takes to read, evaluate and check what it sends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.drift_patterns import check_drift_patterns
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.evaluation_budget import (
    CHARS_PER_STEP,
    EVALUATIONS_PER_REQUEST,
    STEPS_PER_DEPENDENCY,
    STEPS_PER_NODE,
    STEPS_PER_RESOURCE,
    STEPS_PER_WAITING_CALL,
    EvaluationBudget,
    RequestBudget,
    evaluation_budget,
    request_budget,
)
from heat_convergence.template.functions import yaql
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.hidden_parameters import (
    EveryName,
    hidden_parameters_of_texts,
)
from heat_convergence.template.parsing.document_loader import load_document
from tests.unit.template.template_helpers import evaluate, hot_template

UNLIMITED = TemplateLimits(max_evaluation_steps=10**9)
DENSE = f"[{'1,' * 100_000}1]"


def alias_bomb(number: int) -> str:
    """Return a text of some hundred characters that has 440,000 nodes with aliases followed."""
    return f"name: {number}\na: &a [{'1,' * 80}]\nb: &b [{'*a,' * 78}]\nc: &c [{'*b,' * 70}]\n"


class StepCounter:
    """The steps that the block of ``with`` takes."""

    def __enter__(self) -> StepCounter:
        self._evaluation = evaluation_budget(UNLIMITED)
        self._budget = self._evaluation.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.steps = UNLIMITED.max_evaluation_steps - self._budget.steps_left
        self._evaluation.__exit__(None, None, None)


def steps_of(resources: Any, **sections: Any) -> int:
    """Return the steps that the evaluation of a template takes."""
    source = hot_template(resources=resources, **sections)
    with StepCounter() as counter:
        evaluate(source)
    return counter.steps


def value_of(value: Any) -> dict[str, Any]:
    return {"it": {"type": "T", "properties": {"value": value}}}


def test_steps_of_a_request_are_those_of_three_evaluations() -> None:
    budget = RequestBudget(DEFAULT_LIMITS)
    assert EVALUATIONS_PER_REQUEST == 3
    assert budget.steps_left == 3 * DEFAULT_LIMITS.max_evaluation_steps


# -- reading


def test_reading_a_dense_document_counts_its_events() -> None:
    with StepCounter() as counter:
        load_document(DENSE)
    assert counter.steps >= 2 * 100_000


def test_documents_of_a_request_share_its_steps() -> None:
    load_document(DENSE)
    with request_budget(DEFAULT_LIMITS):
        load_dense_documents(2 * EVALUATIONS_PER_REQUEST)
        with pytest.raises(RequestLimitExceeded, match=r"^template: Reading and evaluating"):
            load_dense_documents(EVALUATIONS_PER_REQUEST)


def load_dense_documents(count: int) -> None:
    for _ in range(count):
        load_document(DENSE)


def test_followed_aliases_count_as_what_they_stand_for() -> None:
    with request_budget(DEFAULT_LIMITS):
        for number in range(EVALUATIONS_PER_REQUEST):
            load_document(alias_bomb(number), document_type="environment")
        with pytest.raises(RequestLimitExceeded, match=r"^environment: Reading and evaluating"):
            load_document(alias_bomb(EVALUATIONS_PER_REQUEST), document_type="environment")


def test_position_of_a_mistake_is_left_out_where_no_steps_remain() -> None:
    document = load_document("a:\n  b: 1\n")
    with request_budget(TemplateLimits(max_evaluation_steps=10)):
        assert document.find_position(("a", "b")) is None
    assert document.find_position(("a", "b")) == (2, 3)


# -- evaluating


def test_template_counts_all_its_nodes() -> None:
    few, many = (steps_of(value_of([1] * count)) for count in (10, 1010))
    assert many - few == 1000 * STEPS_PER_NODE


@pytest.mark.parametrize("member", [[], {}], ids=["list", "map"])
def test_maps_and_lists_of_a_template_count_twice(member: Any) -> None:
    few, many = (steps_of(value_of([member] * count)) for count in (10, 1010))
    assert many - few == 2 * 1000 * STEPS_PER_NODE


def test_resource_without_properties_counts() -> None:
    few, many = (
        steps_of({f"r{number}": {"type": "T"} for number in range(count)}) for count in (1, 11)
    )
    assert many - few == 10 * STEPS_PER_RESOURCE


def test_each_dependency_counts() -> None:
    needed = {f"r{number}": {"type": "T"} for number in range(100)}
    without, with_all = (
        steps_of({**needed, "last": {"type": "T", "depends_on": names}})
        for names in ([], list(needed))
    )
    assert with_all - without == 100 * STEPS_PER_DEPENDENCY


def test_each_call_that_waits_for_a_resource_counts() -> None:
    call = {"get_attr": ["r", "x"]}
    few, many = (steps_of({"r": {"type": "T"}, **value_of([call] * count)}) for count in (1, 101))
    assert many - few >= 100 * STEPS_PER_WAITING_CALL


def test_each_expression_counts_as_much_as_a_message_to_its_process() -> None:
    call = {"yaql": {"expression": "1", "data": None}}
    few, many = (steps_of(value_of([call] * count)) for count in (1, 11))
    assert many - few >= 10 * yaql._STEPS_PER_CALL


def test_dense_dependencies_are_refused_with_their_place() -> None:
    """The list stands once in the text: 230,400 dependencies in 20 kB."""
    names = [f"a{number}" for number in range(480)]
    resources = {name: {"type": "T"} for name in names}
    resources |= {f"b{n}": {"type": "T", "depends_on": names} for n in range(480)}
    with pytest.raises(RequestLimitExceeded, match=r"^resources\.b\d+\.depends_on: .*steps"):
        evaluate(hot_template(resources=resources))


# -- searching

TEXT = "a" * 29_000
NEEDLE = "a" * 50 + "b" + "a" * 48
SEARCHES: dict[str, Any] = {
    "contains": lambda text, part: {"contains": [part, text]},
    "str_split": lambda text, part: {"str_split": [part, text]},
    "str_replace": lambda text, part: {"str_replace": {"template": text, "params": {part: ""}}},
    "repeat": lambda text, part: {"repeat": {"template": text, "for_each": {part: ["x"]}}},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_search_that_compares_many_characters_counts_them(name: str) -> None:
    call = SEARCHES[name]
    cheap, costly = (steps_of(value_of(call(TEXT, part))) for part in ("b" * 99, NEEDLE))
    compared = len(TEXT) * len(NEEDLE) // CHARS_PER_STEP
    assert compared <= costly - cheap <= 2 * compared


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_end_with_their_place_and_the_limit(name: str) -> None:
    call = SEARCHES[name]({"get_param": "p"}, NEEDLE)
    parameters = {"p": {"type": "string", "default": TEXT}}
    with pytest.raises(RequestLimitExceeded, match=rf"value\[\d+\]\.{name}: .*steps"):
        evaluate(hot_template(resources=value_of([call] * 200), parameters=parameters))


def test_short_texts_are_searched_without_a_charge() -> None:
    budget = EvaluationBudget(DEFAULT_LIMITS)
    budget.charge_search("a" * 100, "a")
    budget.charge_search("a" * 1000, "")
    assert budget.steps_left == DEFAULT_LIMITS.max_evaluation_steps - 1


# -- the registry


def test_wildcard_of_a_type_is_found_by_the_beginning_of_its_name() -> None:
    """The cost of a type does not depend on the number of wildcards."""
    wildcards = {f"OS::Other{number:05}*": "OS::Heat::None" for number in range(20_000)}
    registry = ResourceRegistry.parse({**wildcards, "OS::Nov*": "OS::Heat::Value"})
    with StepCounter() as counter:
        assert registry.resolve("OS::Nova::Server") == "OS::Heat::Value"
        assert registry.resolve("OS::Cinder::Volume") == "OS::Cinder::Volume"
    assert counter.steps < 10


def test_many_patterns_for_many_resources_are_refused() -> None:
    patterns = {f"*a*b*{number}": {"hooks": "pre-create"} for number in range(2_000)}
    with request_budget(DEFAULT_LIMITS):
        registry = ResourceRegistry.parse({"resources": patterns})
        assert registry.hooks("aabb7") == {"pre-create"}
        names = (f"resource-{number}" for number in range(1_000))
        with pytest.raises(RequestLimitExceeded, match=r"^resource_registry.*steps together"):
            list(map(registry.hooks, names))


def test_many_drift_policies_for_many_resources_are_refused() -> None:
    names = [f"resource-{number}" for number in range(900)]
    policies = {
        f"resource-{n % 900}*{'*' * (n // 900)}": {"drift": "report"} for n in range(6_000)
    }
    registry = ResourceRegistry.parse({"resources": policies})
    with (
        request_budget(DEFAULT_LIMITS),
        pytest.raises(RequestLimitExceeded, match="steps together"),
    ):
        check_drift_patterns(registry, names, {}, ResourceTypeRegistry.from_types())


def test_compiling_many_patterns_is_refused() -> None:
    patterns = {f"*a*b*{number}": {"hooks": "pre-create"} for number in range(9_000)}
    with (
        request_budget(DEFAULT_LIMITS),
        pytest.raises(RequestLimitExceeded, match="steps together"),
    ):
        ResourceRegistry.parse({"resources": patterns})


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        ("server", {"pre-update", "pre-create"}),
        ("serve*", {"pre-update", "pre-delete"}),
        ("a[b]", {"post-create"}),
        ("ab", set()),
    ],
)
def test_patterns_of_resources_match_as_file_names_do(name: str, hooks: set[str]) -> None:
    resources = {
        "ser*": {"hooks": "pre-update"},
        "server": {"hooks": "pre-create"},
        "serve[*]": {"hooks": "pre-delete"},
        "a[[]b]": {"hooks": "post-create"},
        "a[b]x": {"hooks": "post-delete"},
    }
    assert ResourceRegistry.parse({"resources": resources}).hooks(name) == hooks


def test_removals_by_wildcards_in_a_large_registry_are_refused() -> None:
    known = Environment.parse({"resource_registry": {f"A{n}": "T" for n in range(20_000)}})
    removals = Environment.parse({"resource_registry": {f"B{n}*": None for n in range(5_000)}})
    with (
        request_budget(DEFAULT_LIMITS),
        pytest.raises(RequestLimitExceeded, match="steps together"),
    ):
        known.merged_with(removals, ())


# -- names of hidden parameters


def hiding(number: int) -> str:
    declaration = {"type": "string", "hidden": True, "label": str(number)}
    return f"parameters: {json.dumps({'p': declaration})}\nx: {DENSE}\n"


def test_all_names_are_hidden_where_the_templates_cannot_be_read() -> None:
    texts = [hiding(number) for number in range(8)]
    with request_budget(DEFAULT_LIMITS):
        names = hidden_parameters_of_texts(texts, DEFAULT_LIMITS)
    assert isinstance(names, EveryName)
    assert "anything" in names


def test_names_of_a_text_are_read_once() -> None:
    text = hiding(100)
    assert "p" in hidden_parameters_of_texts([text], DEFAULT_LIMITS)
    with StepCounter() as counter:
        names = hidden_parameters_of_texts([text] * 100, DEFAULT_LIMITS, ["q"])
    assert names == {"p", "q"}
    assert counter.steps == 0


def test_texts_that_are_no_templates_hide_nothing() -> None:
    """A file that is too large is none, and makes no other name hidden."""
    texts = ["hidden: [", "hidden" + "x" * DEFAULT_LIMITS.max_template_size, "hidden"]
    with request_budget(DEFAULT_LIMITS):
        assert hidden_parameters_of_texts(texts, DEFAULT_LIMITS) == frozenset()
