"""Which conditions hold.

Decides named conditions, and those written where they are used.  Called by the
evaluator for resources, outputs and ``if``.  Must not read resources: conditions
are decided before any exists.

Source: heat-facts ``template_functions.json``, ``condition_rules``.
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

_OF_CONDITIONS = frozenset({"and", "or", "not", "Fn::And", "Fn::Or", "Fn::Not"})
_ALL = frozenset({"and", "Fn::And"})
_ANY = frozenset({"or", "Fn::Or"})


class _Undecided(Exception):
    """A value is missing, or a mistake was found and told."""


class Conditions:
    """The conditions of one template.

    ``decide`` answers None where a missing parameter (allowed in a mere validation)
    or a mistake leaves it open.
    """

    def __init__(
        self, section: Json, version: TemplateVersion, scope: TemplateScope, problems: Diagnostics
    ) -> None:
        self._section: Mapping[str, Json] = section if isinstance(section, dict) else {}
        self._version = version
        self._scope = scope
        self._problems = problems
        self._where = version.dialect.conditions
        self._calls = bind_functions(version.condition_functions, {})
        self._known: dict[str, bool | None] = {}
        self._open: list[str] = []
        self._shapes_only = False
        if not isinstance(section, dict):
            problems.add(
                ValidationPhase.CONDITIONS,
                f"The section {self._where} must be a map.",
                (self._where,),
            )

    def validate_all(self) -> None:
        """Find the mistakes of conditions that nothing uses, too: of those, what
        their functions are given is not judged."""
        self._shapes_only = True
        for name in self._section:
            self._named(name)
        self._shapes_only = False

    def evaluate(self, condition: Json, path: SourcePath) -> bool | None:
        """A condition where it is used: a name, a boolean or a condition function."""
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
                raise self._mistake(f'The condition "{condition}" is not defined{hint}', path)
            decided = self._named(condition)
            if decided is None:
                raise _Undecided
            return decided
        return self._function(condition, path)

    def _named(self, name: str) -> bool | None:
        if name in self._known:
            return self._known[name]
        path = (self._where, name)
        if name in self._open:
            ring = " -> ".join([*self._open[self._open.index(name) :], name])
            self._mistake(f"Circular definition of conditions: {ring}", path)
            return None
        self._open.append(name)
        definition = self._section[name]
        try:
            if isinstance(definition, bool):
                decided: bool | None = definition
            else:
                decided = self._function(definition, path)
        except _Undecided:
            decided = None
        finally:
            self._open.pop()
        if decided is not None or not self._shapes_only:
            self._known[name] = decided
        return decided

    def _function(self, node: Json, path: SourcePath) -> bool:
        if not isinstance(node, dict) or len(node) != 1 or next(iter(node)) not in self._calls:
            self._refuse_foreign(node, path)
            raise self._mistake(
                "A condition must be true, false or a condition function"
                f" ({', '.join(sorted(self._calls))})",
                path,
            )
        result = self._call(node, path)
        if not isinstance(result, bool):
            raise self._mistake(f"The condition gives {result!r}, not true or false", path)
        return result

    def _call(self, node: dict[str, Json], path: SourcePath) -> Json:
        name, raw = next(iter(node.items()))
        _, function = self._calls[name]
        path = (*path, name)
        if name in _OF_CONDITIONS:
            return self._combined(name, function, raw, path)
        arguments = self._value(raw, path)
        try:
            function.check(arguments)
            result = function.evaluate(arguments, self._scope)
        except FunctionError as error:
            if not (self._shapes_only and isinstance(error.error, UserParameterMissing)):
                self._problems.add(ValidationPhase.CONDITIONS, error.error, path)
            raise _Undecided from error
        if result is UNKNOWN or not is_known(result):
            raise _Undecided
        return result

    def _combined(self, name: str, function: Function, raw: Json, path: SourcePath) -> bool:
        try:
            function.check(raw)
        except FunctionError as error:
            raise self._mistake(error.message, path) from error
        if not isinstance(raw, list):
            return not self._condition(raw, path)
        members = [self.evaluate(member, (*path, index)) for index, member in enumerate(raw)]
        # One false member decides "and", one true member "or", whatever the others are.
        if name in _ALL and False in members:
            return False
        if name in _ANY and True in members:
            return True
        if None in members:
            raise _Undecided
        if name in _ALL or name in _ANY:
            return name in _ALL
        if len(members) != 1:
            raise self._mistake("There must be one condition", path)
        return not members[0]

    def _value(self, node: Json, path: SourcePath) -> Json:
        """Arguments that are values: they may hold condition functions again."""
        if isinstance(node, dict):
            if len(node) == 1 and next(iter(node)) in self._calls:
                return self._call(node, path)
            self._refuse_foreign(node, path)
            return {key: self._value(item, (*path, key)) for key, item in node.items()}
        if isinstance(node, list):
            return [self._value(item, (*path, index)) for index, item in enumerate(node)]
        return node

    def _refuse_foreign(self, node: Json, path: SourcePath) -> None:
        if isinstance(node, dict) and len(node) == 1:
            name = next(iter(node))
            if name in self._version.functions or name in self._version.removed_functions:
                raise self._mistake(f'"{name}" cannot be used in conditions', (*path, name))

    def _mistake(self, message: str, path: SourcePath) -> _Undecided:
        self._problems.add(ValidationPhase.CONDITIONS, message, path)
        return _Undecided()
