"""YAQL expressions end within the limits of their template, whatever they compute."""

from __future__ import annotations

from typing import Any

import pytest

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import StackContext, evaluate_template
from heat_convergence.template.limits import TemplateLimits
from heat_convergence.template.template import Template
from tests.unit.template.template_helpers import hot_template

YAQL_BOMBS = [
    "range(200).select(range(200).select(range(200).select($)))",
    "range(100000000)",
    "'a' * 1000000000",
    "pow(10, 100000000)",
    "shiftBitsLeft(1, 100000000000)",
    "generate(1, true, $ + 1).len()",
    "regex('(a|aa)+$').matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab')",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'.matches('(a|aa)+$')",
    "('a' * 5000).replace('', 'a' * 5000)",
    "regex('((a{1000}){1000}){1000}').matches('a')",
    "'a' =~ '((a{1000}){1000}){1000}'",
    "regex('(').matches('a')",
    "[1] * 100000000",
    "100000000 * [1, 2]",
    "range(190).select('x' * 9000)",
    "'a'.matches('*')",
    "def(f, f()) -> f()",
    "(" * 20000 + "1" + ")" * 20000,
    "now()",
    "1 / 0",
    "$.data.nothing",
    "noSuchFunction()",
]
LOW_LIMITS = TemplateLimits(yaql_max_steps=2_000, regex_timeout_s=0.02)


@pytest.mark.parametrize("expression", YAQL_BOMBS, ids=lambda text: text[:30])
def test_yaql_steps_are_limited(expression: Any) -> None:
    call = {"yaql": {"expression": expression, "data": {}}}
    resources = {"it": {"type": "T", "properties": {"value": call}}}
    template = Template.parse(hot_template(resources=resources), limits=LOW_LIMITS)
    with pytest.raises(StackValidationFailed, match="YAQL"):
        evaluate_template(template, Environment(), {}, StackContext("i", "n", "p"))


@pytest.mark.parametrize("first", [10, 1000])
def test_yaql_limits_are_those_of_the_template(first: Any) -> None:
    """An expression is parsed once for all evaluations, whatever their limits."""
    call = {"yaql": {"expression": "$.data.select($ + 1).len()", "data": [1] * 100}}
    for most in (first, 1010 - first):
        resources = {"r": {"type": "A::B::C", "properties": {"p": call}}}
        limits = TemplateLimits(yaql_limit_iterators=most)
        template = Template.parse(hot_template(resources=resources), limits=limits)
        facts = StackContext("i", "n", "p")
        if most < 100:
            with pytest.raises(StackValidationFailed, match="YAQL"):
                evaluate_template(template, Environment(), {}, facts)
        else:
            found = evaluate_template(template, Environment(), {}, facts)
            assert found.definitions["r"].properties == {"p": 100}
