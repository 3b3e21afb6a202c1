"""The sections of a template, evaluated in the order in which clients are told.

Decides what a resource's or an output's statement means.  Called through
``evaluate.build``.  Must not stop at a mistake, and must not evaluate calls itself:
``folding`` does.

Source: heat-facts ``template_functions.json`` (rules of definitions and outputs) and
``validation.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import (
    CircularDependencyException,
    InvalidExternalResourceDependency,
    InvalidTemplateReference,
)
from heat_convergence.graph.graph import Graph
from heat_convergence.template.diagnostics import (
    Diagnostics,
    SourcePath,
    ValidationPhase,
    did_you_mean,
    format_path,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.conditions import Conditions
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.output_definition import (
    DEFAULT_OUTPUT_DESCRIPTION,
    OutputDefinition,
)
from heat_convergence.template.evaluation.partial_evaluation import (
    EvaluationSite,
    PartialEvaluator,
)
from heat_convergence.template.evaluation.references import referenced_resources
from heat_convergence.template.evaluation.resource_definition import (
    DELETE,
    RETAIN,
    ResourceDefinition,
)
from heat_convergence.template.evaluation.scopes import TemplateScope
from heat_convergence.template.expression import Expression
from heat_convergence.template.functions.function import OMIT, Function
from heat_convergence.template.parameters import parameter_groups, parameter_values
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.parsing.template_versions import TemplateFormat
from heat_convergence.template.template import Template

Json = Any
Value = Any

_DEFINITION = EvaluationSite(ValidationPhase.DEFINITIONS, wrap_errors=False)
_OUTPUT = EvaluationSite(ValidationPhase.OUTPUTS, defer_errors=True)


@dataclass(frozen=True, slots=True)
class Extensions:
    """What plug-ins add, by name, and how a missing parameter is taken."""

    functions: Mapping[str, Function]
    custom_constraints: Mapping[str, CustomConstraintFunction] | None
    missing_parameters: MissingParameters
    diagnostics: Diagnostics | None = None  # where mistakes go, instead of being raised


class TemplateEvaluator:
    """Evaluates one template; used once."""

    def __init__(
        self,
        template: Template,
        environment: Environment,
        files: Mapping[str, str],
        stack: StackContext,
        additions: Extensions,
    ) -> None:
        self._defer = additions.missing_parameters is MissingParameters.ALLOW
        self._template = template
        self._version = template.version
        self._words = template.version.dialect
        self._functions = additions.functions
        self._raises = additions.diagnostics is None
        collected = additions.diagnostics
        self._problems = template.new_diagnostics() if collected is None else collected
        self._schemas = template.parameter_schemas(self._problems)
        given = parameter_values.resolve_parameters(
            self._schemas,
            environment.parameters,
            environment.parameter_defaults,
            missing_parameters=additions.missing_parameters,
            custom_constraints=additions.custom_constraints,
            diagnostics=self._problems,
            section=self._words.parameters,
            declared=template.parameter_names,
        )
        named = environment.encrypted_param_names
        self._problems.redact_values(
            each.value for name, each in given.items() if each.schema.hidden or name in named
        )
        self._parameters = given | parameter_values.pseudo_parameters(self._version, stack)
        self._resources = self._section_map(self._words.resources)
        self._enabled: dict[str, bool] = {}
        self._scope = TemplateScope(
            template.limits,
            stack,
            parameters=self._parameters,
            files=files,
            mappings=template.section(self._words.mappings),
            resources=self._resources,
            is_enabled=self._is_enabled,
            invalid_parameters=frozenset(template.parameter_names) - self._schemas.keys(),
        )
        self._conditions = Conditions(
            template.section(self._words.conditions), self._version, self._scope, self._problems
        )
        self._folder = PartialEvaluator(
            self._version,
            self._scope,
            self._problems,
            plugins=additions.functions,
            evaluate_condition=self._conditions.evaluate,
        )

    def evaluate(self) -> EvaluatedTemplate:
        """Raises the first mistake's error, unless somebody collects them."""
        group_section = self._template.section(self._words.parameter_groups)
        parameter_groups.validate_parameter_groups(
            group_section, self._words.parameter_groups, self._schemas, self._problems
        )
        self._conditions.validate_all()
        definitions = {}
        for name, raw in self._resources.items():
            definition = self._definition(name, raw)
            if definition is not None and self._is_enabled(name):
                definitions[name] = definition
        self._check_names()
        outputs = self._outputs()
        self._check_ring(definitions)
        if self._raises:
            self._problems.raise_if_any()
        return EvaluatedTemplate(
            template=self._template,
            description=self._template.description,
            parameters=self._parameters,
            parameter_groups=tuple(group_section) if isinstance(group_section, list) else (),
            definitions=definitions,
            outputs=outputs,
        )

    def _section_map(self, name: str) -> dict[str, Json]:
        section = self._template.section(name)
        if isinstance(section, dict):
            return section
        self._mistake(f'"{name}" must be a map', (name,))
        return {}

    def _mistake(self, message: str, path: SourcePath) -> None:
        self._problems.add(ValidationPhase.DEFINITIONS, message, path)

    def _is_enabled(self, name: str) -> bool:
        if name not in self._enabled:
            raw = self._resources[name]
            condition = raw.get(self._words.condition) if isinstance(raw, dict) else None
            path = (self._words.resources, name, self._words.condition)
            self._enabled[name] = self._holds(condition, path)
        return self._enabled[name]

    def _holds(self, condition: Json, path: SourcePath) -> bool:
        if condition is None or not self._version.has_conditions:
            return True
        return self._conditions.evaluate(condition, path) is not False

    # -- resources ------------------------------------------------------------

    def _definition(self, name: str, raw: Json) -> ResourceDefinition | None:
        words = self._words
        path = (words.resources, name)
        if "/" in name:
            self._mistake('A resource name must not contain "/"', path)
        if not isinstance(raw, dict):
            self._mistake("A resource must be a map", path)
            return None
        self._check_keys(raw, path)
        type_name = raw.get(words.type)
        if not isinstance(type_name, str) or not type_name:
            told = "is missing" if type_name is None else "must be a string that is not empty"
            self._mistake(f"The resource's {words.type} {told}", (*path, words.type))
            return None
        if not self._is_enabled(name):
            return None
        self._scope.reset_size()
        self._scope.reads_hidden_parameter = False
        # A validation with values missing does not judge what properties come to.
        values = EvaluationSite(
            ValidationPhase.RESOURCES, prefix="Property error", defer_errors=self._defer
        )
        others = EvaluationSite(
            ValidationPhase.RESOURCES, wrap_errors=False, defer_errors=self._defer
        )
        sections = {
            key: self._map(raw, key, path, values if key == words.properties else others)
            for key in (words.properties, words.metadata, words.update_policy)
        }
        external_id = self._external_id(raw, path)
        depends_on = self._depends_on(raw, path)
        if external_id is not None and depends_on:
            self._problems.add(
                ValidationPhase.DEFINITIONS,
                InvalidExternalResourceDependency(
                    f"Invalid dependency with external resource {name}:"
                    f" {words.depends_on} is given."
                ),
                path,
            )
        policy = self._deletion_policy(raw, path)
        referenced_names = referenced_resources(list(sections.values()), self._functions)
        return ResourceDefinition(
            name=name,
            type=type_name,
            properties=sections[words.properties],
            metadata=sections[words.metadata],
            update_policy=sections[words.update_policy],
            deletion_policy=RETAIN if external_id is not None else policy,
            external_id=external_id,
            description=self._description(raw, path),
            requires=depends_on | referenced_names,
            referenced_names=referenced_names,
            sensitive=self._scope.reads_hidden_parameter,
        )

    def _check_keys(self, raw: dict[str, Json], path: SourcePath) -> None:
        if self._version.template_format is TemplateFormat.CFN:
            return  # unknown keys are accepted there
        for key in raw:
            if key not in self._version.resource_keys:
                hint = did_you_mean(key, self._version.resource_keys)
                self._mistake(f'"{key}" is not a valid keyword inside a resource{hint}',
                              (*path, key))  # fmt: skip

    def _map(
        self, raw: dict[str, Json], key: str, path: SourcePath, place: EvaluationSite
    ) -> Value:
        """A section that is a map, or as a whole a call that gives one."""
        content = raw.get(key)
        if content is None:
            return {}
        path = (*path, key)
        if not isinstance(content, dict):
            self._mistake(f"The resource's {key} must be a map", path)
            return {}
        folded = self._folder.evaluate(content, path, place)
        if folded is OMIT or folded is None:
            return {}
        if not isinstance(folded, dict | Expression):
            self._mistake(f"The resource's {key} must be a map", path)
            return {}
        return folded

    def _external_id(self, raw: dict[str, Json], path: SourcePath) -> str | None:
        key = self._words.external_id
        if key not in self._version.resource_keys or raw.get(key) is None:
            return None
        folded = self._folder.evaluate(raw[key], (*path, key), _DEFINITION)
        if folded is OMIT or folded is None:
            return None
        if not isinstance(folded, str):
            self._mistake(f"{key} must be a string that is known at once", (*path, key))
            return None
        return folded

    def _deletion_policy(self, raw: dict[str, Json], path: SourcePath) -> str:
        key = self._words.deletion_policy
        if raw.get(key) is None:
            return DELETE
        policies = self._version.deletion_policies
        folded = self._folder.evaluate(raw[key], (*path, key), _DEFINITION)
        if folded is OMIT or folded is None:
            return DELETE
        if not isinstance(folded, str) or folded not in policies:
            shown = folded if isinstance(folded, str) else "what is given"
            hint = did_you_mean(folded, policies) if isinstance(folded, str) else ""
            self._mistake(f'Invalid deletion policy "{shown}"{hint}', (*path, key))
            return DELETE
        return policies[folded]

    def _description(self, raw: dict[str, Json], path: SourcePath) -> str:
        description = raw.get(self._words.description)
        if isinstance(description, dict | list):
            where = (*path, self._words.description)
            self._mistake("A resource's description must be a string", where)
            return ""
        return "" if description is None else str(description)

    def _depends_on(self, raw: dict[str, Json], path: SourcePath) -> frozenset[str]:
        key = self._words.depends_on
        named = raw.get(key)
        path = (*path, key)
        if named is None:
            return frozenset()
        names = named if isinstance(named, list) else [named]
        found = set()
        for name in names:
            if not isinstance(name, str):
                self._mistake(f"{key} must be a string or a list of strings", path)
            elif name not in self._resources:
                hint = did_you_mean(name, self._resources)
                error = InvalidTemplateReference(name, format_path(path), hint)
                self._problems.add(ValidationPhase.DEPENDENCIES, error, path)
            elif self._is_enabled(name):
                found.add(name)
        return frozenset(found)

    def _check_names(self) -> None:
        for name in self._schemas:
            if name in self._resources:
                self._problems.add(
                    ValidationPhase.NAME_CONFLICTS,
                    f'"{name}" is the name of a parameter and of a resource',
                    (self._words.resources, name),
                )

    def _check_ring(self, definitions: Mapping[str, ResourceDefinition]) -> None:
        graph = Graph.from_requirements(
            {name: definition.requires for name, definition in definitions.items()}
        )
        ring = graph.find_cycle()
        if ring is not None:
            path = (self._words.resources, ring[0])
            self._problems.add(
                ValidationPhase.DEPENDENCIES, CircularDependencyException(ring), path
            )

    # -- outputs --------------------------------------------------------------

    def _outputs(self) -> dict[str, OutputDefinition]:
        outputs = {}
        for name, raw in self._section_map(self._words.outputs).items():
            output = self._output(name, raw)
            if output is not None:
                outputs[name] = output
        return outputs

    def _output(self, name: str, raw: Json) -> OutputDefinition | None:
        words = self._words
        path = (words.outputs, name)
        if not isinstance(raw, dict):
            self._problems.add(ValidationPhase.OUTPUTS, "An output must be a map", path)
            return None
        if words.value not in raw:
            self._problems.add(ValidationPhase.OUTPUTS, f"The output has no {words.value}", path)
            return None
        description = raw.get(words.description)
        text = DEFAULT_OUTPUT_DESCRIPTION if description is None else str(description)
        if not self._holds(raw.get(words.condition), (*path, words.condition)):
            return OutputDefinition(name, None, text, enabled=False)
        self._scope.reset_size()
        self._scope.reads_hidden_parameter = False
        value = self._folder.evaluate(raw[words.value], (*path, words.value), _OUTPUT)
        return OutputDefinition(
            name,
            None if value is OMIT else value,
            text,
            sensitive=self._scope.reads_hidden_parameter,
        )
