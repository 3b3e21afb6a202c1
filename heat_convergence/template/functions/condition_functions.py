"""Functions of conditions.

``and``, ``or``, ``not`` and ``if`` take conditions as arguments, which only the evaluator
can evaluate: the functions here receive evaluated arguments.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.template.functions.function import (
    UNKNOWN,
    Function,
    FunctionError,
    FunctionScope,
    require_list,
)

Json = Any
Value = Any


def _check_equals(arguments: Value) -> None:
    require_list(arguments, "[value, value]", at_least=2, at_most=2)


def _equals(arguments: Json, scope: FunctionScope) -> Value:
    return bool(arguments[0] == arguments[1])


def _check_many(arguments: Value) -> None:
    require_list(arguments, "[condition, condition, ...]", at_least=2)


def _and(arguments: Json, scope: FunctionScope) -> Value:
    return all(arguments)


def _or(arguments: Json, scope: FunctionScope) -> Value:
    return any(arguments)


def _not(arguments: Json, scope: FunctionScope) -> Value:
    return not (arguments[0] if isinstance(arguments, list) else arguments)


def _check_one_in_list(arguments: Value) -> None:
    require_list(arguments, "[condition]", at_least=1, at_most=1)


def _check_one(arguments: Value) -> None:
    if isinstance(arguments, list):
        _check_one_in_list(arguments)


def check_if_arguments(arguments: Value, variant: str) -> None:
    """Check the form of the arguments of ``if`` before any branch is evaluated."""
    if variant == "three_args":
        require_list(
            arguments, "[condition, value if true, value if false]", at_least=3, at_most=3
        )
    else:
        require_list(
            arguments, "[condition, value if true, (value if false)]", at_least=2, at_most=3
        )
    if not isinstance(arguments, list):
        raise FunctionError("Arguments must be a list")


def _unknown(arguments: Json, scope: FunctionScope) -> Value:
    # The call was kept because its condition reads a parameter without a value.
    return UNKNOWN


EQUALS = Function("True if two values are equal.", _equals, _check_equals)
AND = Function("True if all conditions are true.", _and, _check_many)
OR = Function("True if any condition is true.", _or, _check_many)
NOT = Function("The opposite of a condition.", _not, _check_one)
FN_NOT = Function("The opposite of a condition.", _not, _check_one_in_list)
IF = Function("One of two values, chosen by a condition.", _unknown)
