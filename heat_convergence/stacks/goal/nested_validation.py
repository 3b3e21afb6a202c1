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
from heat_convergence.resources.nested.nested_type import (
    UNKNOWN_VALUE_NAME,
    NestedStackRequest,
    NestedType,
    replace_unresolved,
)
from heat_convergence.resources.nested.template_cache import (
    TemplateCache,
    TemplateFiles,
    content_hash,
)
from heat_convergence.resources.nested.template_resource import TemplateResource
from heat_convergence.resources.protocol.properties import CustomChecks, known_properties
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import PropertyType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.resources.validation import PROPERTY_ERROR, ResourceChecks, check_resources
from heat_convergence.stacks.goal.desired_resources import resolve_implementations
from heat_convergence.stacks.goal.nested_builder import nested_validation_error
from heat_convergence.template.diagnostics import (
    Diagnostic,
    Diagnostics,
    ValidationPhase,
    format_path,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.resource_registry import is_template_name
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import evaluate_template
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.evaluation.references import attribute_references
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.function import NO_FUNCTIONS, UNKNOWN, Function
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any
_MOST_TOLD = 20  # mistakes of one nested template
_THERE = " there)"
UNKNOWN_VALUE_FUNCTION = Function(
    "A value that is not known yet.", lambda _arguments, _scope: UNKNOWN
)


class TemplateTypeRegistry:
    """A registry in which templates have the schema that they stand for."""

    def __init__(
        self,
        registry: ResourceTypeRegistry,
        files: TemplateFiles,
        given: Collection[str] | None = (),
    ) -> None:
        """``given`` are parameters that no resource need set; None: all."""
        self._registry = registry
        self._files = files
        self._given = given
        self._made: dict[str, TemplateResource] = {}

    def get_for_template(self, name: str) -> ResourceType:
        """As ``Registry.get_for_template``; raises what is wrong with a template, too."""
        if not is_template_name(name):
            return self._registry.get_for_template(name)
        if name not in self._made:
            try:
                template = self._files.template(name)
                given = template.parameter_names if self._given is None else self._given
                self._made[name] = TemplateResource.for_template(template, given)
            except Error as error:
                too_much = isinstance(error, RequestLimitExceeded)
                kind = RequestLimitExceeded if too_much else StackValidationFailed
                raise kind(f"{error.message} (of {name})") from error
        return self._made[name]


@dataclass(frozen=True, slots=True)
class ValidationTarget:
    """One stack of the tree: what it is made of, and how deep it lies."""

    evaluated: EvaluatedTemplate
    environment: Environment
    files: TemplateFiles
    depth: int = 0


@dataclass(frozen=True, slots=True)
class ValidatedNestedStack:
    """The template behind a resource, as far as it could be evaluated, with those behind
    its own resources; by resource name."""

    resource_type: str
    evaluated: EvaluatedTemplate
    nested: Mapping[str, ValidatedNestedStack]


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """``count`` resources there are, here and below; ``nested`` is by resource name."""

    resource_count: int
    nested: Mapping[str, ValidatedNestedStack]


@dataclass(slots=True)
class NestedStackValidator:
    """Checks the tree below one root; ``is_type_forbidden`` are types that policy keeps from
    the caller.  ``max_depth`` negative: without limit.  ``allow_absent_services`` as in
    ``ResourceChecks``.  Where parameters may be missing, values are not judged that calls give."""

    registry: ResourceTypeRegistry
    template_cache: TemplateCache
    stack_context: StackContext
    max_depth: int
    timeout_s: float | None = None
    custom_constraints: CustomChecks | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    is_type_forbidden: Callable[[str], bool] = lambda _name: False
    allow_absent_services: bool = False
    missing_parameters: MissingParameters = MissingParameters.REJECT
    _known: dict[str, _Looked] = field(default_factory=dict)

    def validate(self, level: ValidationTarget, diagnostics: Diagnostics) -> ValidationResult:
        """Adds every mistake of the resources here and below."""
        types = TemplateTypeRegistry(self.registry, level.files, self._given(level.environment))
        self._check_here(level, types, diagnostics)
        return self._check_below(level, types, diagnostics)

    def _given(self, environment: Environment) -> Collection[str] | None:
        if self.missing_parameters is MissingParameters.ALLOW:
            return None
        return {
            name for name, value in environment.parameter_defaults.items() if value is not None
        }

    def _check_below(
        self, level: ValidationTarget, types: TemplateTypeRegistry, problems: Diagnostics
    ) -> ValidationResult:
        total = len(level.evaluated.definitions)
        nested: dict[str, ValidatedNestedStack] = {}
        implementations = resolve_implementations(level.evaluated.definitions, level.environment)
        section = level.evaluated.template.version.dialect.resources
        for name, definition in level.evaluated.definitions.items():
            try:
                kind = types.get_for_template(implementations[name])
            except Error:
                continue  # told with the resources
            if not isinstance(kind, NestedType):
                continue
            ask = _ask(definition, implementations[name], kind, level)
            self._check_facade(ask, kind, (section, name), problems)
            looked = self._below(definition, ask, kind, level)
            total += looked.count
            if looked.evaluated is not None:
                nested[name] = ValidatedNestedStack(
                    definition.type, looked.evaluated, looked.nested
                )
            for each in looked.told:
                path = (section, f"{name}{kind.error_path_suffix(ask)}", *each.path)
                problems.add(
                    ValidationPhase.RESOURCES,
                    each.message,
                    path,
                    prefix=each.prefix,
                    source_path=(section, name),
                )
        return ValidationResult(total, nested)

    def _check_here(
        self, level: ValidationTarget, types: TemplateTypeRegistry, problems: Diagnostics
    ) -> None:
        evaluated = level.evaluated
        version = evaluated.template.version
        implementations = resolve_implementations(evaluated.definitions, level.environment)
        for name in sorted({*implementations.values()}):
            if self.is_type_forbidden(name):
                raise Forbidden(f"You are not authorized to use {name}.")
        checks = ResourceChecks(
            registry=types,
            implementation=lambda definition: implementations[definition.name],
            dialect=version.dialect,
            functions=frozenset(version.functions) | self.functions.keys(),
            timeout_s=self.timeout_s,
            custom=self.custom_constraints,
            allow_absent_services=self.allow_absent_services,
            source_resources=self._written(evaluated),
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
        self,
        definition: ResourceDefinition,
        ask: NestedStackRequest,
        resource_type: NestedType,
        level: ValidationTarget,
    ) -> _Looked:
        if 0 <= self.max_depth <= level.depth:
            message = f"RequestLimitExceeded: Stacks are nested at most {self.max_depth} deep"
            return _Looked([_Told((), message)])
        try:
            source = resource_type.validation_source(ask)
        except Error as error:
            return _Looked([_told(error)])
        if source is None:
            return _Looked([])
        child = level.environment.for_nested_stack(ask.name, source.parameters)
        facade = replace_unresolved(
            {
                "metadata": definition.metadata,
                "deletion_policy": definition.deletion_policy,
                "update_policy": definition.update_policy,
            }
        )
        entries = [child.registry.entries, dict(child.parameters), facade]
        text = json.dumps(entries, sort_keys=True, default=str)
        key = f"{level.depth} {content_hash(source.text)} {content_hash(text)}"
        if key not in self._known:
            self._known[key] = self._look(source.text, child, level, facade)
        known = self._known[key]
        return replace(known, count=known.count * resource_type.member_count(ask))

    def _look(
        self, text: str, environment: Environment, level: ValidationTarget, facade: dict[str, Json]
    ) -> _Looked:
        key = content_hash(text)
        try:
            template = self.template_cache.template(key, lambda _hashes: {key: text})
            problems = template.new_diagnostics()
            evaluated = evaluate_template(
                template,
                _without_absent(template, environment),
                level.files,
                replace(self.stack_context, id=None, facade=facade),
                EvaluationOptions(
                    functions={**self.functions, UNKNOWN_VALUE_NAME: UNKNOWN_VALUE_FUNCTION},
                    custom_constraints=self.custom_constraints,
                    missing_parameters=self.missing_parameters,
                    diagnostics=problems,
                ),
            )
        except Forbidden:
            raise
        except Error as error:
            return _Looked([_told(error)])
        below = ValidationTarget(evaluated, environment, level.files, level.depth + 1)
        checked = self.validate(below, problems)
        written = template if key in level.files.hashes.values() else None
        told = [_below(each, written) for each in problems.sorted_by_phase()[:_MOST_TOLD]]
        return _Looked(told, checked.resource_count, evaluated, checked.nested)

    def _written(self, evaluated: EvaluatedTemplate) -> Mapping[str, Json] | None:
        if self.missing_parameters is MissingParameters.REJECT:
            return None
        template = evaluated.template
        found: Mapping[str, Json] = template.section(template.version.dialect.resources)
        return found

    def _check_facade(
        self,
        ask: NestedStackRequest,
        resource_type: NestedType,
        path: tuple[str, ...],
        problems: Diagnostics,
    ) -> None:
        """A template in the place of a type that there is must look like it."""
        real = None if is_template_name(ask.type) else self.registry.find(ask.type)
        if real is None or not is_template_name(ask.implementation):
            return
        where = (path[0], f"{path[1]}{resource_type.error_path_suffix(ask)}")
        for message in facade_errors(real, resource_type, ask.type):
            problems.add(ValidationPhase.RESOURCES, message, where)


def _check_reads(
    value: Json,
    implementations: Mapping[str, str],
    checks: ResourceChecks,
    where: tuple[str, ...],
    problems: Diagnostics,
) -> None:
    for use in attribute_references(value):
        if use.attribute is None or use.resource not in implementations:
            continue
        try:
            kind = checks.registry.get_for_template(implementations[use.resource])
        except Error:
            continue  # told already
        try:
            if isinstance(kind, NestedType):
                kind.check_attribute_path(use.attribute, use.path)
        except Error as error:
            problems.add(ValidationPhase.OUTPUTS, error, where)


@dataclass(frozen=True, slots=True)
class _Told:
    path: tuple[str | int, ...]
    message: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What one nested template gave; ``evaluate`` None where there was none to look at."""

    told: list[_Told]
    count: int = 0
    evaluated: EvaluatedTemplate | None = None
    nested: Mapping[str, ValidatedNestedStack] = field(default_factory=dict)


def _told(error: Error) -> _Told:
    found = nested_validation_error(error, "")
    head, message = "", found.message
    if message.startswith(f"{PROPERTY_ERROR}: "):
        head, message = PROPERTY_ERROR, message.removeprefix(f"{PROPERTY_ERROR}: ")
    path = found.path.lstrip(".")
    return _Told((path,) if path else (), message, head)


def _without_absent(template: Template, environment: Environment) -> Environment:
    """With ``MISSING_REFERENCES`` for the parameters whose absence is told as that of
    properties."""
    absent = {
        name: UNKNOWN
        for name, schema in template.parameter_schemas(template.new_diagnostics()).items()
        if schema.default is None
        and environment.parameters.get(name) is None
        and environment.parameter_defaults.get(name) is None
    }
    return replace(environment, parameters={**environment.parameters, **absent})


def _below(problem: Diagnostic, template: Template | None) -> _Told:
    """A nested template's mistake, with the place in that template if somebody wrote it."""
    prefix = PROPERTY_ERROR if problem.location.startswith(PROPERTY_ERROR) else ""
    path = problem.location.removeprefix(prefix).removeprefix(": ") or format_path(
        problem.source_path
    )
    message, kind = problem.error.message, type(problem.error)
    if kind is not StackValidationFailed:
        message = f"{kind.__name__}: {message}"
    position = None
    if template is not None and problem.source_path and not message.endswith(_THERE):
        position = template.document.find_position(problem.source_path)
    if position is not None:
        message = f"{message} (line {position[0]}, column {position[1]}{_THERE}"
    return _Told((path,) if path else (), message, prefix)


def _ask(
    definition: ResourceDefinition,
    implementation: str,
    resource_type: NestedType,
    level: ValidationTarget,
) -> NestedStackRequest:
    raw = definition.properties
    given = {} if isinstance(raw, Expression) else dict(raw or {})
    known = {**given, **known_properties(resource_type.schema, given)}
    return NestedStackRequest(
        name=definition.name,
        type=definition.type,
        implementation=implementation,
        properties=known,
        definition=definition.dump(),
        data={},
        environment=level.environment,
        files=level.files,
    )


def facade_errors(real: ResourceType, provider: ResourceType, facade: str) -> list[str]:
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
            given = provider.facade_property_types.get(name, given)
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


def _plain(property_type: PropertyType) -> PropertyType:
    return PropertyType.NUMBER if property_type is PropertyType.INTEGER else property_type
