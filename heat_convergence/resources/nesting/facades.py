"""Nested stacks held against their templates before anything is made.

Decides whether the stacks behind a template's resources could be made, all the way
down.  Called by the API with the root's evaluated template.  A template that occurs
many times with the same values is checked once; what is not known before resources
exist is left to engines.

Source: heat-facts ``validation.md`` and ``events_and_states.md`` ("facade").
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import (
    Error,
    Forbidden,
    RequestLimitExceeded,
    StackValidationFailed,
)
from heat_convergence.resources.nesting.child import placed
from heat_convergence.resources.nesting.kinds import LATER, Ask, NestedType, known_or_unknown
from heat_convergence.resources.nesting.parsed import Files, Parsed, hash_of
from heat_convergence.resources.nesting.template import TemplateResource
from heat_convergence.resources.nesting.wanting import implementations_of
from heat_convergence.resources.plugin import ResourceType
from heat_convergence.resources.properties import CustomChecks, known_properties
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.schema import PropertyType
from heat_convergence.resources.validation import PROPERTY_ERROR, Checks, check_resources
from heat_convergence.template.definition import Definition
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import build
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.base import NO_FUNCTIONS, UNKNOWN, Function
from heat_convergence.template.parameter_values import Missing, StackFacts
from heat_convergence.template.problems import Phase, Problem, Problems, path_text
from heat_convergence.template.registry import is_template
from heat_convergence.template.template import Template
from heat_convergence.template.uses import attribute_uses

Json = Any
_MOST_TOLD = 20  # mistakes of one nested template
_THERE = " there)"
NOT_YET = Function("A value that is not known yet.", lambda _arguments, _scope: UNKNOWN)


class Types:
    """A registry in which templates have the schema that they stand for."""

    def __init__(
        self, registry: Registry, files: Files, given: Collection[str] | None = ()
    ) -> None:
        """``given`` are parameters that no resource need set; None: all."""
        self._registry = registry
        self._files = files
        self._given = given
        self._made: dict[str, TemplateResource] = {}

    def in_template(self, name: str) -> ResourceType:
        """As ``Registry.in_template``; raises what is wrong with a template, too."""
        if not is_template(name):
            return self._registry.in_template(name)
        if name not in self._made:
            try:
                template = self._files.template(name)
                given = template.parameter_names if self._given is None else self._given
                self._made[name] = TemplateResource.of(template, given)
            except Error as error:
                too_much = isinstance(error, RequestLimitExceeded)
                kind = RequestLimitExceeded if too_much else StackValidationFailed
                raise kind(f"{error.message} (of {name})") from error
        return self._made[name]


@dataclass(frozen=True, slots=True)
class Level:
    """One stack of the tree: what it is made of, and how deep it lies."""

    evaluated: EvaluatedTemplate
    environment: Environment
    files: Files
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Nested:
    """The template behind a resource, as far as it could be evaluated, with those behind
    its own resources; by resource name."""

    type: str
    evaluated: EvaluatedTemplate
    nested: Mapping[str, Nested]


@dataclass(frozen=True, slots=True)
class Checked:
    """``count`` resources there are, here and below; ``nested`` is by resource name."""

    count: int
    nested: Mapping[str, Nested]


@dataclass(slots=True)
class Facades:
    """Checks the tree below one root; ``forbidden`` are types that policy keeps from
    the caller.  ``max_depth`` negative: without limit.  ``absent_services`` as in
    ``Checks``.  Where parameters may be missing, values are not judged that calls give."""

    registry: Registry
    parsed: Parsed
    facts: StackFacts
    max_depth: int
    timeout_s: float | None = None
    custom: CustomChecks | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    forbidden: Callable[[str], bool] = lambda _name: False
    absent_services: bool = False
    missing: Missing = Missing.REFUSE
    _known: dict[str, _Looked] = field(default_factory=dict)

    def check(self, level: Level, problems: Problems) -> Checked:
        """Adds every mistake of the resources here and below."""
        types = Types(self.registry, level.files, self._given(level.environment))
        self._check_here(level, types, problems)
        return self._check_below(level, types, problems)

    def _given(self, environment: Environment) -> Collection[str] | None:
        if self.missing is Missing.ALLOW:
            return None
        return {
            name for name, value in environment.parameter_defaults.items() if value is not None
        }

    def _check_below(self, level: Level, types: Types, problems: Problems) -> Checked:
        total = len(level.evaluated.definitions)
        nested: dict[str, Nested] = {}
        implementations = implementations_of(level.evaluated.definitions, level.environment)
        section = level.evaluated.template.version.dialect.resources
        for name, definition in level.evaluated.definitions.items():
            try:
                kind = types.in_template(implementations[name])
            except Error:
                continue  # told with the resources
            if not isinstance(kind, NestedType):
                continue
            ask = _ask(definition, implementations[name], kind, level)
            self._check_facade(ask, kind, (section, name), problems)
            looked = self._below(definition, ask, kind, level)
            total += looked.count
            if looked.evaluated is not None:
                nested[name] = Nested(definition.type, looked.evaluated, looked.nested)
            for each in looked.told:
                path = (section, f"{name}{kind.where(ask)}", *each.path)
                problems.add(
                    Phase.RESOURCES, each.message, path, prefix=each.prefix, place=(section, name)
                )
        return Checked(total, nested)

    def _check_here(self, level: Level, types: Types, problems: Problems) -> None:
        evaluated = level.evaluated
        version = evaluated.template.version
        implementations = implementations_of(evaluated.definitions, level.environment)
        for name in sorted({*implementations.values()}):
            if self.forbidden(name):
                raise Forbidden(f"You are not authorized to use {name}.")
        checks = Checks(
            registry=types,
            implementation=lambda definition: implementations[definition.name],
            dialect=version.dialect,
            functions=frozenset(version.functions) | self.functions.keys(),
            timeout_s=self.timeout_s,
            custom=self.custom,
            absent_services=self.absent_services,
            written=self._written(evaluated),
        )
        outputs = {name: output.value for name, output in evaluated.outputs.items()}
        check_resources(evaluated.definitions, outputs, checks, problems)
        for name, output in outputs.items():
            _check_reads(output, implementations, checks, (checks.dialect.outputs, name), problems)
        for name, definition in evaluated.definitions.items():
            values = [definition.properties, definition.metadata]
            where = (checks.dialect.resources, name)
            _check_reads(values, implementations, checks, where, problems)

    def _below(
        self, definition: Definition, ask: Ask, kind: NestedType, level: Level
    ) -> _Looked:
        if 0 <= self.max_depth <= level.depth:
            message = f"RequestLimitExceeded: Stacks are nested at most {self.max_depth} deep"
            return _Looked([_Told((), message)])
        try:
            source = kind.sample(ask)
        except Error as error:
            return _Looked([_told(error)])
        if source is None:
            return _Looked([])
        child = level.environment.for_child(ask.name, source.parameters)
        facade = known_or_unknown(
            {
                "metadata": definition.metadata,
                "deletion_policy": definition.deletion_policy,
                "update_policy": definition.update_policy,
            }
        )
        entries = [child.registry.entries, dict(child.parameters), facade]
        text = json.dumps(entries, sort_keys=True, default=str)
        key = f"{level.depth} {hash_of(source.text)} {hash_of(text)}"
        if key not in self._known:
            self._known[key] = self._look(source.text, child, level, facade)
        known = self._known[key]
        return replace(known, count=known.count * kind.size(ask))

    def _look(
        self, text: str, environment: Environment, level: Level, facade: dict[str, Json]
    ) -> _Looked:
        key = hash_of(text)
        try:
            template = self.parsed.template(key, lambda _hashes: {key: text})
            problems = template.problems()
            evaluated = build(
                template,
                _without_absent(template, environment),
                level.files,
                replace(self.facts, id=None, facade=facade),
                functions={**self.functions, LATER: NOT_YET},
                custom_constraints=self.custom,
                missing=self.missing,
                problems=problems,
            )
        except Forbidden:
            raise
        except Error as error:
            return _Looked([_told(error)])
        below = Level(evaluated, environment, level.files, level.depth + 1)
        checked = self.check(below, problems)
        written = template if key in level.files.hashes.values() else None
        told = [_below(each, written) for each in problems.ordered()[:_MOST_TOLD]]
        return _Looked(told, checked.count, evaluated, checked.nested)

    def _written(self, evaluated: EvaluatedTemplate) -> Mapping[str, Json] | None:
        if self.missing is Missing.REFUSE:
            return None
        template = evaluated.template
        found: Mapping[str, Json] = template.section(template.version.dialect.resources)
        return found

    def _check_facade(
        self, ask: Ask, kind: NestedType, path: tuple[str, ...], problems: Problems
    ) -> None:
        """A template in the place of a type that there is must look like it."""
        real = None if is_template(ask.type) else self.registry.find(ask.type)
        if real is None or not is_template(ask.implementation):
            return
        where = (path[0], f"{path[1]}{kind.where(ask)}")
        for message in facade_mistakes(real, kind, ask.type):
            problems.add(Phase.RESOURCES, message, where)


def _check_reads(
    value: Json,
    implementations: Mapping[str, str],
    checks: Checks,
    where: tuple[str, ...],
    problems: Problems,
) -> None:
    for use in attribute_uses(value):
        if use.attribute is None or use.resource not in implementations:
            continue
        try:
            kind = checks.registry.in_template(implementations[use.resource])
        except Error:
            continue  # told already
        try:
            if isinstance(kind, NestedType):
                kind.check_read(use.attribute, use.path)
        except Error as error:
            problems.add(Phase.OUTPUTS, error, where)


@dataclass(frozen=True, slots=True)
class _Told:
    path: tuple[str | int, ...]
    message: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What one nested template gave; ``evaluated`` None where there was none to look at."""

    told: list[_Told]
    count: int = 0
    evaluated: EvaluatedTemplate | None = None
    nested: Mapping[str, Nested] = field(default_factory=dict)


