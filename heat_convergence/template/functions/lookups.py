"""Functions that read parameters, resources, files or the parent stack's resource.

Called by the evaluator.  Must not decide what exists: the scope does.
"""

from __future__ import annotations

from typing import Any

from heat_convergence.common.errors import InvalidTemplateReference
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.function import (
    UNKNOWN,
    Function,
    FunctionError,
    FunctionScope,
    is_unresolved,
    require_list,
    require_string,
    select_path,
)

Json = Any
Value = Any

_ATTR_FORM = "[resource, attribute, (path), ...]"
_FACADE_KEYS = {
    "metadata": "metadata",
    "deletion_policy": "deletion_policy",
    "update_policy": "update_policy",
    "Metadata": "metadata",
    "DeletionPolicy": "deletion_policy",
    "UpdatePolicy": "update_policy",
}


def _check_param(arguments: Value) -> None:
    name = arguments
    if isinstance(arguments, list):
        if not arguments:
            raise FunctionError("Arguments must be a name, or a list [name, (path), ...]")
        name = arguments[0]
        for part in arguments[1:]:
            if isinstance(part, dict | list):
                raise FunctionError("The parts of a path must be strings or numbers")
    require_string(name, "The name of a parameter")


def _get_param(arguments: Json, scope: FunctionScope) -> Value:
    name, path = (arguments[0], arguments[1:]) if isinstance(arguments, list) else (arguments, [])
    value = scope.parameter(name)
    return UNKNOWN if value is UNKNOWN else select_path(value, path, missing="")


def _check_name(arguments: Value) -> None:
    require_string(arguments, "The name of a resource")


def _get_resource(arguments: Json, scope: FunctionScope) -> Value:
    return scope.reference_id(arguments)


def _check_attr_with_name(arguments: Value) -> None:
    require_list(arguments, _ATTR_FORM, at_least=2)
    _check_attr_parts(arguments)


def _check_attr(arguments: Value) -> None:
    require_list(arguments, _ATTR_FORM, at_least=1)
    _check_attr_parts(arguments)


def _check_attr_parts(arguments: Value) -> None:
    if is_unresolved(arguments):
        return
    require_string(arguments[0], "The name of a resource")
    if len(arguments) > 1:
        require_string(arguments[1], "The name of an attribute")
    for part in arguments[2:]:
        if isinstance(part, dict | list):
            raise FunctionError("The parts of a path must be strings or numbers")


def _get_attr(arguments: Json, scope: FunctionScope) -> Value:
    resource, *rest = arguments
    name = rest[0] if rest else None
    return scope.attribute(resource, name, tuple(rest[1:]))


def _first(arguments: Value) -> Value:
    return arguments[0] if isinstance(arguments, list) and arguments else arguments


def _argument(arguments: Value) -> Value:
    return arguments


def _check_cfn_attr(arguments: Value) -> None:
    require_list(arguments, "[resource, attribute]", at_least=2, at_most=2)
    _check_attr_parts(arguments)


def _get_cfn_attr(arguments: Json, scope: FunctionScope) -> Value:
    value = scope.attribute(arguments[0], arguments[1], ())
    if value is UNKNOWN:
        return Expression("get_attr", "attr_optional_name", arguments)
    return value


def _check_ref(arguments: Value) -> None:
    if is_unresolved(arguments):
        raise FunctionError("The name in Ref must be known when the stack is planned")
    _check_name(arguments)


def _ref(arguments: Json, scope: FunctionScope) -> Value:
    if scope.has_parameter(arguments):
        return scope.parameter(arguments)
    value = scope.reference_id(arguments)
    return Expression("get_resource", "standard", arguments) if value is UNKNOWN else value


def _ref_to_parameter(arguments: Json, scope: FunctionScope) -> Value:
    if not scope.has_parameter(arguments):
        raise FunctionError(
            f'There is no parameter "{arguments}"', InvalidTemplateReference(arguments, "Ref")
        )
    return scope.parameter(arguments)


def _check_file(arguments: Value) -> None:
    require_string(arguments, "The key of a file")


def _get_file(arguments: Json, scope: FunctionScope) -> Value:
    return scope.file(arguments)


def _check_facade(arguments: Value) -> None:
    require_string(arguments, "The argument")
    if isinstance(arguments, str) and arguments not in _FACADE_KEYS:
        raise FunctionError(f'"{arguments}" is not one of {", ".join(_FACADE_KEYS)}')


def _facade(arguments: Json, scope: FunctionScope) -> Value:
    return scope.facade(_FACADE_KEYS[arguments])


GET_PARAM = Function(
    "The value of a parameter, or the part of it at a path.", _get_param, _check_param
)
GET_RESOURCE = Function(
    "The reference id of another resource of the stack.", _get_resource, _check_name, _argument
)
GET_ATTR_BY_NAME = Function(
    "An attribute of another resource, or the part of it at a path.",
    _get_attr,
    _check_attr_with_name,
    _first,
)
GET_ATTR = Function(
    "An attribute of another resource, the part of it at a path, or all attributes.",
    _get_attr,
    _check_attr,
    _first,
)
FN_GET_ATT = Function("An attribute of another resource.", _get_cfn_attr, _check_cfn_attr, _first)
REF = Function("The value of a parameter or the reference id of a resource.", _ref, _check_ref)
REF_TO_PARAMETER = Function("The value of a parameter.", _ref_to_parameter, _check_name)
# Clients match this summary.
GET_FILE = Function("A function for including a file inline.", _get_file, _check_file)
RESOURCE_FACADE = Function(
    "Metadata, deletion policy or update policy of the resource that this stack implements.",
    _facade,
    _check_facade,
)
