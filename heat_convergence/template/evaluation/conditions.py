"""Evaluation of conditions.

Decides named conditions, and conditions written where they are used.  Called by the
evaluator for resources, outputs and ``if``.  Must not read resources: conditions are
evaluated before any resource exists.

Source: docs/reference/template-language.rst, "Condition rules".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import UserParameterMissing
from heat_convergence.template.diagnostics import (
    Diagnostics,
    SourcePath,
    ValidationPhase,
    did_you_mean,
)
from heat_convergence.template.evaluation.partial_evaluation import bind_functions
from heat_convergence.template.evaluation.scopes import TemplateScope
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.function import UNKNOWN, Function, FunctionError
from heat_convergence.template.parsing.template_versions import TemplateVersion

Json = Any

_CONNECTIVES = frozenset({"and", "or", "not", "Fn::And", "Fn::Or", "Fn::Not"})
_DEFINITION_PATH_LENGTH = 2  # section and name
_ALL = frozenset({"and", "Fn::And"})
_ANY = frozenset({"or", "Fn::Or"})


class _Undecided(Exception):
    """A value is missing, or an error was found and reported."""


class Conditions:
    """The conditions of one template."""

    def __init__(
        self,
        section: Json,
        version: TemplateVersion,
        scope: TemplateScope,
        diagnostics: Diagnostics,
    ) -> None:
        self._section: Mapping[str, Json] = section if isinstance(section, dict) else {}
        self._version = version
        self._scope = scope
        self._max_depth = scope.budget.limits.max_depth
        self._diagnostics = diagnostics
        self._section_name = version.dialect.conditions
        self._calls = bind_functions(version.condition_functions, {})
        self._known: dict[str, bool | None] = {}
        self._evaluating: list[str] = []
        self._shapes_only = False
        self._undecided: set[str] = set()  # while only shapes are checked
        if not isinstance(section, dict):
            diagnostics.add(
                ValidationPhase.CONDITIONS,
                f"The section {self._section_name} must be a map.",
                (self._section_name,),
            )

    def validate_all(self) -> None:
        """Report the errors of all conditions, including unused ones.

        Values that unused conditions read are not checked.
        """
        self._shapes_only = True
        for name in self._section:
            self._named(name)
        self._shapes_only = False

    def evaluate(self, condition: Json, path: SourcePath) -> bool | None:
        """Evaluate a condition where it is used: a name, a boolean or a condition function.

        Returns:
            None if a missing parameter (allowed in POST /validate) or an error leaves the
            condition undecided.
        """
        try:
            return self._condition(condition, path)
        except _Undecided:
            return None

    def _condition(self, condition: Json, path: SourcePath) -> bool:
        if isinstance(condition, bool):
            return condition
        if isinstance(condition, str):
            if condition not in self._section:
                hint = did_you_mean(condition, self._section)
                shown = path[:-1] if isinstance(path[-1], int) else path  # of the function
                raise self._report(f'Invalid condition "{condition}"{hint}', shown)
            result = self._named(condition)
            if result is None:
                raise _Undecided
            return result
        return self._function(condition, path)

    def _named(self, name: str) -> bool | None:
        if name in self._known:
            return self._known[name]
        if self._shapes_only and name in self._undecided:
            return None
        path = (self._section_name, name)
        if len(self._evaluating) >= self._max_depth:
            self._report(f"Conditions are nested deeper than {self._max_depth}", path)
            return None
        if name in self._evaluating:
            cycle = " -> ".join([*self._evaluating[self._evaluating.index(name) :], name])
            self._report(f"Circular definition of conditions: {cycle}", path)
            return None
        self._evaluating.append(name)
        definition = self._section[name]
        try:
            if isinstance(definition, bool):
                result: bool | None = definition
            else:
                result = self._function(definition, path)
        except _Undecided:
            result = None
        finally:
            self._evaluating.pop()
        if result is not None or not self._shapes_only:
            self._known[name] = result
        else:
            self._undecided.add(name)
        return result

    def _function(self, node: Json, path: SourcePath) -> bool:
        self._scope.budget.charge(1)
        if not isinstance(node, dict) or len(node) != 1 or next(iter(node)) not in self._calls:
            self._reject_other_functions(node, path)
            raise self._report_definition(node, path)
        result = self._call(node, path)
        if not isinstance(result, bool):
            raise self._report(f"The condition gives {result!r}, not true or false", path)
        return result

    def _call(self, node: dict[str, Json], path: SourcePath) -> Json:
        name, raw = next(iter(node.items()))
        _, function = self._calls[name]
        path = (*path, name)
        if name in _CONNECTIVES:
            return self._combined(name, function, raw, path)
        arguments = self._value(raw, path)
        budget = self._scope.budget
        budget.location = path
        budget.charge_value(arguments)
        try:
            function.check(arguments)
            result = function.evaluate(arguments, self._scope)
            budget.charge_value(result)
        except FunctionError as error:
            if not (self._shapes_only and isinstance(error.error, UserParameterMissing)):
                self._diagnostics.add(ValidationPhase.CONDITIONS, error.error, path)
            raise _Undecided from error
        if result is UNKNOWN or not is_known(result):
            raise _Undecided
        return result

    def _combined(self, name: str, function: Function, raw: Json, path: SourcePath) -> bool:
        try:
            function.check(raw)
        except FunctionError as error:
            raise self._report(error.message, path) from error
        if not isinstance(raw, list):
            return not self._condition(raw, path)
        members = [self.evaluate(member, (*path, index)) for index, member in enumerate(raw)]
        # One false member decides "and", one true member "or", even if others are unknown.
        if name in _ALL and False in members:
            return False
        if name in _ANY and True in members:
            return True
        if None in members:
            raise _Undecided
        if name in _ALL or name in _ANY:
            return name in _ALL
        if len(members) != 1:
            raise self._report("There must be one condition", path)
        return not members[0]

    def _value(self, node: Json, path: SourcePath) -> Json:
        """Evaluate arguments that are values, which may hold condition functions again."""
        if isinstance(node, dict):
            if len(node) == 1 and next(iter(node)) in self._calls:
                return self._call(node, path)
            self._reject_other_functions(node, path)
            return {key: self._value(item, (*path, key)) for key, item in node.items()}
        if isinstance(node, list):
            return [self._value(item, (*path, index)) for index, item in enumerate(node)]
        return node

    def _reject_other_functions(self, node: Json, path: SourcePath) -> None:
        if isinstance(node, dict) and len(node) == 1:
            name = next(iter(node))
            if name in self._version.functions or name in self._version.removed_functions:
                raise self._report(
                    f'The function "{name}" is invalid in this context', (*path, name)
                )

    def _report_definition(self, node: Json, path: SourcePath) -> _Undecided:
        """Report what is neither a truth value nor a call."""
        calls = ", ".join(sorted(self._calls))
        needed = f"it must be true, false or a condition function ({calls})"
        if len(path) != _DEFINITION_PATH_LENGTH:
            return self._report(f"The condition {node!r} is invalid: {needed}", path)
        self._diagnostics.add(
            ValidationPhase.CONDITIONS,
            f'The definition of condition "{path[1]}" is invalid: {node}; {needed}',
            path,
            prefix="Condition validation error",
            shows_path=False,
        )
        return _Undecided()

    def _report(self, message: str, path: SourcePath) -> _Undecided:
        self._diagnostics.add(ValidationPhase.CONDITIONS, message, path)
        return _Undecided()