def _told(error: Error) -> _Told:
    found = placed(error, "")
    head, message = "", found.message
    if message.startswith(f"{PROPERTY_ERROR}: "):
        head, message = PROPERTY_ERROR, message.removeprefix(f"{PROPERTY_ERROR}: ")
    path = found.path.lstrip(".")
    return _Told((path,) if path else (), message, head)


def _without_absent(template: Template, environment: Environment) -> Environment:
    """With ``UNKNOWN`` for the parameters whose absence is told as that of properties."""
    absent = {
        name: UNKNOWN
        for name, schema in template.schemas(template.problems()).items()
        if schema.default is None
        and environment.parameters.get(name) is None
        and environment.parameter_defaults.get(name) is None
    }
    return replace(environment, parameters={**environment.parameters, **absent})


def _below(problem: Problem, template: Template | None) -> _Told:
    """A nested template's mistake, with the place in that template if somebody wrote it."""
    prefix = PROPERTY_ERROR if problem.label.startswith(PROPERTY_ERROR) else ""
    path = problem.label.removeprefix(prefix).removeprefix(": ") or path_text(problem.place)
    message, kind = problem.error.message, type(problem.error)
    if kind is not StackValidationFailed:
        message = f"{kind.__name__}: {message}"
    position = None
    if template is not None and problem.place and not message.endswith(_THERE):
        position = template.document.position(problem.place)
    if position is not None:
        message = f"{message} (line {position[0]}, column {position[1]}{_THERE}"
    return _Told((path,) if path else (), message, prefix)


