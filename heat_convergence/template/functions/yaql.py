"""``yaql``: an expression of the YAQL language over some data.

Called by the evaluator.  Decides how much an expression may consume: items per iterator,
bytes per value, and steps (function calls) in all.  Must not return values that JSON
does not have.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import yaql as yaql_library
from yaql.language.exceptions import YaqlException
from yaql.language.expressions import Statement

from heat_convergence.common import strict_json
from heat_convergence.template import bounded_regex
from heat_convergence.template.evaluation_budget import EvaluationBudget, current_budget
from heat_convergence.template.functions import yaql_sandbox
from heat_convergence.template.functions.function import (
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    require_map,
    require_string,
)
from heat_convergence.template.limits import (
    YaqlCall,
    YaqlResult,
    YaqlRunner,
)
from heat_convergence.template.parsing.yaml_reader import json_key

Json = Any
Value = Any

_MAX_PARSED_HERE = 1_000  # characters; a parser that takes long blocks no daemon
_STEPS_PER_CHAR = 5  # to parse
_STEPS_PER_CALL = 300  # to send an expression to its process, and to receive its value
_FORM = "{expression: <YAQL expression>, data: <any value>}"

# The exceptions that a user's expression can cause in the library or its functions.
_FAILURES = (
    YaqlException,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    StopIteration,
    TypeError,
    ValueError,
    bounded_regex.PatternError,
    yaql_sandbox.YaqlLimitExceeded,
)


@functools.cache
def _grammar() -> Any:
    """Return an engine without options; its tables take 0.3 seconds and some megabytes."""
    return yaql_library.YaqlFactory().create()


def preload_grammar() -> None:
    """Build the parser before the first expression needs it; forked processes inherit it."""
    _grammar()
    yaql_sandbox.limited_context(0)


@functools.lru_cache(maxsize=8)
def _engine(limit_iterators: int, memory_quota_bytes: int) -> Any:
    return _grammar().copy(
        {
            "yaql.limitIterators": limit_iterators,
            "yaql.memoryQuota": memory_quota_bytes,
            "yaql.convertTuplesToLists": True,
            "yaql.convertSetsToLists": True,
        }
    )


def _parsed(expression: str) -> Any:
    # A long expression takes megabytes as a tree, which a cache would keep.
    if len(expression) > _MAX_PARSED_HERE:
        return _parse(expression)
    return _parse_cached(expression)


@functools.lru_cache(maxsize=256)
def _parse_cached(expression: str) -> Any:
    return _parse(expression)


def _parse(expression: str) -> Any:
    engine = _grammar()
    # The engine's parser holds state: parse with a copy, because other threads may be
    # parsing at the same time.
    parser = copy.copy(engine.parser)
    return parser.parse(expression, lexer=engine.lexer.clone())


def _check_syntax(expression: str, budget: EvaluationBudget) -> None:
    """Check the syntax of an expression, a long one where it can be stopped."""
    limits = budget.limits
    if len(expression) > limits.yaql_max_expression_size:
        raise FunctionError(
            f"A YAQL expression may have {limits.yaql_max_expression_size} characters,"
            f" not {len(expression)}"
        )
    budget.charge(len(expression) * _STEPS_PER_CHAR)
    if limits.yaql_runner is None or len(expression) <= _MAX_PARSED_HERE:
        mistake = _find_mistake(expression)
    else:
        mistake = _run(expression, None, budget, limits.yaql_runner, syntax_only=True)
    if mistake is not None:
        raise FunctionError(f"Bad expression {mistake}.")


def _find_mistake(expression: str) -> str | None:
    """Return why the expression can't be parsed, None if it can."""
    try:
        _parsed(expression)
    except _FAILURES as error:
        return _reason(error)
    return None


def _check(arguments: Value) -> None:
    require_map(arguments, _FORM, required=("expression", "data"))
    if is_unresolved(arguments):
        return
    require_string(arguments["expression"], "The expression")
    if isinstance(arguments["expression"], str):
        _check_syntax(arguments["expression"], current_budget())


def run_call(call: YaqlCall) -> YaqlResult:
    """Evaluate an expression in this process; steps are counted, time is not."""
    if call.syntax_only:
        return YaqlResult(_find_mistake(call.expression), steps_left=call.max_steps)
    context = yaql_sandbox.limited_context(call.max_steps)
    try:
        engine = _engine(call.limit_iterators, call.memory_quota_bytes)
        result = Statement(_parsed(call.expression), engine).evaluate(
            data={"data": call.data}, context=context
        )
        value, error = _plain(result), None
    except FunctionError as failure:
        value, error = None, failure.message
    except _FAILURES as failure:
        value, error = None, _reason(failure)
    return YaqlResult(value, error=error, steps_left=max(context.yaql_steps_left, 0))


class InProcessRunner:
    """A runner without limits on time and memory, for trusted templates."""

    def run(self, call: YaqlCall) -> YaqlResult:
        """Return the value of the expression, or the reason why it has none."""
        return run_call(call)


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


def _plain(value: Any) -> Json:
    """Return the result as JSON that can be stored and sent."""
    if isinstance(value, str):
        strict_json.check_text(value)
        return value
    if isinstance(value, int | float):
        strict_json.check_number(value)
        return value
    if value is None:
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {json_key(_plain(key)): _plain(item) for key, item in value.items()}
    raise FunctionError(f"The YAQL expression returns a {type(value).__name__}, which is not JSON")


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__


YAQL = Function("The result of a YAQL expression over data.", _evaluate, _check)
