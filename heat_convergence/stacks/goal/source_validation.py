"""The validation of a root stack's source, with its nested stacks.

Called by the builder of root stacks. Decides which checks a source passes, in which order, and
which objects services are asked about: an update does not ask about objects that only resources
without a job name, and so asks nothing if nothing changes. Must not write anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.service_lookups import DeferredLookups, LookupMap
from heat_convergence.resources.validation import find_violation
from heat_convergence.stacks import quotas
from heat_convergence.stacks.goal.desired_resources import derive_desired_resources
from heat_convergence.stacks.goal.drift_patterns import check_drift_patterns
from heat_convergence.stacks.goal.goal_builder import GoalBuilder, TemplateInputs
from heat_convergence.stacks.goal.kept_resources import (
    UpdateBase,
    find_kept_names,
    have_same_parameters,
)
from heat_convergence.stacks.goal.nested_validation import NestedStackValidator
from heat_convergence.stacks.goal.validation_target import (
    ValidationOptions,
    ValidationResult,
    ValidationTarget,
)
from heat_convergence.stacks.source.template_fetcher import RemoteTemplateFetcher
from heat_convergence.stacks.source.template_source import (
    StoredGoal,
    TemplateSource,
    TemplateSourceReader,
    with_availability_zones,
)
from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation_budget import request_budget
from heat_convergence.template.parameters import parameter_values
from heat_convergence.template.parameters.parameter_values import (
    MissingParameters,
    ParameterChecks,
    ParameterValue,
)


@dataclass(frozen=True, slots=True)
class ValidatedSource:
    """A source without mistakes.

    Attributes:
        source: the source with the templates that were fetched for it.
        files: files of the whole tree.
    """

    source: TemplateSource
    evaluated: EvaluatedTemplate
    files: TemplateFiles
    desired_resources: Mapping[str, DesiredResource]


@dataclass(frozen=True, slots=True)
class _Validation:
    """A source after its checks, with the mistakes that they have found."""

    source: TemplateSource
    target: ValidationTarget
    diagnostics: Diagnostics
    result: ValidationResult


class SourceValidator:
    """The validation of sources; one per process."""

    def __init__(self, goal_builder: GoalBuilder, sources: TemplateSourceReader) -> None:
        self._goal_builder = goal_builder
        self._services = goal_builder.services
        self._sources = sources

    def validate(
        self,
        source: TemplateSource,
        stack: Stack,
        options: ValidationOptions,
        base: UpdateBase | None = None,
    ) -> ValidatedSource:
        """Validate the source of a goal.

        Args:
            source: template, files and environment.
            stack: the stack, with the id that the goal gets.
            options: what the request decides.
            base: the state that an update starts from.

        Raises:
            Error: the first mistake, in the order in which clients expect it.
        """
        if base is not None:
            found = self._validate_update(source, stack, options, base)
            if found is not None:
                return found
        return self._finished(self._checked(source, stack, options))

    def _validate_update(
        self, source: TemplateSource, stack: Stack, options: ValidationOptions, base: UpdateBase
    ) -> ValidatedSource | None:
        """Return the validated source of an update, None if anything in it is wrong.

        Then all checks are made once more, so that the error has the mistakes in their order.
        """
        lookups = DeferredLookups()
        # The checks before the answers of services count apart from those that may follow.
        with request_budget(self._services.limits):
            checked = self._checked(source, stack, replace(options, lookups=lookups))
        if checked.diagnostics:
            return None
        validated = self._finished(checked)
        needed = self._needed(lookups, validated, stack, base) if lookups else {}
        if find_violation(needed.values(), self._services.errors) is None:
            return validated
        return None

    def _needed(
        self, lookups: DeferredLookups, validated: ValidatedSource, stack: Stack, base: UpdateBase
    ) -> LookupMap:
        """Return the questions about what the update changes.

        Parameters are left out if neither they nor any resource changes.
        """
        kept = find_kept_names(
            base.load_rows(base.part_names),
            validated.desired_resources,
            stack,
            base.state_source,
            self._services.clock(),
        )
        of_resources = lookups.of_resources(kept)
        of_parameters = lookups.of_parameters()
        if of_parameters and kept == validated.desired_resources.keys():
            before = {} if base.goal is None else self._parameter_values(base.goal)
            if have_same_parameters(before, validated.evaluated.parameters):
                return of_resources
        return {**of_parameters, **of_resources}

    def _checked(
        self, source: TemplateSource, stack: Stack, options: ValidationOptions
    ) -> _Validation:
        diagnostics = source.template.new_diagnostics()
        evaluated = self.evaluate(source, stack, options, diagnostics=diagnostics)
        quotas.check_name_lengths(evaluated.definitions)
        files = self._template_files(source)
        target = ValidationTarget.from_evaluated(evaluated, source.environment, files, stack.depth)
        check_drift_patterns(
            source.environment.registry,
            source.template.resource_names,
            target.implementations,
            self._services.registry,
        )
        result = self._validator(source, stack, options).validate(target, diagnostics)
        return _Validation(source, target, diagnostics, result)

    def _finished(self, checked: _Validation) -> ValidatedSource:
        checked.diagnostics.raise_if_any()
        quotas.check_resource_count(checked.result.resource_count, self._services.options)
        target, source = checked.target, checked.source
        source = with_availability_zones(
            replace(source, files={**source.files, **target.files.fetched})
        )
        desired_resources = derive_desired_resources(
            target.evaluated,
            source.environment,
            target.files,
            self._services.registry,
            implementations=target.implementations,
        )
        return ValidatedSource(source, target.evaluated, target.files, desired_resources)

    def validate_template(
        self, source: TemplateSource, stack: Stack, *, allow_absent_services: bool
    ) -> tuple[EvaluatedTemplate, ValidationResult]:
        """Validate a template whose parameters may be missing.

        Args:
            source: template, files and environment of the request.
            stack: a stack that is stored nowhere, for the pseudo parameters.
            allow_absent_services: whether to accept types whose service is absent.
        """
        diagnostics = source.template.new_diagnostics()
        options = ValidationOptions(
            allow_absent_services=allow_absent_services,
            missing_parameters=MissingParameters.ALLOW,
        )
        evaluated = self.evaluate(source, stack, options, diagnostics=diagnostics)
        files = self._template_files(source)
        target = ValidationTarget.from_evaluated(evaluated, source.environment, files, stack.depth)
        result = self._validator(source, stack, options).validate(target, diagnostics)
        diagnostics.raise_if_any()
        return evaluated, result

    def evaluate(
        self,
        source: TemplateSource,
        stack: Stack,
        options: ValidationOptions | None = None,
        *,
        diagnostics: Diagnostics | None = None,
    ) -> EvaluatedTemplate:
        """Evaluate a source's template; without ``diagnostics`` the first error is raised."""
        options = options or ValidationOptions()
        context = self._goal_builder.stack_context(stack, source.environment)
        return self._goal_builder.evaluate(
            TemplateInputs(source.template, source.environment, source.files, context),
            missing_parameters=options.missing_parameters,
            diagnostics=diagnostics,
            lookups=options.lookups,
        )

    def _validator(
        self, source: TemplateSource, stack: Stack, options: ValidationOptions
    ) -> NestedStackValidator:
        return NestedStackValidator(
            goal_builder=self._goal_builder,
            stack_context=self._goal_builder.stack_context(stack, source.environment),
            timeout_s=self._services.action_timeout_s(stack.timeout_mins),
            options=options,
        )

    def _template_files(self, source: TemplateSource) -> TemplateFiles:
        """Return the request's files; templates from URLs are fetched when they are used."""
        return TemplateFiles.from_texts(
            source.files, self._services.template_cache, RemoteTemplateFetcher(self._services)
        )

    def check_immutable_parameters(
        self, replaced_goal: StoredGoal, evaluated: EvaluatedTemplate
    ) -> None:
        """Check that parameters that must keep their values do.

        Raises:
            ImmutableParameterModified: one of them has another value.
        """
        if any(value.schema.immutable for value in evaluated.parameters.values()):
            before = self._parameter_values(replaced_goal)
            parameter_values.check_immutable_parameters(before, evaluated.parameters)

    def _parameter_values(self, goal: StoredGoal) -> dict[str, ParameterValue]:
        source = self._sources.from_stored_goal(goal)
        return parameter_values.resolve_parameters(
            source.template.parameter_schemas(source.template.new_diagnostics()),
            source.environment.parameters,
            source.environment.parameter_defaults,
            checks=ParameterChecks(missing_parameters=MissingParameters.ALLOW),
            diagnostics=source.template.new_diagnostics(),
        )
