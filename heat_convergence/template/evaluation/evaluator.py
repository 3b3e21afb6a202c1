"""Evaluation of the sections of a template.

Decides the meaning of resources and outputs, section by section in the order in which
errors are reported.  Called through ``evaluate_template``.  Must not stop at an error,
and must not evaluate calls itself: ``partial_evaluation`` does.

Source: docs/reference/template-language.rst (resource and output rules) and
docs/reference/validation.rst.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    CircularDependencyException,
    InvalidExternalResourceDependency,
    InvalidTemplateReference,
)
from heat_convergence.common.values.packed_map import pack_if_large
from heat_convergence.graph.graph import Graph
from heat_convergence.template.diagnostics import (
    SourcePath,
    ValidationPhase,
    as_sentence,
    did_you_mean,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.conditions import Conditions
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.evaluation.output_definition import (
    DEFAULT_OUTPUT_DESCRIPTION,
    OutputDefinition,
)
from heat_convergence.template.evaluation.partial_evaluation import (
    EvaluationSite,
    PartialEvaluator,
)
from heat_convergence.template.evaluation.references import NO_NAMES, referenced_resources
from heat_convergence.template.evaluation.resource_definition import (
    DELETE,
    EMPTY_SECTION,
    RETAIN,
    ResourceDefinition,
)
from heat_convergence.template.evaluation.scopes import TemplateData, TemplateScope
from heat_convergence.template.evaluation_budget import (
    STEPS_PER_DEPENDENCY,
    STEPS_PER_RESOURCE,
    current_budget,
)
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.function import OMIT
from heat_convergence.template.parameters import parameter_groups, parameter_values
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.parsing.template_versions import TemplateFormat
from heat_convergence.template.template import Template

Json = Any
Value = Any

_PROPERTY_PATH_LENGTH = 4  # section, resource, properties, property
_DEFINITION = EvaluationSite(ValidationPhase.DEFINITIONS, wrap_errors=False)
_OUTPUT = EvaluationSite(ValidationPhase.OUTPUTS, defer_errors=True)


class TemplateEvaluator:
    """Evaluates one template, once."""

    def __init__(
        self,
        template: Template,
        environment: Environment,
        files: Mapping[str, str],
        stack: StackContext,
        options: EvaluationOptions,
    ) -> None:
        self._defer_errors = options.missing_parameters is MissingParameters.ALLOW
        self._template = template
        self._version = template.version
        self._dialect = template.version.dialect
        self._functions = options.functions
        self._ignores_properties = options.ignores_properties
        self._raises = options.diagnostics is None
        collected = options.diagnostics
        self._diagnostics = template.new_diagnostics() if collected is None else collected
        self._budget = current_budget()
        self._budget.location = (self._dialect.parameters,)
        self._schemas = template.parameter_schemas(self._diagnostics)
        values = parameter_values.resolve_parameters(
            self._schemas,
            environment.parameters,
            environment.parameter_defaults,
            checks=parameter_values.ParameterChecks(
                missing_parameters=options.missing_parameters,
                custom_constraints=options.custom_constraints,
                section=self._dialect.parameters,
                declared=template.parameter_names,
            ),
            diagnostics=self._diagnostics,
        )
        names = environment.encrypted_param_names
        self._diagnostics.redact_values(
            each.value for name, each in values.items() if each.schema.hidden or name in names
        )
        self._parameters = values | parameter_values.pseudo_parameters(self._version, stack)
        self._resources = self._section_map(self._dialect.resources)
        self._enabled: dict[str, bool] = {}
        # A cycle of references would keep the template until the next garbage collection.
        this = weakref.proxy(self)
        self._scope = TemplateScope(
            self._budget,
            stack,
            TemplateData(
                parameters=self._parameters,
                files=files,
                mappings=template.section(self._dialect.mappings),
                resources=self._resources,
                invalid_parameters=frozenset(template.parameter_names) - self._schemas.keys(),
            ),
            is_enabled=lambda name: bool(this._is_enabled(name)),
        )
        self._conditions = Conditions(
            template.section(self._dialect.conditions),
            self._version,
            self._scope,
            self._diagnostics,
        )
        self._evaluator = PartialEvaluator(
            self._version,
            self._scope,
            self._diagnostics,
            plugins=options.functions,
            evaluate_condition=self._conditions.evaluate,
        )

    def evaluate(self) -> EvaluatedTemplate:
        """Evaluate all sections; raise the first error unless diagnostics are collected."""
        group_section = self._template.section(self._dialect.parameter_groups)
        parameter_groups.validate_parameter_groups(
            group_section, self._dialect.parameter_groups, self._schemas, self._diagnostics
        )
        self._conditions.validate_all()
        definitions = pack_if_large(
            (name, definition)
            for name, raw in self._resources.items()
            if (definition := self._definition(name, raw)) is not None
        )
        self._check_names()
        outputs = self._outputs()
        self._check_cycle(definitions)
        if self._raises:
            self._diagnostics.raise_if_any()
        return EvaluatedTemplate(
            template=self._template,
            description=self._template.description,
            parameters=self._parameters,
            parameter_groups=tuple(group_section) if isinstance(group_section, list) else (),
            definitions=definitions,
            outputs=outputs,
        )

    def _section_map(self, name: str) -> Mapping[str, Json]:
        section = self._template.section(name)
        if isinstance(section, Mapping):
            return section
        self._report(f'"{name}" must be a map', (name,))
        return {}

    def _report(self, message: str, path: SourcePath) -> None:
        self._diagnostics.add(ValidationPhase.DEFINITIONS, message, path)

    def _is_enabled(self, name: str) -> bool:
        if name not in self._enabled:
            raw = self._resources[name]
            condition = raw.get(self._dialect.condition) if isinstance(raw, dict) else None
            path = (self._dialect.resources, name, self._dialect.condition)
            self._enabled[name] = self._condition_holds(condition, path)
        return self._enabled[name]

    def _condition_holds(self, condition: Json, path: SourcePath) -> bool:
        if condition is None or not self._version.has_conditions:
            return True
        return self._conditions.evaluate(condition, path) is not False

    # -- resources ------------------------------------------------------------

    def _definition(self, name: str, raw: Json) -> ResourceDefinition | None:
        dialect = self._dialect
        path = (dialect.resources, name)
        self._budget.location = path
        self._budget.charge(STEPS_PER_RESOURCE)
        if "/" in name:
            self._report('Resource name may not contain "/"', path)
        if not isinstance(raw, dict):
            text = f'"{dialect.resources}" must contain a map of resource maps.'
            self._report(f"{text} Found a [{type(raw)}] instead", path)
            return None
        self._check_keys(raw, path)
        type_name = raw.get(dialect.type)
        if not isinstance(type_name, str) or not type_name:
            message = f"Each resource must contain a {dialect.type} key."
            if type_name == "":
                message = "Each Resource must contain a Type key."
            elif type_name is not None:
                message = f"Resource {name} {dialect.type} type must be string"
            self._report(message, (*path, dialect.type))
            return None
        if not self._is_enabled(name):
            return None
        self._scope.reads_hidden_parameter = False
        # A validation with missing parameters does not report errors in property values.
        values = EvaluationSite(
            ValidationPhase.RESOURCES,
            prefix="Property error",
            path_length=_PROPERTY_PATH_LENGTH,
            defer_errors=self._defer_errors,
            never_read=self._ignores_properties(type_name, name),
        )
        other_sections = EvaluationSite(
            ValidationPhase.RESOURCES, wrap_errors=False, defer_errors=self._defer_errors
        )
        sections = {
            key: self._map(raw, key, path, values if key == dialect.properties else other_sections)
            for key in (dialect.properties, dialect.metadata, dialect.update_policy)
        }
        external_id = self._external_id(raw, path)
        depends_on = self._depends_on(raw, path)
        if external_id is not None and depends_on:
            self._diagnostics.add(
                ValidationPhase.DEFINITIONS,
                InvalidExternalResourceDependency(
                    f"Invalid dependency with external {type_name} resource: {external_id}"
                ),
                path,
            )
        policy = self._deletion_policy(raw, path)
        referenced_names = referenced_resources(list(sections.values()), self._functions)
        self._budget.charge(STEPS_PER_DEPENDENCY * len(referenced_names))
        return ResourceDefinition(
            name=name,
            type=type_name,
            properties=sections[dialect.properties],
            metadata=sections[dialect.metadata],
            update_policy=sections[dialect.update_policy],
            deletion_policy=RETAIN if external_id is not None else policy,
            external_id=external_id,
            description=self._description(raw, path),
            requires=depends_on | referenced_names if depends_on else referenced_names,
            referenced_names=referenced_names,
            sensitive=self._scope.reads_hidden_parameter,
            depends_on=depends_on,
        )

    def _check_keys(self, raw: dict[str, Json], path: SourcePath) -> None:
        if self._version.template_format is TemplateFormat.CFN:
            return  # CFN templates may have unknown keys.
        for key in raw:
            if key not in self._version.resource_keys:
                hint = did_you_mean(key, self._version.resource_keys)
                text = f'"{key}" is not a valid keyword inside a resource definition{hint}'
                self._report(text, (*path, key))

    def _map(
        self, raw: dict[str, Json], key: str, path: SourcePath, site: EvaluationSite
    ) -> Value:
        """Evaluate a section that is a map, or a call that returns one."""
        content = raw.get(key)
        if content is None:
            return EMPTY_SECTION
        path = (*path, key)
        if not isinstance(content, dict):
            self._report(f"Resource {path[1]} {key} type must be object", path)
            return EMPTY_SECTION
        self._charge_section(content, path)
        evaluated = self._evaluator.evaluate(content, path, site)
        if evaluated is OMIT or evaluated is None:
            return EMPTY_SECTION
        if not isinstance(evaluated, dict | Expression):
            self._report(f"Resource {path[1]} {key} type must be object", path)
            return EMPTY_SECTION
        return evaluated

    def _charge_section(self, content: Json, path: SourcePath) -> None:
        """Account for a part of the template with all its members, before it is evaluated."""
        self._budget.location = path
        self._budget.charge_section(content)

    def _external_id(self, raw: dict[str, Json], path: SourcePath) -> str | None:
        key = self._dialect.external_id
        if key not in self._version.resource_keys or raw.get(key) is None:
            return None
        evaluated = self._evaluator.evaluate(raw[key], (*path, key), _DEFINITION)
        if evaluated is OMIT or evaluated is None:
            return None
        if not isinstance(evaluated, str):
            self._report(f"{key} must be a string that is known at once", (*path, key))
            return None
        return evaluated

    def _deletion_policy(self, raw: dict[str, Json], path: SourcePath) -> str:
        key = self._dialect.deletion_policy
        if raw.get(key) is None:
            return DELETE
        policies = self._version.deletion_policies
        evaluated = self._evaluator.evaluate(raw[key], (*path, key), _DEFINITION)
        if evaluated is OMIT or evaluated is None:
            return DELETE
        if not isinstance(evaluated, str) or evaluated not in policies:
            shown = evaluated if isinstance(evaluated, str) else "value"
            hint = did_you_mean(evaluated, policies) if isinstance(evaluated, str) else ""
            self._report(f'Invalid deletion policy "{shown}"{hint}', (*path, key))
            return DELETE
        return policies[evaluated]

    def _description(self, raw: dict[str, Json], path: SourcePath) -> str:
        description = raw.get(self._dialect.description)
        if isinstance(description, dict | list):
            where = (*path, self._dialect.description)
            self._report("A resource's description must be a string", where)
            return ""
        return "" if description is None else str(description)

    def _depends_on(self, raw: dict[str, Json], path: SourcePath) -> frozenset[str]:
        key = self._dialect.depends_on
        names = raw.get(key)
        path = (*path, key)
        if names is None:
            return NO_NAMES
        names = names if isinstance(names, list) else [names]
        self._budget.location = path
        self._budget.charge(STEPS_PER_DEPENDENCY * len(names))
        found = set()
        for name in names:
            if not isinstance(name, str):
                self._report(f"Resource {path[1]} {key} type must be list or string", path)
            elif name not in self._resources:
                hint = as_sentence(did_you_mean(name, self._resources))
                error = InvalidTemplateReference(name, str(path[1]), hint)
                self._diagnostics.add(ValidationPhase.DEPENDENCIES, error, path)
            elif self._is_enabled(name):
                found.add(name)
        return frozenset(found)

    def _check_names(self) -> None:
        for name in self._schemas:
            if name in self._resources:
                self._diagnostics.add(
                    ValidationPhase.NAME_CONFLICTS,
                    f'"{name}" is the name of a parameter and of a resource',
                    (self._dialect.resources, name),
                )

    def _check_cycle(self, definitions: Mapping[str, ResourceDefinition]) -> None:
        requires = {name: each.requires for name, each in definitions.items() if each.requires}
        cycle = Graph.from_requirements(requires).find_cycle()
        if cycle is not None:
            path = (self._dialect.resources, cycle[0])
            self._diagnostics.add(
                ValidationPhase.DEPENDENCIES, CircularDependencyException(cycle), path
            )

    # -- outputs --------------------------------------------------------------

    def _outputs(self) -> dict[str, OutputDefinition]:
        outputs = {}
        for name, raw in self._section_map(self._dialect.outputs).items():
            output = self._output(name, raw)
            if output is not None:
                outputs[name] = output
        return outputs

    def _report_output(self, message: str, path: SourcePath) -> None:
        prefix = "Output validation error"
        self._diagnostics.add(ValidationPhase.OUTPUTS, message, path, prefix=prefix)

    def _output(self, name: str, raw: Json) -> OutputDefinition | None:
        dialect = self._dialect
        path = (dialect.outputs, name)
        if not isinstance(raw, dict):
            found = type(raw).__name__
            self._report_output(f"Output definitions must be a map. Found a {found} instead", path)
            return None
        if dialect.value not in raw:
            message = f"Each output definition must contain a {dialect.value} key."
            self._report_output(message, path)
            return None
        description = raw.get(dialect.description)
        text = DEFAULT_OUTPUT_DESCRIPTION if description is None else str(description)
        if not self._condition_holds(raw.get(dialect.condition), (*path, dialect.condition)):
            return OutputDefinition(name, None, text, enabled=False)
        self._scope.reads_hidden_parameter = False
        self._charge_section(raw[dialect.value], (*path, dialect.value))
        value = self._evaluator.evaluate(raw[dialect.value], self._budget.location, _OUTPUT)
        shown, sensitive = None if value is OMIT else value, self._scope.reads_hidden_parameter
        return OutputDefinition(name, shown, text, sensitive=sensitive)
