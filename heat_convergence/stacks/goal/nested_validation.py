"""The validation of a template and of the nested stacks below it, before any exists.

Decides whether the nested stacks of a template could be created, all the way down.
Called by the builder of root stacks with the root's evaluated template.  A template that
occurs many times with the same values is checked once; values that are not known before
resources exist are left to engines.

Source: docs/reference/validation.rst and events-and-states.rst.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import Error, Forbidden
from heat_convergence.resources.nested.nested_type import (
    NestedStackRequest,
    NestedType,
)
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.resources.protocol.properties import known_properties
from heat_convergence.resources.protocol.stack_source import StackSource
from heat_convergence.resources.service_lookups import LookupMap
from heat_convergence.resources.validation import (
    PROPERTY_ERROR,
    ResourceChecks,
    check_resources,
)
from heat_convergence.stacks.goal.facades import (
    TemplateTypeRegistry,
    facade_errors,
    nested_environment,
)
from heat_convergence.stacks.goal.goal_builder import (
    GoalBuilder,
    TemplateInputs,
    known_facade,
)
from heat_convergence.stacks.goal.level_checks import (
    check_attribute_paths,
    find_stabilization_error,
    shorter_timeout_s,
)
from heat_convergence.stacks.goal.nested_errors import (
    NestedError,
    nested_error,
    nested_error_from_diagnostic,
)
from heat_convergence.stacks.goal.validation_target import (
    ValidatedNestedStack,
    ValidationOptions,
    ValidationResult,
    ValidationTarget,
)
from heat_convergence.template.diagnostics import Diagnostic, Diagnostics, ValidationPhase
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.function import UNKNOWN
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any
_MAX_NESTED_ERRORS = 20  # of one nested template


@dataclass(slots=True)
class NestedStackValidator:
    """The validation of one tree.

    Attributes:
        stack_context: the root stack as templates see it.
        timeout_s: how long an action of the root stack may take; None if that is not known.
    """

    goal_builder: GoalBuilder
    stack_context: StackContext
    timeout_s: float | None
    options: ValidationOptions
    _checked: dict[str, _NestedResult] = field(default_factory=dict)

    def validate(self, target: ValidationTarget, diagnostics: Diagnostics) -> ValidationResult:
        """Add every mistake of the stack's resources and of its descendants' to ``diagnostics``.

        Raises:
            Forbidden: policy keeps a type from the caller.
        """
        types = TemplateTypeRegistry(
            self.goal_builder.services.registry,
            target.files,
            self._preset_parameters(target.environment),
        )
        self._check_resources(target, types, diagnostics)
        return self._check_nested_stacks(target, types, diagnostics)

    def _preset_parameters(self, environment: Environment) -> Collection[str] | None:
        if self.options.missing_parameters is MissingParameters.ALLOW:
            return None
        defaults = environment.parameter_defaults
        return {name for name, value in defaults.items() if value is not None}

    def _check_resources(
        self, target: ValidationTarget, types: TemplateTypeRegistry, diagnostics: Diagnostics
    ) -> None:
        for name in sorted({*target.implementations.values()}):
            if self.options.is_type_forbidden(name):
                raise Forbidden(f"You are not authorized to use {name}.")
        evaluated, checks = target.evaluated, self._resource_checks(target, types)
        outputs = {name: output.value for name, output in evaluated.outputs.items()}
        check_resources(evaluated.definitions, outputs, checks, diagnostics)
        if not self._has_nested_stacks(target, types):
            return
        for name, output in outputs.items():
            path = (checks.dialect.outputs, name)
            check_attribute_paths(output, target.implementations, types, path, diagnostics)
        for name, definition in evaluated.definitions.items():
            values = [definition.properties, definition.metadata]
            path = (checks.dialect.resources, name)
            check_attribute_paths(values, target.implementations, types, path, diagnostics)

    def _has_nested_stacks(self, target: ValidationTarget, types: TemplateTypeRegistry) -> bool:
        for implementation in set(target.implementations.values()):
            with suppress(Error):  # reported with the resources
                if isinstance(types.get_for_template(implementation), NestedType):
                    return True
        return False

    def _resource_checks(
        self, target: ValidationTarget, types: TemplateTypeRegistry
    ) -> ResourceChecks:
        version, services = target.evaluated.template.version, self.goal_builder.services
        lookups = self.options.lookups
        constrained = self.options.missing_parameters is MissingParameters.REJECT
        return ResourceChecks(
            registry=types,
            implementation=target.implementations.__getitem__,
            dialect=version.dialect,
            functions=frozenset(version.functions) | services.functions.keys(),
            timeout_s=self.timeout_s,
            custom=lookups.constraints(services.custom_constraints) if constrained else None,
            allow_absent_services=self.options.allow_absent_services,
            judges_values=constrained,
            stack_source=lambda name: StackSource(
                target.files, target.environment.for_remote_stack(name)
            ),
            errors=services.errors,
            lookups=lookups,
        )

    def _check_nested_stacks(
        self, target: ValidationTarget, types: TemplateTypeRegistry, diagnostics: Diagnostics
    ) -> ValidationResult:
        resource_count = len(target.evaluated.definitions)
        nested: dict[str, ValidatedNestedStack] = {}
        definitions = target.evaluated.definitions
        for name in definitions:
            try:
                resource_type = types.get_for_template(target.implementations[name])
            except Error:
                continue  # reported with the resources
            if isinstance(resource_type, NestedType):
                with self.options.lookups.of_resource(name):
                    definition = definitions[name]
                    result = self._check_nested_stack(
                        definition, resource_type, target, diagnostics
                    )
                resource_count += result.resource_count
                if result.evaluated is not None:
                    nested[name] = ValidatedNestedStack(
                        definition.type, result.evaluated, result.nested
                    )
            else:
                self._check_stabilization(name, target, diagnostics)
        return ValidationResult(resource_count, nested)

    def _check_stabilization(
        self, name: str, target: ValidationTarget, diagnostics: Diagnostics
    ) -> None:
        """Check the window of a resource, once the timeout of the stack is known."""
        timeout_s = target.timeout_s or self.timeout_s
        if timeout_s is None or self.options.missing_parameters is MissingParameters.ALLOW:
            return
        message = find_stabilization_error(target.environment.registry, name, timeout_s)
        if message is not None:
            path = (target.evaluated.template.version.dialect.resources, name)
            diagnostics.add(ValidationPhase.RESOURCES, message, path)

    def _check_nested_stack(
        self,
        definition: ResourceDefinition,
        resource_type: NestedType,
        target: ValidationTarget,
        diagnostics: Diagnostics,
    ) -> _NestedResult:
        request = _nested_stack_request(definition, resource_type, target)
        section = target.evaluated.template.version.dialect.resources
        location = f"{definition.name}{resource_type.error_path_suffix(request)}"
        for message in self._facade_errors(request, resource_type):
            where = (section, definition.name)
            diagnostics.add(ValidationPhase.RESOURCES, message, (), source_path=where)
        result = self._validate_nested(definition, request, resource_type, target)
        for error in result.errors:
            diagnostics.add(
                ValidationPhase.RESOURCES,
                error.message,
                (section, location, *error.path),
                prefix=error.prefix,
                source_path=(section, definition.name),
            )
        return result

    def _facade_errors(self, request: NestedStackRequest, resource_type: NestedType) -> list[str]:
        """Return what keeps a template from standing in for a type that exists."""
        registry = self.goal_builder.services.registry
        real = None if is_template_name(request.type) else registry.find(request.type)
        if real is None or not is_template_name(request.implementation):
            return []
        return facade_errors(real, resource_type, request.type)

    def _validate_nested(
        self,
        definition: ResourceDefinition,
        request: NestedStackRequest,
        resource_type: NestedType,
        target: ValidationTarget,
    ) -> _NestedResult:
        max_depth = self.goal_builder.services.options.max_nested_stack_depth
        if 0 <= max_depth <= target.depth:
            message = f"Request limit exceeded: Recursion depth exceeds {max_depth}."
            return _NestedResult([NestedError((), message, "RequestLimitExceeded")])
        try:
            source = resource_type.validation_source(request)
        except Error as error:
            return _NestedResult([nested_error(error)])
        if source is None:
            return _NestedResult([])
        environment = nested_environment(
            request, source.parameters, self.goal_builder.services.registry
        )
        facade = known_facade(definition)
        target = replace(
            target, timeout_s=shorter_timeout_s(target.timeout_s or self.timeout_s, source)
        )
        key = _validation_key(target, source.text, environment, facade)
        lookups = self.options.lookups
        if key not in self._checked:
            with lookups.collect() as found:
                result = self._validate_text(source.text, environment, target, facade)
            self._checked[key] = replace(result, lookups=found)
        result = self._checked[key]
        lookups.add(result.lookups)
        return replace(
            result, resource_count=result.resource_count * resource_type.member_count(request)
        )

    def _validate_text(
        self,
        text: str,
        environment: Environment,
        target: ValidationTarget,
        facade: dict[str, Json],
    ) -> _NestedResult:
        try:
            template = self.goal_builder.template_from_text(text)
            diagnostics = template.new_diagnostics()
            inputs = TemplateInputs(
                template,
                with_unknown_parameters(template, environment),
                target.files,
                replace(self.stack_context, id=None, facade=facade),
            )
            evaluated = self.goal_builder.evaluate(
                inputs,
                missing_parameters=self.options.missing_parameters,
                diagnostics=diagnostics,
                functions=self.goal_builder.preview_functions,
                lookups=self.options.lookups,
            )
        except Forbidden:
            raise
        except Error as error:
            return _NestedResult([nested_error(error)])
        nested_target = ValidationTarget.from_evaluated(
            evaluated, environment, target.files, target.depth + 1
        )
        nested_target = replace(nested_target, timeout_s=target.timeout_s)
        result = self.validate(nested_target, diagnostics)
        written = template if content_hash(text) in target.files.hashes.values() else None
        problems = [each for each in diagnostics.sorted_by_phase() if self._is_reported(each)]
        errors = [
            nested_error_from_diagnostic(each, written) for each in problems[:_MAX_NESTED_ERRORS]
        ]
        return _NestedResult(errors, result.resource_count, evaluated, result.nested)

    def _is_reported(self, problem: Diagnostic) -> bool:
        """Return whether to report a mistake: no value is judged while others are missing."""
        if self.options.missing_parameters is MissingParameters.REJECT:
            return True
        is_value = problem.phase is ValidationPhase.PARAMETERS or problem.prefix == PROPERTY_ERROR
        return not is_value


@dataclass(frozen=True, slots=True)
class _NestedResult:
    """The validation of one nested template.

    Attributes:
        evaluated: None where there was no template.
        lookups: what services are still to be asked about it.
    """

    errors: list[NestedError]
    resource_count: int = 0
    evaluated: EvaluatedTemplate | None = None
    nested: Mapping[str, ValidatedNestedStack] = field(default_factory=dict)
    lookups: LookupMap = field(default_factory=dict)


def _validation_key(
    parent: ValidationTarget, text: str, environment: Environment, facade: Mapping[str, Json]
) -> str:
    values = [environment.registry.entries, dict(environment.parameters), facade]
    return (
        f"{parent.depth} {parent.timeout_s} {content_hash(text)}"
        f" {content_hash(json.dumps(values, sort_keys=True, default=str))}"
    )


def with_unknown_parameters(template: Template, environment: Environment) -> Environment:
    """Return the environment with unknown values for parameters that are missing.

    Their absence is reported as that of properties.
    """
    missing = {
        name: UNKNOWN
        for name, schema in template.parameter_schemas(template.new_diagnostics()).items()
        if schema.default is None
        and environment.parameters.get(name) is None
        and environment.parameter_defaults.get(name) is None
    }
    return replace(environment, parameters={**environment.parameters, **missing})


def _nested_stack_request(
    definition: ResourceDefinition, resource_type: NestedType, target: ValidationTarget
) -> NestedStackRequest:
    raw = definition.properties
    properties = {} if isinstance(raw, Expression) else dict(raw or {})
    policy = known_facade(definition)["update_policy"]
    return NestedStackRequest(
        name=definition.name,
        type=definition.type,
        implementation=target.implementations[definition.name],
        properties={**properties, **known_properties(resource_type.schema, properties)},
        definition=definition.dump(),
        data={},
        environment=target.environment,
        files=target.files,
        update_policy=policy if isinstance(policy, Mapping) else {},
    )
