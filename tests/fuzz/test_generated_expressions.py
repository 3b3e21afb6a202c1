"""Generated YAQL expressions in the sandbox: each ends with a value or a reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random

import pytest

from heat_convergence.sandbox.expression_sandbox import ExpressionSandbox, SandboxSettings
from heat_convergence.template.limits import YaqlCall, YaqlResult
from tests.fuzz.campaign import fuzz_expressions
from tests.fuzz.expression_grammar import make_expression

SEED = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_SEED", "15"))
EXPRESSIONS = int(os.environ.get("HEAT_CONVERGENCE_TEST_FUZZ_EXPRESSIONS", "250"))
TIME_LIMIT_S = 0.3


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ExpressionSandbox]:
    sandbox = ExpressionSandbox(SandboxSettings(max_children=1))
    yield sandbox
    sandbox.close()


def test_generated_expressions_end_with_a_value_or_a_reason(sandbox: ExpressionSandbox) -> None:
    findings = fuzz_expressions(sandbox, seed=SEED, count=EXPRESSIONS, max_seconds=TIME_LIMIT_S)
    assert "\n".join(findings.failures) == ""
    assert findings.count == EXPRESSIONS
    assert findings.statuses["value"] > EXPRESSIONS / 10
    assert findings.statuses["error"] > EXPRESSIONS / 10


class LimitlessRunner:
    """A runner that answers as one whose limits do not hold."""

    def __init__(self, result: YaqlResult | Exception) -> None:
        self._result = result

    def run(self, _call: YaqlCall) -> YaqlResult:
        if isinstance(self._result, Exception):
            raise self._result
        return self._result


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (YaqlResult(1, seconds=9.0), "took 9.0 s of 0.3 s"),
        (YaqlResult(None, error=" "), "an error without a text"),
        (YaqlResult("\ud800"), "raised UnicodeEncodeError"),
        (YaqlResult(float("nan")), "raised ValueError"),
        (YaqlResult(10**5000), "raised ValueError"),
        (RuntimeError("why"), "raised RuntimeError: why"),
    ],
    ids=["time", "reason", "surrogate", "NaN", "digits", "exception"],
)
def test_wrong_results_are_failures(result: YaqlResult | Exception, problem: str) -> None:
    findings = fuzz_expressions(
        LimitlessRunner(result), seed=3, first=5, count=1, max_seconds=TIME_LIMIT_S
    )
    (failure,) = findings.failures
    assert problem in failure
    assert "--seed 3 --first-expression 5 --expressions 1" in failure


def test_grammar_makes_many_different_expressions() -> None:
    made = {make_expression(Random(number)) for number in range(1_000)}
    assert len(made) > 700
    for word in ("sequence", "generate", "pow", "groupBy", "regex", "\ud800"):
        assert any(word in expression for expression in made), word
