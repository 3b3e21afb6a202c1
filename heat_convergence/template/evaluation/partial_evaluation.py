"""Partial evaluation: evaluate what is known and leave the rest as small expressions.

Decides whether a node of a template is data, a call that can be evaluated, or one that
must wait.  ``PartialEvaluator`` is called while a template is evaluated,
``ExpressionResolver`` for the expressions that it left.  Must not know sections,
resources or outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common.errors import (
    Error,
    InvalidTemplateReference,
    RequestLimitExceeded,
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
from heat_convergence.template.evaluation_budget import STEPS_PER_WAITING_CALL
from heat_convergence.template.expression import Expression
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
    """The treatment of errors in one part of a template.

    Attributes:
        phase: The validation phase of evaluation errors.
        prefix: A text shown before the path of an error.
        wrap_errors: Whether ``StackValidationFailed`` replaces the error's own class.
        defer_errors: Whether a call that fails on evaluated arguments is kept, so that it
            fails when the value is read: for outputs, and for every part while parameters
            are missing.
        never_read: Whether nothing reads the value, so that no failing call is an error.
    """

    phase: ValidationPhase
    prefix: str = ""
    path_length: int | None = None
    wrap_errors: bool = True
    defer_errors: bool = False
    never_read: bool = False


class PartialEvaluator:
    """Evaluates the nodes of one template."""

    def __init__(
        self,
        version: TemplateVersion,
        scope: TemplateScope,
        diagnostics: Diagnostics,
        *,
        plugins: Mapping[str, Function],
        evaluate_condition: Callable[[Json, SourcePath], bool | None],
    ) -> None:
        self._version = version
        self._scope = scope
        self._diagnostics = diagnostics
        self._evaluate_condition = evaluate_condition
        self._calls = bind_functions(version.functions, plugins)
        self._site = EvaluationSite(ValidationPhase.RESOURCES)
        self._path: list[str | int] = []

    def evaluate(self, node: Json, path: SourcePath, site: EvaluationSite) -> Value:
        """Return the node with all known calls evaluated; the result may be ``OMIT``.

        Parts without calls are those of the template, which nobody may change.
        """
        self._path = list(path)
        self._site = site
        return self._evaluate(node)

    def _evaluate(self, node: Json) -> Value:
        if isinstance(node, dict):
            if len(node) == 1:
                name = next(iter(node))
                if name in self._calls:
                    return self._call(name, node[name])
                if name in self._version.removed_functions:
                    return self._report_removed(name, node)
            return self._evaluate_map(node)
        if isinstance(node, list):
            return self._evaluate_list(node)
        return node

    def _evaluate_map(self, node: dict[str, Json]) -> dict[str, Value]:
        """Return the map with evaluated values; the template's own map if none is another."""
        evaluated = node
        path = self._path
        for key, item in node.items():
            if isinstance(item, dict | list):
                path.append(key)
                value = self._evaluate(item)
                path.pop()
                if value is not item:
                    evaluated = dict(node) if evaluated is node else evaluated
                    evaluated[key] = value
        if evaluated is node:
            return node
        return {key: value for key, value in evaluated.items() if value is not OMIT}

    def _evaluate_list(self, node: list[Json]) -> list[Value]:
        """Return the list with evaluated items; the template's own list if none is another."""
        evaluated = node
        path = self._path
        for index, item in enumerate(node):
            if isinstance(item, dict | list):
                path.append(index)
                value = self._evaluate(item)
                path.pop()
                if value is not item:
                    evaluated = list(node) if evaluated is node else evaluated
                    evaluated[index] = value
        if evaluated is node:
            return node
        return [value for value in evaluated if value is not OMIT]

    def _call(self, name: str, raw: Json) -> Value:
        variant, function = self._calls[name]
        self._path.append(name)
        try:
            if name in _IF:
                return self._evaluate_if(name, variant, raw)
            arguments = self._evaluate(raw)
            if arguments is OMIT:
                arguments = None
            return self._evaluate_call(name, variant, function, raw, arguments)
        except RequestLimitExceeded as error:
            if not error.path:
                error.path = format_path(self._path)
            raise
        finally:
            self._path.pop()

    def _evaluate_call(
        self, name: str, variant: str, function: Function, raw: Json, arguments: Value
    ) -> Value:
        unresolved = Expression(name, variant, arguments)
        try:
            function.check(arguments)
            if function.referenced_resource is not None:
                self._scope.check_reference(function.referenced_resource(arguments), name)
        except FunctionError as error:
            self._report_argument_error(error, is_literal=arguments == raw)
            return unresolved
        budget = self._scope.budget
        if not budget.charge_value(arguments):
            budget.charge(STEPS_PER_WAITING_CALL)
            return _simplified(unresolved, function)
        try:
            result = function.evaluate(arguments, self._scope)
        except FunctionError as error:
            self._report_evaluation_error(error)
            return unresolved
        if result is UNKNOWN:
            budget.charge(STEPS_PER_WAITING_CALL)
            return unresolved
        budget.charge_value(result)
        return result

    def _evaluate_if(self, name: str, variant: str, raw: Json) -> Value:
        try:
            check_if_arguments(raw, variant)
        except FunctionError as error:
            self._report_argument_error(error, is_literal=True)
            return Expression(name, variant, None)
        branches: list[Json] = raw[1:]
        holds = self._evaluate_condition(raw[0], (*self._path, 0))
        if holds is None:
            both = [self._branch(raw, index) for index, raw in enumerate(branches, 1)]
            return Expression(name, variant, [None, *(part for part in both if part is not OMIT)])
        index = 0 if holds else 1
        return self._branch(branches[index], index + 1) if index < len(branches) else OMIT

    def _branch(self, raw: Json, index: int) -> Value:
        self._path.append(index)
        try:
            return self._evaluate(raw)
        finally:
            self._path.pop()

    def _report_removed(self, name: str, node: Json) -> Json:
        message = (
            f"The template version is invalid: The function {name} is not supported in"
            f" {self._version.id}"
        )
        self._diagnostics.add(ValidationPhase.FUNCTIONS, message, (*self._path, name))
        return node

    def _report_argument_error(self, error: FunctionError, *, is_literal: bool) -> None:
        """Report invalid arguments; if calls produced them, as an evaluation error."""
        if not is_literal and not self._is_reference(error):
            self._report_evaluation_error(error)
            return
        located, function = self._with_location(error.error), self._path[-1]
        in_output = self._site.phase is ValidationPhase.OUTPUTS
        if type(located) is StackValidationFailed:
            self._diagnostics.add(ValidationPhase.FUNCTIONS, error.message, tuple(self._path))
        elif in_output and function == "get_resource":
            return  # whoever reads the output is shown the error
        elif in_output and function != "Ref":
            self._diagnostics.add(self._site.phase, located.message, tuple(self._path))
        else:
            self._diagnostics.add(ValidationPhase.DEPENDENCIES, located, tuple(self._path))

    def _report_evaluation_error(self, error: FunctionError) -> None:
        site = self._site
        undeclared = isinstance(error.error, UserParameterMissing)
        is_deferred = site.defer_errors and not (
            undeclared and site.phase is ValidationPhase.RESOURCES
        )
        if (is_deferred or site.never_read) and not self._is_reference(error):
            return
        located = self._with_location(error.error)
        reported = error.message if site.wrap_errors and not self._is_reference(error) else located
        phase = ValidationPhase.DEPENDENCIES if self._is_reference(error) else site.phase
        path = tuple(self._path)
        self._diagnostics.add(
            phase, reported, path[: site.path_length], prefix=site.prefix, source_path=path
        )

    def _with_location(self, error: Error) -> Error:
        if isinstance(error, InvalidTemplateReference):
            return error.with_location(_reference_location(self._path))
        return error

    @staticmethod
    def _is_reference(error: FunctionError) -> bool:
        return isinstance(error.error, InvalidTemplateReference)


