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
    DEFAULT_LIMITS,
    TemplateLimits,
    YaqlCall,
    YaqlResult,
)
from heat_convergence.template.parsing.yaml_reader import json_key

Json = Any
Value = Any

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


@functools.lru_cache(maxsize=2048)
def _parsed(expression: str) -> Any:
    engine = _grammar()
    # The engine's parser holds state: parse with a copy, because other threads may be
    # parsing at the same time.
    parser = copy.copy(engine.parser)
    return parser.parse(expression, lexer=engine.lexer.clone())


def _statement(expression: str, limits: TemplateLimits) -> Any:
    if len(expression) > limits.yaql_max_expression_size:
        raise FunctionError(
            f"A YAQL expression may have {limits.yaql_max_expression_size} characters,"
            f" not {len(expression)}"
        )
    engine = _engine(limits.yaql_limit_iterators, limits.yaql_memory_quota_bytes)
    try:
        return Statement(_parsed(expression), engine)
    except _FAILURES as error:
        raise FunctionError(f"Bad expression {_reason(error)}.") from error


def _check(arguments: Value) -> None:
    require_map(arguments, _FORM, required=("expression", "data"))
    if is_unresolved(arguments):
        return
    require_string(arguments["expression"], "The expression")
    if isinstance(arguments["expression"], str):
        _statement(arguments["expression"], DEFAULT_LIMITS)


def run_call(call: YaqlCall) -> YaqlResult:
    """Evaluate an expression in this process; steps are counted, time is not."""
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


def _evaluate(arguments: Json, scope: FunctionScope) -> Value:
    budget = scope.budget
    limits = budget.limits
    _statement(arguments["expression"], limits)
    if budget.yaql_seconds_left <= 0:
        raise FunctionError(
            f"YAQL: the template's expressions take more than {limits.yaql_max_seconds:g} s"
            " of processor time together"
        )
    call = YaqlCall(
        arguments["expression"],
        arguments["data"],
        limits.yaql_limit_iterators,
        limits.yaql_memory_quota_bytes,
        budget.yaql_steps_left,
        budget.yaql_seconds_left,
    )
    result = run_call(call) if limits.yaql_runner is None else limits.yaql_runner.run(call)
    budget.charge_yaql(result.steps_left, result.seconds)
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
