"""Template to evaluated template to goal: the steps that root and nested stacks share.

Called by the builders of root and nested stacks, by validation and by previews.  The
only place that assembles what a template is evaluated with and the only one that
constructs a goal; it must not know where template, files and environment came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.nested.nested_type import UNKNOWN_VALUE_NAME, replace_unresolved
from heat_convergence.resources.nested.template_cache import content_hash
from heat_convergence.resources.service_lookups import ServiceLookups
from heat_convergence.stacks.services import StackServices
from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import evaluate_template
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.functions.function import UNKNOWN, Function
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any
_LOOKUPS = ServiceLookups()
_UNKNOWN_VALUE_FUNCTION = Function(
    "A value that is not known yet.", lambda _arguments, _scope: UNKNOWN
)


@dataclass(frozen=True, slots=True)
class TemplateInputs:
    """A template with everything that it is evaluated with.

    Attributes:
        files: name to text.
        stack: the stack as the template's pseudo parameters show it.
    """

    template: Template
    environment: Environment
    files: Mapping[str, str]
    stack: StackContext


@dataclass(frozen=True, slots=True)
class GoalInputs:
    """The part of a goal that tells how to evaluate its template again.

    Attributes:
        environment: the sections to store.
        files: name to content hash.
        common_part_hash: hash of environment and files where the parent's goal stores them.
    """

    template_hash: str
    environment: Mapping[str, Json]
    files: Mapping[str, str]
    common_part_hash: str | None = None


class GoalBuilder:
    """The steps from a template to a goal, for one process."""

    def __init__(self, services: StackServices) -> None:
        self.services = services

    def stack_context(
        self, stack: Stack, environment: Environment, facade: Mapping[str, Json] | None = None
    ) -> StackContext:
        """Return the stack as its template sees it.

        Args:
            stack: the stack, stored or not.
            environment: the stack's own, which holds the availability zones.
            facade: metadata and policies of the resource in the parent stack, by section;
                None for a root stack.
        """
        return StackContext(
            stack.id,
            stack.name,
            stack.project_id,
            self.services.options.region,
            facade=facade,
            availability_zones=environment.availability_zones,
        )

    def evaluate(
        self,
        inputs: TemplateInputs,
        *,
        missing_parameters: MissingParameters = MissingParameters.REJECT,
        diagnostics: Diagnostics | None = None,
        functions: Mapping[str, Function] | None = None,
        lookups: ServiceLookups = _LOOKUPS,
    ) -> EvaluatedTemplate:
        """Evaluate everything in the template that does not depend on a resource.

        Args:
            inputs: the template with its environment, files and stack.
            missing_parameters: where they may be missing, the cloud is not asked about
                those that are there.
            diagnostics: collects mistakes; without it the first one is raised.
            functions: the plug-ins' functions unless ``preview_functions``.
            lookups: asks services about the objects that parameters name.
        """
        services, constraints = (
            self.services,
            lookups.constraints(self.services.custom_constraints),
        )
        check_constraints = missing_parameters is MissingParameters.REJECT
        return evaluate_template(
            inputs.template,
            inputs.environment,
            inputs.files,
            inputs.stack,
            EvaluationOptions(
                functions=services.functions if functions is None else functions,
                custom_constraints=constraints if check_constraints else None,
                missing_parameters=missing_parameters,
                diagnostics=diagnostics,
                ignores_properties=partial(self._ignores_properties, inputs.environment),
            ),
        )

    def _ignores_properties(self, environment: Environment, type_name: str, name: str) -> bool:
        implementation = environment.registry.resolve(type_name, name)
        found = self.services.registry.find(implementation)
        return found is not None and found.schema.ignores_properties

    @property
    def preview_functions(self) -> Mapping[str, Function]:
        """The plug-ins' functions and the one for values that are not known yet."""
        return {**self.services.functions, UNKNOWN_VALUE_NAME: _UNKNOWN_VALUE_FUNCTION}

    def template_from_text(self, text: str) -> Template:
        """Return the parsed template, from the process's cache if it is there."""
        key = content_hash(text)
        return self.services.template_cache.template(key, lambda _hashes: {key: text})


def known_facade(definition: ResourceDefinition) -> dict[str, Json]:
    """Return a parent resource's sections as its nested template sees them, by name."""
    return replace_unresolved(
        {
            "metadata": definition.metadata,
            "deletion_policy": definition.deletion_policy,
            "update_policy": definition.update_policy,
        }
    )


def build_goal(
    stack: Stack,
    evaluated: EvaluatedTemplate,
    inputs: GoalInputs,
    *,
    created_at: datetime,
    sensitive: bool,
) -> Goal:
    """Return the goal under the id that the stack names.

    Args:
        stack: the stack with the id and version that the goal gets.
        evaluated: what its template came to.
        inputs: the part to evaluate the template with again.
        created_at: when the goal was requested.
        sensitive: whether values of hidden parameters may be in it.
    """
    return Goal(
        id=stack.goal_id,
        stack_id=stack.id,
        version=stack.version,
        template_hash=inputs.template_hash,
        environment=inputs.environment,
        files=inputs.files,
        common_part_hash=inputs.common_part_hash,
        parameters=evaluated.api_parameters(),
        outputs={name: output.dump() for name, output in evaluated.outputs.items()},
        description=evaluated.description,
        created_at=created_at,
        sensitive=sensitive,
    )