def _reference_location(path: Sequence[str | int]) -> str:
    """Return where a reference stands, as clients know it: ``a.Properties.value``."""
    section, name, *rest = path
    if str(section).lower() != "resources" or len(rest) < 2:
        return "unknown"
    key, *inside = rest[:-1]  # without the function
    return format_path((name, str(key).capitalize(), *inside))


class ExpressionResolver:
    """Evaluates the expressions of a value, as far as the scope has the values."""

    def __init__(self, scope: FunctionScope, plugins: Mapping[str, Function]) -> None:
        self._scope = scope
        self._plugins = plugins

    def resolve(self, value: Value) -> Value:
        """Return the resolved value; ``OMIT`` only results from a lone ``if``.

        Raises:
            FunctionError: A call cannot be evaluated.
        """
        if isinstance(value, Expression):
            try:
                return self._resolve_call(value)
            except RequestLimitExceeded as error:
                error.path = error.path or value.function
                raise
        if isinstance(value, dict):
            resolved = {key: self.resolve(item) for key, item in value.items()}
            return {key: item for key, item in resolved.items() if item is not OMIT}
        if isinstance(value, list):
            return [item for item in map(self.resolve, value) if item is not OMIT]
        return value

    def _resolve_call(self, call: Expression) -> Value:
        function = self._function(call)
        arguments = self.resolve(call.arguments)
        unresolved = Expression(call.function, call.variant, arguments)
        function.check(arguments)
        budget = self._scope.budget
        if not budget.charge_value(arguments):
            return _simplified(unresolved, function)
        result = function.evaluate(arguments, self._scope)
        budget.charge_value(result)
        return unresolved if result is UNKNOWN else result

    def _function(self, call: Expression) -> Function:
        return get_function(call.function, call.variant, self._plugins)


def _simplified(call: Expression, function: Function) -> Expression:
    if function.simplify is None:
        return call
    return replace(call, arguments=function.simplify(call.arguments))


def get_function(name: str, variant: str, plugins: Mapping[str, Function]) -> Function:
    """Return the function of an expression; raises ``FunctionError`` if it was uninstalled."""
    function = (
        plugins.get(name) if variant == PLUGIN_VARIANT else BUILTIN_FUNCTIONS.get((name, variant))
    )
    if function is None:
        raise FunctionError(f'There is no function "{name}" ({variant}) any more')
    return function


def bind_functions(
    named: Mapping[str, str], plugins: Mapping[str, Function]
) -> dict[str, tuple[str, Function]]:
    """Return functions by name with their variant; a plug-in cannot replace a built-in."""
    calls = {name: (PLUGIN_VARIANT, function) for name, function in plugins.items()}
    return calls | {
        name: (variant, BUILTIN_FUNCTIONS[name, variant]) for name, variant in named.items()
    }
