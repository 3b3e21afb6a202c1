"""The steps of an evaluation: whatever multiplies ends with the place and the limit."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common.errors import RequestLimitExceeded, StackValidationFailed
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import (
    MissingParameters,
    evaluate_template,
    resolve_value,
)
from heat_convergence.template.evaluation_budget import (
    EVALUATIONS_PER_REQUEST,
    EvaluationBudget,
    request_budget,
)
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS
from heat_convergence.template.functions.function import FunctionError
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.template import Template
from tests.unit.template.template_helpers import (
    STACK_CONTEXT,
    FakeResourceValues,
    evaluate,
    evaluate_cfn_property,
    evaluate_property,
    hot_template,
)

LIST = {"p": {"type": "json", "default": [1] * 50_000}}
TEXT = {"p": {"type": "string", "default": "a" * 200_000}}
READ = {"get_param": "p"}


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def repeated(template: Any, *lists: Any, **extra: Any) -> dict[str, Any]:
    variables = {f"%{index}%": values for index, values in enumerate(lists)}
    return {"repeat": {"template": template, "for_each": variables, **extra}}


MULTIPLIED = {
    "repeat": (repeated("%0%%1%", numbers(2000), numbers(2000)), {}),
    "repeat of a map": (repeated({"%0%": ["%1%"]}, numbers(1500), numbers(1500)), {}),
    "repeat in repeat": (repeated(repeated("%0%%1%", numbers(1000)), numbers(1000)), {}),
    "repeat with many variables": (
        repeated("x" * 100_000, *[["a"]] * 1000, numbers(10_000)), {}),
    "repeat without permutations": (
        repeated(["x"] * 20_000, *[["a"] * 20] * 1000, permutations=False), {}),
    "repeat of long values": (repeated("%0%%1%", [READ] * 500, numbers(500)), LIST),
    "str_replace": (
        {"str_replace": {"template": "a" * 200_000,
                         "params": {"a": "b", **dict.fromkeys(numbers(10_000), "b")}}}, {}),
    "get_param": ([READ] * 8000, LIST),
    "list_concat": ({"list_concat": [READ] * 8000}, LIST),
    "list_concat_unique": ([{"list_concat_unique": [READ]}] * 5000, LIST),
    "filter": ([{"filter": [[1], READ]}] * 5000, LIST),
    "contains": ([{"contains": ["a", READ]}] * 5000, LIST),
    "map_merge": ([{"map_merge": [{"a": READ}]}] * 5000, LIST),
    "str_split": ([{"str_split": ["a", READ, 0]}] * 500, TEXT),
    "digest": ([{"digest": ["sha512", READ]}] * 9000, TEXT),
    "list_join": ([{"list_join": ["", [READ, READ]]}] * 9000, TEXT),
    "make_url": ([{"make_url": {"path": READ}}] * 500, TEXT),
    "yaql": ([{"yaql": {"expression": "$.data.len()", "data": READ}}] * 500, LIST),
}  # fmt: skip


@pytest.mark.parametrize("name", MULTIPLIED)
def test_call_that_multiplies_ends_with_its_place_and_the_limit(name: str) -> None:
    value, parameters = MULTIPLIED[name]
    with pytest.raises(RequestLimitExceeded) as raised:
        evaluate_property(value, parameters=parameters)
    assert raised.value.path.startswith("resources.it.properties.value")
    assert "max_template_evaluation_steps" in raised.value.message or (
        "characters" in raised.value.message
    )


@pytest.mark.parametrize(
    "value",
    [
        [{"Fn::Select": ["0", {"Ref": "p"}]}] * 6000,
        [{"Fn::Split": ["1", {"Ref": "p"}]}] * 6000,
        [{"Fn::Join": ["", [{"Ref": "p"}]]}] * 9000,
        [{"Fn::Base64": {"Ref": "p"}}] * 9000,
    ],
)
def test_call_of_a_cfn_template_that_multiplies_is_ended(value: Any) -> None:
    parameters = {"p": {"Type": "String", "Default": f"[{'1,' * 100_000}1]"}}
    with pytest.raises(RequestLimitExceeded, match=r"^Resources\.it\.Properties\.value"):
        evaluate_cfn_property(value, Parameters=parameters)


def test_doubled_text_is_limited_by_its_size() -> None:
    doubled: Any = "x" * 1000
    for _ in range(12):
        doubled = {"list_join": ["", [doubled, doubled]]}
    template = Template.parse(
        hot_template(resources={"it": {"type": "T", "properties": {"value": doubled}}}),
        limits=TemplateLimits(max_result_size=100_000),
    )
    with pytest.raises(RequestLimitExceeded, match="100000 characters"):
        evaluate_template(template, Environment(), {}, STACK_CONTEXT)


def test_all_definitions_of_a_template_share_the_steps() -> None:
    part = repeated("%0%%1%", numbers(200), numbers(200))
    resources = {f"r{n}": {"type": "T", "properties": {"a": part}} for n in range(20)}
    assert evaluate(hot_template(resources={"r0": resources["r0"]}))
    with pytest.raises(RequestLimitExceeded, match=r"^resources\.r[1-9]"):
        evaluate(hot_template(resources=resources))


def test_condition_that_multiplies_is_ended() -> None:
    conditions = {f"c{n}": {"equals": [READ, READ]} for n in range(100)}
    with pytest.raises(RequestLimitExceeded, match=r"^conditions\.c\d+\.equals"):
        evaluate(hot_template(conditions=conditions, parameters=LIST))


@pytest.mark.parametrize("missing", MissingParameters)
def test_undecided_conditions_are_evaluated_once_each(missing: Any) -> None:
    """Each names the next one twice: 2**60 evaluations otherwise."""
    chain: dict[str, Any] = {f"c{n}": {"and": [f"c{n + 1}", f"c{n + 1}"]} for n in range(60)}
    for read in ("absent", "p"):
        conditions = {**chain, "c60": {"equals": [{"get_param": read}, "1"]}}
        source = hot_template(
            conditions=conditions, parameters={"p": {"type": "string", "default": "1"}}
        )
        assert evaluate(source, missing=missing)


def test_long_chain_of_conditions_is_refused() -> None:
    conditions: dict[str, Any] = {f"c{n}": {"not": f"c{n + 1}"} for n in range(5000)}
    with pytest.raises(StackValidationFailed, match="nested deeper than 100"):
        evaluate(hot_template(conditions={**conditions, "c5000": True}))


def test_value_that_is_read_later_is_ended_at_its_place() -> None:
    value = {"a": Expression("list_concat", "standard", [READ_ATTRIBUTE] * 50)}
    inputs = FakeResourceValues({"r": {"x": [1] * 50_000}})
    with pytest.raises(RequestLimitExceeded, match=r"^outputs\.o\.get_attr: .*steps"):
        resolve_value(value, inputs, location="outputs.o")


READ_ATTRIBUTE = Expression("get_attr", "attr_optional_name", ["r", "x"])


def test_long_delimiter_does_not_multiply_texts_that_wait() -> None:
    waiting = {"list_join": [READ, [*[""] * 10_000, {"get_resource": "a"}]]}
    value = evaluate_property(waiting, parameters=TEXT)
    assert len(value.arguments[1]) == 10_001


def test_all_evaluations_of_a_request_share_its_steps() -> None:
    called = {"list_concat": [["x"] * 400]}
    template = Template.parse(
        hot_template(resources={"r": {"type": "T", "properties": {"a": called}}}),
        limits=TemplateLimits(max_evaluation_steps=2500),
    )

    def evaluate_once() -> None:
        evaluate_template(template, Environment(), {}, STACK_CONTEXT)

    def evaluate_all() -> None:
        for _ in range(EVALUATIONS_PER_REQUEST):
            evaluate_once()

    with request_budget(template.limits):
        evaluate_all()
        limit = EVALUATIONS_PER_REQUEST * template.limits.max_evaluation_steps
        with pytest.raises(RequestLimitExceeded, match=f"{limit} steps together"):
            evaluate_all()
    evaluate_once()


class StubScope:
    """A scope that has a budget and nothing else."""

    def __init__(self, budget: EvaluationBudget) -> None:
        self.budget = budget


LARGE = numbers(3000)
LARGE_MAP = dict.fromkeys(numbers(3000), "a")
LARGE_ARGUMENTS: dict[str, Any] = {
    "list_join": [",", LARGE], "Fn::Join": [",", LARGE],
    "str_replace": {"template": "a" * 3000, "params": {"a": "b" * 3000}},
    "str_replace_strict": {"template": "a" * 3000, "params": {"a": "b" * 3000}},
    "str_replace_vstrict": {"template": "a" * 3000, "params": {"a": "b" * 3000}},
    "Fn::Replace": [{"a": "b" * 3000}, "a" * 3000],
    "str_split": [",", "," * 3000], "Fn::Split": [",", "," * 3000],
    "digest": ["md5", "a" * 3000],
    "repeat": {"template": "%a%b", "for_each": {"%a": LARGE, "%b": LARGE[:5]}},
    "map_merge": [LARGE_MAP, LARGE_MAP], "map_replace": [LARGE_MAP, {}],
    "list_concat": [LARGE, LARGE], "list_concat_unique": [LARGE, LARGE],
    "filter": [LARGE, LARGE], "contains": ["a", LARGE],
    "make_url": {"path": "/" * 3000},
    "yaql": {"expression": "$.data.len()", "data": LARGE[:100]},
    "equals": [LARGE, LARGE], "and": [True] * 3000, "or": [False] * 3000, "not": True,
    "Fn::Equals": [LARGE, LARGE], "Fn::And": [True] * 3000, "Fn::Or": [False] * 3000,
    "Fn::Not": [True], "Fn::Select": [0, LARGE], "Fn::Base64": "a" * 3000,
    "Fn::MemberListToMap": ["k", "v", [
        text for n in range(1500) for text in (f".member.{n}.k={n}", f".member.{n}.v=a")]],
}  # fmt: skip
# What they return was there before, and the evaluator accounts for it.
LOOKUPS = frozenset({
    "get_param", "get_resource", "get_attr", "get_file", "resource_facade", "Ref", "Fn::GetAtt",
    "Fn::FindInMap", "Fn::GetAZs", "Fn::ResourceFacade", "if", "Fn::If",
})  # fmt: skip


def spent_by(budget: EvaluationBudget, value: Any) -> int:
    before = budget.steps_left
    budget.charge_value(value)
    return before - budget.steps_left


@pytest.mark.parametrize(("name", "variant"), BUILTIN_FUNCTIONS)
def test_no_function_makes_more_than_it_is_charged_for(name: str, variant: str) -> None:
    """A new function must state its arguments here, or that it only looks something up."""
    if name in LOOKUPS:
        return
    arguments = LARGE_ARGUMENTS[name]
    function = BUILTIN_FUNCTIONS[name, variant]
    function.check(arguments)
    budget = EvaluationBudget(TemplateLimits(max_evaluation_steps=10**9))
    of_arguments = spent_by(budget, arguments)
    before = budget.steps_left
    try:
        result = function.evaluate(arguments, StubScope(budget))  # type: ignore[arg-type]
    except FunctionError:
        pytest.fail("the arguments are not valid")
    charged = of_arguments + before - budget.steps_left
    assert spent_by(budget, result) <= charged + 1
