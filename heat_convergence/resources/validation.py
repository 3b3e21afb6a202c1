"""Validation of a template's resources against their types.

Decides whether every resource of an evaluated template could be created: its type exists, and the
type knows its properties, policies and attributes. Called by the api before anything is written,
and by ``POST /validate_properties``. It must not create anything, nor stop at the first mistake:
the template's author sees all of them at once.

Source: docs/reference/validation.rst.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from heat_convergence.common.error_boundary import BoundaryName, ErrorBoundary
from heat_convergence.common.error_log import ErrorLog, ErrorSubject
from heat_convergence.common.errors import (
    Error,
    PropertyUnspecifiedError,
    ResourcePropertyConflict,
    ResourcePropertyDependency,
    ResourcePropertyValueDependency,
    ResourceTypeUnavailable,
    StackValidationFailed,
)
from heat_convergence.resources.deployment_targets import find_misplaced_deployments
from heat_convergence.resources.protocol.properties import (
    CustomChecks,
    PropertyMistake,
    assigned_property_names,
    validate_properties,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.stack_source import StackSource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.resources.service_lookups import Lookup, ServiceLookups
from heat_convergence.template.diagnostics import (
    Diagnostics,
    SourcePath,
    ValidationPhase,
    as_sentence,
    did_you_mean,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import EvaluatedTemplate
from heat_convergence.template.evaluation.references import attribute_references
from heat_convergence.template.evaluation.resource_definition import SNAPSHOT, ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.template.parsing.template_versions import Dialect

Value = Any

PROPERTY_ERROR = "Property error"
_WrongAttribute = tuple[ValidationPhase, str, SourcePath]
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_PASSED_ON = (  # clients receive these unchanged
    PropertyUnspecifiedError,
    ResourcePropertyConflict,
    ResourcePropertyDependency,
    ResourcePropertyValueDependency,
)


class TypeLookup(Protocol):
    """A registry of the resource types that a template may use."""

    def get_for_template(self, name: str) -> ResourceType:
        """Return the type, or raise what keeps templates from using it."""


@dataclass(frozen=True, slots=True)
class ResourceChecks:
    """The parameters of the validation of one template's resources.

    Attributes:
        implementation: Returns the name by which the registry knows the type of a resource, by
            the name of the resource, after the environment's mappings.
        custom: Constraint name → function; None leaves custom constraints, which reach the cloud,
        unchecked.
        functions: The functions that the template may call, to hint at a misspelled call.
        allow_absent_services: True accepts types whose service is not available.
        judges_values: False to check only the names of properties, as a validation does whose
        parameters may be missing.
        stack_source: Returns what a resource of that name sends of the stack to another service;
        None asks no other service.
        errors: The log of unexpected errors of resource types.
        lookups: Asks services about the objects that resources name.
    """

    registry: TypeLookup
    implementation: Callable[[str], str]
    dialect: Dialect
    timeout_s: float | None = None
    custom: CustomChecks | None = None
    functions: Collection[str] = ()
    allow_absent_services: bool = False
    judges_values: bool = True
    stack_source: Callable[[str], StackSource] | None = None
    errors: ErrorLog = field(default_factory=ErrorLog)
    lookups: ServiceLookups = field(default_factory=ServiceLookups)


def validate_template(
    evaluated: EvaluatedTemplate,
    registry: ResourceTypeRegistry,
    environment: Environment,
    *,
    timeout_s: float | None = None,
    custom: CustomChecks | None = None,
) -> None:
    """Validate all resources of a template, and the attributes that outputs read.

    Unresolved references and cycles have been checked by the template's evaluation.

    Raises:
        StackValidationFailed: There is a mistake; the text has all others too, with line and
            column
        where the template has them. The first mistake may raise another error.
    """
    checks = ResourceChecks(
        registry=registry,
        implementation=lambda name: environment.registry.resolve(
            evaluated.definitions[name].type, name
        ),
        dialect=evaluated.template.version.dialect,
        timeout_s=timeout_s,
        custom=custom,
    )
    outputs = {name: output.value for name, output in evaluated.outputs.items()}
    problems = evaluated.template.new_diagnostics()
    check_resources(evaluated.definitions, outputs, checks, problems)
    problems.raise_if_any()


def check_resources(
    definitions: Mapping[str, ResourceDefinition],
    outputs: Mapping[str, Value],
    checks: ResourceChecks,
    problems: Diagnostics,
) -> None:
    """Add every mistake of resources, and of attributes that outputs read, to ``problems``."""
    types = _types(definitions.keys(), checks, problems)
    wrong_attributes: list[_WrongAttribute] = []
    for name, definition in definitions.items():
        if name in types:
            with checks.lookups.of_resource(name):
                _Resource(definition, types[name], checks, problems).check()
        path = (checks.dialect.resources, name)
        for key in ("properties", "metadata", "update_policy"):
            section_path = (*path, getattr(checks.dialect, key))
            wrong_attributes += _wrong_attributes(
                getattr(definition, key), types, section_path, ValidationPhase.RESOURCES
            )
    for name, key, error in find_misplaced_deployments(definitions, types):
        property_path = (checks.dialect.resources, name, checks.dialect.properties, key)
        problems.add(ValidationPhase.RESOURCES, error, property_path, prefix=PROPERTY_ERROR)
    for name, value in outputs.items():
        output_path = (checks.dialect.outputs, name, checks.dialect.value)
        wrong_attributes += _wrong_attributes(value, types, output_path, ValidationPhase.OUTPUTS)
    for wrong in wrong_attributes:
        problems.add(*wrong)


def find_violation(lookups: Iterable[Lookup], errors: ErrorLog) -> str | None:
    """Return the first violation that an answer to collected questions shows."""
    boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, errors)
    answers = (boundary.fail_resource(partial(_ask, each), str) for each in lookups)
    return next((each for each in answers if each is not None), None)


def _ask(lookup: Lookup) -> str | None:
    try:
        answer = lookup()
    except Error as error:
        return str(error)
    return None if answer in (None, True) else str(answer)


def _types(
    names: Collection[str], checks: ResourceChecks, problems: Diagnostics
) -> dict[str, ResourceType]:
    found = {}
    for name in names:
        try:
            resource_type = checks.registry.get_for_template(checks.implementation(name))
            found[name] = _available(resource_type, checks)
        except Error as error:
            path = (checks.dialect.resources, name, checks.dialect.type)
            problems.add(ValidationPhase.DEFINITIONS, error, path)
    return found


def _available(resource_type: ResourceType, checks: ResourceChecks) -> ResourceType:
    try:
        resource_type.check_available()
    except ResourceTypeUnavailable:
        if not checks.allow_absent_services:
            raise
    return resource_type


def _wrong_attributes(
    value: Value, types: Mapping[str, ResourceType], path: SourcePath, phase: ValidationPhase
) -> Iterator[_WrongAttribute]:
    """Yield the wrong attribute references; the template reported those to missing resources."""
    for use in attribute_references(value):
        resource_type = types.get(use.resource)
        name = use.attribute
        if (
            resource_type is not None
            and name is not None
            and not resource_type.schema.has_attribute(name)
            and not (
                phase is ValidationPhase.OUTPUTS
                and resource_type.schema.reports_missing_attributes
            )
        ):
            hint = as_sentence(did_you_mean(name, resource_type.schema.all_attributes))
            text = f"The Referenced Attribute ({use.resource} {name}) is incorrect.{hint}"
            yield phase, text, (*path, *_steps(use.location), use.function)


def _violation(check: Callable[[], None]) -> str | None:
    """Return the text of the mistake that a check raises."""
    try:
        check()
    except (StackValidationFailed, ResourceTypeUnavailable) as error:
        return error.message
    return None


def _steps(where: str) -> SourcePath:
    """Return the path that a location such as ``a.b[0]`` denotes."""
    found = _STEP.finditer(where)
    return tuple(int(step[2]) if step[2] else step[1] for step in found)


@dataclass(frozen=True, slots=True)
class _Resource:
    """One definition and its type."""

    definition: ResourceDefinition
    type: ResourceType
    checks: ResourceChecks
    problems: Diagnostics

    def check(self) -> None:
        """Add the mistakes of the definition."""
        self._check_extension()
        if self.definition.external_id is None:
            self._check_properties()
        else:
            self._check_external(self.definition.external_id)
        self._check_update_policy()
        if self.definition.deletion_policy == SNAPSHOT and not self.type.allows_snapshot_on_delete:
            self._add(
                f'"{SNAPSHOT}" deletion policy not supported by {self.type.name}',
                self._path(self.checks.dialect.deletion_policy),
            )

    def _check_extension(self) -> None:
        # A question that all types asked would have each update read its stack for nothing.
        if self.checks.allow_absent_services or self.type.extension is None:
            return
        violation = self.checks.lookups.ask(
            ("extension", self.type.name), lambda: _violation(self.type.check_extension)
        )
        if isinstance(violation, str):
            error = ResourceTypeUnavailable(violation)
            path = self._path(self.checks.dialect.type)
            self.problems.add(ValidationPhase.DEFINITIONS, error, path)

    def _check_external(self, physical_id: str) -> None:
        if not self.checks.judges_values:
            return
        path = self._path(self.checks.dialect.external_id)
        violation = self.checks.lookups.ask(
            (self.type.name, physical_id),
            lambda: _violation(lambda: self.type.check_external(physical_id)),
        )
        if isinstance(violation, str):
            self.problems.add(ValidationPhase.RESOURCES, violation, path, shows_path=False)

    def _check_properties(self) -> None:
        raw, path = self.definition.properties, self._path(self.checks.dialect.properties)
        known, mistakes = self._read(self.type.schema, raw, path)
        if mistakes or isinstance(raw, Expression) or not self.checks.judges_values:
            return  # the type's own checks may rely on a valid schema
        # RULE 11: third-party code may raise anything.
        boundary = ErrorBoundary(BoundaryName.RESOURCE_TYPE, self.checks.errors)
        boundary.fail_resource(
            lambda: self._validate_values(raw or {}, known, path),
            lambda failure: self._add(failure.message, path),
            ErrorSubject(resource=self.definition.name),
        )

    def _validate_values(
        self, raw: Mapping[str, Value], known: Mapping[str, Value], path: SourcePath
    ) -> None:
        try:
            self.type.validate_property_names(assigned_property_names(self.type.schema, raw))
            self.type.validate(known, self.checks.timeout_s)
            self._validate_remotely(known)
        except _PASSED_ON as error:
            self.problems.add(ValidationPhase.RESOURCES, error, path)
        except StackValidationFailed as error:
            place = (*path, error.path) if error.path else path
            self.problems.add(
                ValidationPhase.RESOURCES, error.message, place, prefix=PROPERTY_ERROR
            )
        except Error as error:
            self._add(f"{type(error).__name__}: {error}", path)

    def _validate_remotely(self, known: Mapping[str, Value]) -> None:
        find_source = self.checks.stack_source
        if find_source is None or self.type.stack_source_property is None:
            return
        source = find_source(self.definition.name)
        violation = self.checks.lookups.ask(
            object(), lambda: _violation(lambda: self.type.validate_remotely(known, source))
        )
        if isinstance(violation, str):
            # Clients match the whole text, so no path is added.
            self.problems.add(ValidationPhase.RESOURCES, violation)

    def _check_update_policy(self) -> None:
        if not self.definition.update_policy and not self.type.schema.update_policy:
            return
        schema = TypeSchema(properties=self.type.schema.update_policy)
        path = self._path(self.checks.dialect.update_policy)
        self._read(schema, self.definition.update_policy, path)

    def _read(
        self, schema: TypeSchema, raw: Value, path: SourcePath
    ) -> tuple[dict[str, Value], list[PropertyMistake]]:
        """Return the known values and the mistakes, which are added to the problems."""
        if isinstance(raw, Expression):
            return {}, []  # a whole map that is not known yet
        known, mistakes = validate_properties(schema, raw or {}, path, custom=self.checks.custom)
        mistakes = [mistake for mistake in mistakes if self._is_checked(mistake)]
        for mistake in mistakes:
            hint = self._misspelled_call(schema, raw, mistake.path[len(path) :])
            self.problems.add(
                ValidationPhase.RESOURCES,
                mistake.message + hint,
                mistake.path,
                prefix=PROPERTY_ERROR,
                source_path=mistake.exact_path,
            )
        return known, mistakes

    def _is_checked(self, mistake: PropertyMistake) -> bool:
        is_unknown_name = mistake.name is not None and not mistake.missing
        return self.checks.judges_values or is_unknown_name

    def _misspelled_call(self, schema: TypeSchema, raw: Value, place: SourcePath) -> str:
        """Return a hint if the value looks like a call of an unknown function."""
        try:
            for part in place:
                raw = raw[part]
        except (LookupError, TypeError):
            return ""
        if not isinstance(raw, Mapping) or len(raw) != 1:
            return ""
        (name,) = raw
        if not place and name in schema.properties:
            return ""
        return did_you_mean(name, self.checks.functions)

    def _path(self, *parts: str) -> SourcePath:
        return (self.checks.dialect.resources, self.definition.name, *parts)

    def _add(self, message: str, path: SourcePath) -> None:
        self.problems.add(ValidationPhase.RESOURCES, message, path)