def _ask(definition: Definition, implementation: str, kind: NestedType, level: Level) -> Ask:
    raw = definition.properties
    given = {} if isinstance(raw, Expression) else dict(raw or {})
    known = {**given, **known_properties(kind.schema, given)}
    return Ask(
        name=definition.name,
        type=definition.type,
        implementation=implementation,
        properties=known,
        definition=definition.dump(),
        data={},
        environment=level.environment,
        files=level.files,
    )


def facade_mistakes(real: ResourceType, provider: ResourceType, facade: str) -> list[str]:
    """What a template lacks, or asks too much, in the place of ``real``."""
    mine = provider.schema
    told = []
    for name, wanted in real.schema.properties.items():
        if name not in mine.properties:
            if wanted.required:
                told.append(f"Required property {name} for facade {facade} missing in provider")
            continue
        given = mine.properties[name].type
        if isinstance(provider, TemplateResource):
            given = provider.facade_types.get(name, given)
        if PropertyType.ANY not in (given, wanted.type) and _plain(given) != _plain(wanted.type):
            told.append(f"Property {name} type mismatch between facade {facade}"
                        f" ({wanted.type}) and provider ({given})")  # fmt: skip
    for name, extra in mine.properties.items():
        if extra.required and name not in real.schema.properties:
            told.append(f"Provider requires property {name} unknown in facade {facade}")
    for name in real.schema.attributes:
        if name not in mine.attributes:
            told.append(f"Attribute {name} for facade {facade} missing in provider")
    return told


def _plain(kind: PropertyType) -> PropertyType:
    return PropertyType.NUMBER if kind is PropertyType.INTEGER else kind

