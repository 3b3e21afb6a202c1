"""``yaql``: an expression of the YAQL language over some data.

Called by the evaluator.  Decides how much an expression may consume: items per iterator,
bytes per value, and steps (function calls) in all.  The library is loaded with the first
expression of a process without a runner.
"""

from __future__ import annotations

import functools
import hashlib
from importlib import import_module
from typing import Any

from heat_convergence.common.values.value_size import SizedCache
from heat_convergence.template.evaluation_budget import EvaluationBudget, current_budget
from heat_convergence.template.functions.function import (
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    require_map,
    require_string,
)
from heat_convergence.template.limits import YaqlCall, YaqlResult, YaqlRunner

Json = Any
Value = Any

_EVALUATION = "heat_convergence.template.functions.yaql_evaluation"
_STEPS_PER_CHAR = 5  # to parse
_STEPS_PER_CALL = 300  # to send an expression to its process, and to receive its value
_FORM = "{expression: <YAQL expression>, data: <any value>}"
_DIGEST_BYTES = 128  # of a digest that is kept
_CORRECT = SizedCache[bool](_DIGEST_BYTES * 1_024)
"""Digests of expressions whose syntax is correct; the expressions may be secret."""


@functools.cache
def _evaluation() -> Any:
    """Return the module that uses the library, which takes 6 MB and 0.4 seconds to load."""
    return import_module(_EVALUATION)


def _check_syntax(expression: str, budget: EvaluationBudget) -> None:
    """Check the syntax of an expression, where it can be stopped, and once."""
    limits = budget.limits
    if len(expression) > limits.yaql_max_expression_size:
        raise FunctionError(
            f"A YAQL expression may have {limits.yaql_max_expression_size} characters,"
            f" not {len(expression)}"
        )
    budget.charge(len(expression) * _STEPS_PER_CHAR)
    digest = hashlib.sha256(expression.encode(errors="surrogatepass")).digest()
    if limits.yaql_runner is None:
        mistake = _evaluation().find_mistake(expression)
    elif _CORRECT.get(digest):
        return
    else:
        mistake = _run(expression, None, budget, limits.yaql_runner, syntax_only=True)
    if mistake is not None:
        raise FunctionError(f"Bad expression {mistake}.")
    _CORRECT.put(digest, True, _DIGEST_BYTES)


def _check(arguments: Value) -> None:
    require_map(arguments, _FORM, required=("expression", "data"))
    if is_unresolved(arguments):
        return
    require_string(arguments["expression"], "The expression")
    if isinstance(arguments["expression"], str):
        _check_syntax(arguments["expression"], current_budget())


class InProcessRunner:
    """A runner without limits on time and memory, for trusted templates."""

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the value of the expression, or the reason why it has none."""
        result: YaqlResult = _evaluation().run_call(call)
        return result


def _evaluate(arguments: Json, scope: FunctionScope) -> Value:
    runner = scope.budget.limits.yaql_runner or InProcessRunner()
    return _run(arguments["expression"], arguments["data"], scope.budget, runner)


def _run(
    expression: str,
    data: Json,
    budget: EvaluationBudget,
    runner: YaqlRunner,
    *,
    syntax_only: bool = False,
) -> Value:
    """Return the value of an expression, or its mistake, and account for what that takes."""
    limits = budget.limits
    budget.charge(_STEPS_PER_CALL)
    if budget.yaql_seconds_left <= 0:
        raise FunctionError(
            f"YAQL: the expressions take more than {limits.yaql_max_seconds:g} s of processor"
            " time together"
        )
    call = YaqlCall(
        expression,
        data,
        limits.yaql_limit_iterators,
        limits.yaql_memory_quota_bytes,
        budget.yaql_steps_left,
        budget.yaql_seconds_left,
        budget.yaql_wall_seconds_left,
        syntax_only,
    )
    result = runner.run(call)
    budget.charge_yaql(result)
    if result.error is not None:
        raise FunctionError(f"YAQL: {result.error}")
    return result.value


YAQL = Function("The result of a YAQL expression over data.", _evaluate, _check)
