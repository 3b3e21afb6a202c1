"""The evaluation of YAQL expressions by the library ``yaql``, in this process.

Called by the processes of the sandbox, and by ``yaql`` where there is none, which loads this
module with the first expression of a process. Decides which errors are those of the expression.
Counts steps; bounds neither time nor memory. Must not return values that JSON does not have.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import yaql as yaql_library
from yaql.language import utils
from yaql.language.exceptions import YaqlException
from yaql.language.expressions import Statement

from heat_convergence.common import strict_json
from heat_convergence.template import bounded_regex
from heat_convergence.template.functions import yaql_sandbox
from heat_convergence.template.functions.function import FunctionError
from heat_convergence.template.limits import YaqlCall, YaqlResult
from heat_convergence.template.parsing.yaml_reader import json_key

Json = Any
_MAX_CACHED_CHARS = 1_000  # of an expression whose parsed form is kept

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

# An engine without options, whose tables take 0.3 seconds and some megabytes. It is built while
# the module is loaded: Python lets other threads wait for that, so that it is built once.
_GRAMMAR = yaql_library.YaqlFactory().create()


def preload_libraries() -> None:
    """Load and build what expressions need before the first one; forked processes inherit it."""
    bounded_regex.load_library()
    yaql_sandbox.limited_context(0)


@functools.lru_cache(maxsize=8)
def _engine(limit_iterators: int, memory_quota_bytes: int) -> Any:
    return _GRAMMAR.copy(
        {
            "yaql.limitIterators": limit_iterators,
            "yaql.memoryQuota": memory_quota_bytes,
            "yaql.convertTuplesToLists": True,
            "yaql.convertSetsToLists": True,
            "yaql.convertInputData": False,  # ``_frozen`` does it in a third of the time
        }
    )


def _parsed(expression: str) -> Any:
    # A long expression takes megabytes as a tree, which a cache would keep.
    if len(expression) > _MAX_CACHED_CHARS:
        return _parse(expression)
    return _parse_cached(expression)


@functools.lru_cache(maxsize=256)
def _parse_cached(expression: str) -> Any:
    return _parse(expression)


def _parse(expression: str) -> Any:
    # The engine's parser holds state: parse with a copy, because other threads may be
    # parsing at the same time.
    parser = copy.copy(_GRAMMAR.parser)
    return parser.parse(expression, lexer=_GRAMMAR.lexer.clone())


def find_mistake(expression: str) -> str | None:
    """Return why the expression can't be parsed, None if it can."""
    try:
        _parsed(expression)
    except _FAILURES as error:
        return _reason(error)
    return None


def run_call(call: YaqlCall) -> YaqlResult:
    """Evaluate an expression in this process; steps are counted, time is not."""
    if call.syntax_only:
        return YaqlResult(find_mistake(call.expression), steps_left=call.max_steps)
    context = yaql_sandbox.limited_context(call.max_steps)
    try:
        engine = _engine(call.limit_iterators, call.memory_quota_bytes)
        result = Statement(_parsed(call.expression), engine).evaluate(
            data=_frozen({"data": call.data}), context=context
        )
        value, error = _plain(result), None
    except FunctionError as failure:
        value, error = None, failure.message
    except _FAILURES as failure:
        value, error = None, _reason(failure)
    return YaqlResult(value, error=error, steps_left=max(context.yaql_steps_left, 0))


def _frozen(value: Json) -> Any:
    """Return data as the library's functions expect it: with maps and lists that cannot change."""
    if isinstance(value, dict):
        return utils.FrozenDict({key: _frozen(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return tuple([_frozen(item) for item in value])
    return value


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
