"""Evaluate what can be evaluated; leave the rest as the smallest expressions.

Decides what a node of a template is: data, a call that can be made, or one that
must wait.  ``PartialEvaluator`` is called while a template is built, ``ExpressionResolver`` for
what that
left.  Must not know sections, resources or outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common.errors import (
    Error,
    InvalidTemplateReference,
    InvalidTemplateVersion,
    StackValidationFailed,
    UserParameterMissing,
)
from heat_convergence.template.diagnostics import (
    Diagnostics,
    SourcePath,
    ValidationPhase,
    format_path,
)
from heat_convergence.template.evaluation.scopes import TemplateScope
from heat_convergence.template.expression import Expression, is_known
from heat_convergence.template.functions.builtin_functions import BUILTIN_FUNCTIONS, PLUGIN_VARIANT
from heat_convergence.template.functions.condition_functions import check_if_arguments
from heat_convergence.template.functions.function import (
    OMIT,
    UNKNOWN,
    Function,
    FunctionError,
    FunctionScope,
)
from heat_convergence.template.parsing.template_versions import TemplateVersion

Json = Any
Value = Any
_IF = frozenset({"if", "Fn::If"})


@dataclass(frozen=True, slots=True)
class EvaluationSite:
    """How mistakes in one part of a template are told.

    ``defer`` leaves a call that fails on evaluated arguments for the reader of the
    value to fail on (outputs, and everything when values are missing).  ``wrap`` says
    whether an evaluation's own error class is hidden behind ``StackValidationFailed``
    with this prefix.
    """

    phase: ValidationPhase
    prefix: str = ""
    wrap_errors: bool = True
    defer_errors: bool = False


class PartialEvaluator:
    """Folds the nodes of one template."""

    def __init__(
        self,
        version: TemplateVersion,
        scope: TemplateScope,
        problems: Diagnostics,
        *,
        plugins: Mapping[str, Function],
        evaluate_condition: Callable[[Json, SourcePath], bool | None],
    ) -> None:
        self._version = version
        self._scope = scope
        self._problems = problems
        self._decide = evaluate_condition
        self._calls = bind_functions(version.functions, plugins)
        self._place = EvaluationSite(ValidationPhase.RESOURCES)
        self._path: list[str | int] = []

    def evaluate(self, node: Json, path: SourcePath, place: EvaluationSite) -> Value:
        """The node with everything evaluated that can be; may be ``OMIT``."""
        self._path = list(path)
        self._place = place
        return self._fold(node)

    def _fold(self, node: Json) -> Value:
        if isinstance(node, dict):
            if len(node) == 1:
                name = next(iter(node))
                if name in self._calls:
                    return self._call(name, node[name])
                if name in self._version.removed_functions:
                    return self._removed(name, node)
            return self._fold_map(node)
        if isinstance(node, list):
            return self._fold_list(node)
        return node

    def _fold_map(self, node: dict[str, Json]) -> dict[str, Value]:
        folded = {}
        path = self._path
        for key, item in node.items():
            if isinstance(item, dict | list):
                path.append(key)
                item = self._fold(item)
                path.pop()
                if item is OMIT:
                    continue
            folded[key] = item
        return folded

    def _fold_list(self, node: list[Json]) -> list[Value]:
        folded = []
        path = self._path
        for index, item in enumerate(node):
            if isinstance(item, dict | list):
                path.append(index)
                item = self._fold(item)
                path.pop()
                if item is OMIT:
                    continue
            folded.append(item)
        return folded

    def _call(self, name: str, raw: Json) -> Value:
        variant, function = self._calls[name]
        self._path.append(name)
        try:
            if name in _IF:
                return self._fold_if(name, variant, raw)
            arguments = self._fold(raw)
            if arguments is OMIT:
                arguments = None
            return self._evaluated(name, variant, function, raw, arguments)
        finally:
            self._path.pop()

    def _evaluated(
        self, name: str, variant: str, function: Function, raw: Json, arguments: Value
    ) -> Value:
        left = Expression(name, variant, arguments)
        try:
            function.check(arguments)
            if function.referenced_resource is not None:
                self._scope.check_reference(function.referenced_resource(arguments), name)
        except FunctionError as error:
            self._shape_error(error, is_literal=arguments == raw)
            return left
        if not is_known(arguments):
            return _condensed(left, function)
        try:
            result = function.evaluate(arguments, self._scope)
        except FunctionError as error:
            self._evaluation_error(error)
            return left
        return left if result is UNKNOWN else result

    def _fold_if(self, name: str, variant: str, raw: Json) -> Value:
        try:
            check_if_arguments(raw, variant)
        except FunctionError as error:
            self._shape_error(error, is_literal=True)
            return Expression(name, variant, None)
        branches: list[Json] = raw[1:]
        decided = self._decide(raw[0], (*self._path, 0))
        if decided is None:
            both = [self._branch(raw, index) for index, raw in enumerate(branches, 1)]
            return Expression(name, variant, [None, *(part for part in both if part is not OMIT)])
        index = 0 if decided else 1
        return self._branch(branches[index], index + 1) if index < len(branches) else OMIT

    def _branch(self, raw: Json, index: int) -> Value:
        self._path.append(index)
        try:
            return self._fold(raw)
        finally:
            self._path.pop()

    def _removed(self, name: str, node: Json) -> Json:
        message = f'"{name}" is not a function of {self._version.id}'
        self._problems.add(
            ValidationPhase.DEFINITIONS,
            message,
            (*self._path, name),
            prefix=InvalidTemplateVersion.__name__,
        )
        return node

    def _shape_error(self, error: FunctionError, *, is_literal: bool) -> None:
        """Wrong arguments; those that came out of other calls are a matter of values."""
        if not is_literal and not self._is_reference(error):
            self._evaluation_error(error)
            return
        own = self._placed(error.error)
        if type(own) is StackValidationFailed:
            self._problems.add(ValidationPhase.DEFINITIONS, error.message, tuple(self._path))
        elif self._place.defer_errors and self._path[-1] not in ("get_resource", "Ref"):
            self._problems.add(self._place.phase, own.message, tuple(self._path))
        else:
            self._problems.add(ValidationPhase.DEPENDENCIES, own, tuple(self._path))

    def _evaluation_error(self, error: FunctionError) -> None:
        place = self._place
        undeclared = isinstance(error.error, UserParameterMissing)
        if (
            place.defer_errors
            and not self._is_reference(error)
            and not (undeclared and place.phase is ValidationPhase.RESOURCES)
        ):
            return
        own = self._placed(error.error)
        told = error.message if place.wrap_errors and not self._is_reference(error) else own
        phase = ValidationPhase.DEPENDENCIES if self._is_reference(error) else place.phase
        self._problems.add(phase, told, tuple(self._path), prefix=place.prefix)

    def _placed(self, error: Error) -> Error:
        if isinstance(error, InvalidTemplateReference):
            return error.with_location(format_path(self._path))
        return error

    @staticmethod
    def _is_reference(error: FunctionError) -> bool:
        return isinstance(error.error, InvalidTemplateReference)


class ExpressionResolver:
    """Evaluates what was left, as far as the scope answers."""

    def __init__(self, scope: FunctionScope, plugins: Mapping[str, Function]) -> None:
        self._scope = scope
        self._plugins = plugins

    def resolve(self, value: Value) -> Value:
        """Raises ``FunctionError``; ``OMIT`` only comes out of a lone ``if``."""
        if isinstance(value, Expression):
            return self._reduce_call(value)
        if isinstance(value, dict):
            reduced = {key: self.resolve(item) for key, item in value.items()}
            return {key: item for key, item in reduced.items() if item is not OMIT}
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not OMIT]
        return value

    def _reduce_call(self, call: Expression) -> Value:
        function = self._function(call)
        arguments = self.resolve(call.arguments)
        left = Expression(call.function, call.variant, arguments)
        function.check(arguments)
        if not is_known(arguments):
            return _condensed(left, function)
        result = function.evaluate(arguments, self._scope)
        return left if result is UNKNOWN else result

    def _function(self, call: Expression) -> Function:
        return get_function(call.function, call.variant, self._plugins)


def _condensed(call: Expression, function: Function) -> Expression:
    if function.simplify is None:
        return call
    return replace(call, arguments=function.simplify(call.arguments))


def get_function(name: str, variant: str, plugins: Mapping[str, Function]) -> Function:
    """The function of an expression; raises ``FunctionError`` when it is gone."""
    function = (
        plugins.get(name) if variant == PLUGIN_VARIANT else BUILTIN_FUNCTIONS.get((name, variant))
    )
    if function is None:
        raise FunctionError(f'There is no function "{name}" ({variant}) any more')
    return function


def bind_functions(
    named: Mapping[str, str], plugins: Mapping[str, Function]
) -> dict[str, tuple[str, Function]]:
    """Functions by name with their variant; a plug-in cannot replace a built-in."""
    calls = {name: (PLUGIN_VARIANT, function) for name, function in plugins.items()}
    return calls | {
        name: (variant, BUILTIN_FUNCTIONS[name, variant]) for name, variant in named.items()
    }
