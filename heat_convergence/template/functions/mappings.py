"""CFN mappings and availability zones.

Called by the evaluator.  Must not query a cloud: the scope has the zones.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.template.functions.function import (
    UNKNOWN,
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    require_list,
    require_string,
)

Json = Any
Value = Any


def _check_find(arguments: Value) -> None:
    require_list(arguments, "[map, key, subkey]", at_least=3, at_most=3)
    if not is_unresolved(arguments):
        require_string(arguments[0], "The name of a mapping")


def _find_in_map(arguments: Json, scope: FunctionScope) -> Value:
    name, *keys = arguments
    found = scope.mapping(name)
    if found is UNKNOWN:
        return UNKNOWN
    for key in keys:
        text = key if isinstance(key, str) else str(key)
        if not isinstance(found, dict) or text not in found:
            raise FunctionError(f'The mapping "{name}" has no "{text}"')
        found = found[text]
    return found


def _zones(arguments: Json, scope: FunctionScope) -> Value:
    return scope.availability_zones()


FN_FIND_IN_MAP = Function("A value of the Mappings section.", _find_in_map, _check_find)
FN_GET_AZS = Function("The availability zones.", _zones)
