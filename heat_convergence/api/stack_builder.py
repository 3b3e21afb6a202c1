"""A source → a goal and what a traversal takes of it; and a stored goal again.

Called by the controllers that write and preview, and, through ``rebuild``, by
whoever rolls a stack back.  The template is evaluated here and nowhere else; what
a goal stores is what a later request, or a rollback, needs to do it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.api import quotas
from heat_convergence.api.requests.stack_body import BodyPurpose
from heat_convergence.api.services import ApiServices
from heat_convergence.api.template_fetcher import RemoteTemplateFetcher
from heat_convergence.api.template_source import (
    StoredGoal,
    TemplateSource,
    TemplateSourceReader,
    with_availability_zones,
)
from heat_convergence.common import errors
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import contents
from heat_convergence.resources.nested.template_cache import TemplateFiles, content_hash
from heat_convergence.stacks import snapshot_data as saving
from heat_convergence.stacks.goal.desired_resources import (
    derive_desired_resources,
    resolve_implementations,
)
from heat_convergence.stacks.goal.nested_validation import (
    NestedStackValidator,
    ValidationResult,
    ValidationTarget,
)
from heat_convergence.template.diagnostics import Diagnostics
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import evaluate_template
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.parameters import parameter_values
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_values import (
    MissingParameters,
    ParameterValue,
    StackContext,
)
from heat_convergence.template.template import Template

_HIDING = ("hidden", "NoEcho")  # what a template says of a parameter
TypeForbidden = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class PreparedStack:
    """A goal that is stored nowhere yet; ``contents`` are texts by their hashes."""

    goal: Goal
    evaluated: EvaluatedTemplate
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    environment: Environment
    files: TemplateFiles


class StackBuilder:
    def __init__(self, services: ApiServices) -> None:
        self._given = services
        self.template_cache = services.template_cache
        self.sources = TemplateSourceReader(services, self.template_cache)

    def check_new_stack(self, source: TemplateSource, stack: Stack) -> None:
        """What of a new stack is looked at before its template is evaluated, in the order
        in which clients expect to be told."""
        source.template.check_sections()
        quotas.check_resource_count(len(source.template.resource_names), self._given.options)
        quotas.check_stack_name(stack.name)

    def prepare(
        self,
        source: TemplateSource,
        stack: Stack,
        is_type_forbidden: TypeForbidden,
        *,
        replaced_goal: StoredGoal | None = None,
    ) -> PreparedStack:
        """Evaluates and validates; ``is_type_forbidden`` says which types policy keeps from
        the caller, ``before`` is the goal that an update replaces.  The new one has the
        id that the stack names.

        Raises what heat-facts ``validation.md`` says.
        """
        quotas.check_resource_count(len(source.template.resource_names), self._given.options)
        problems = source.template.new_diagnostics()
        evaluated = self.evaluate(source, stack, diagnostics=problems)
        quotas.check_name_lengths(evaluated.definitions)
        implementations = resolve_implementations(evaluated.definitions, source.environment)
        for name in sorted({*implementations.values()}):
            if is_type_forbidden(name):
                raise errors.Forbidden(f"You are not authorized to use {name}.")
        files = self.template_files(source)
        checked = self.validate(evaluated, source, files, stack, problems, is_type_forbidden)
        problems.raise_if_any()
        quotas.check_resource_count(checked.resource_count, self._given.options)
        if replaced_goal is not None:
            self._check_immutable(replaced_goal, stack, evaluated)
        source = with_availability_zones(replace(source, files={**source.files, **files.fetched}))
        wanted = derive_desired_resources(
            evaluated, source.environment, files, self._given.registry
        )
        contents = {content_hash(text): text for text in (source.text, *source.files.values())}
        goal = self._goal(source, stack, evaluated)
        return PreparedStack(goal, evaluated, wanted, contents, source.environment, files)

    def evaluate(
        self,
        source: TemplateSource,
        stack: Stack,
        *,
        missing_parameters: MissingParameters = MissingParameters.REJECT,
        diagnostics: Diagnostics | None = None,
    ) -> EvaluatedTemplate:
        """Mistakes are raised, or added to ``problems``."""
        return evaluate_template(
            source.template,
            source.environment,
            source.files,
            self._facts(stack, source.environment),
            EvaluationOptions(
                functions=self._given.functions,
                custom_constraints=self._constraints(missing_parameters),
                missing_parameters=missing_parameters,
                diagnostics=diagnostics,
            ),
        )

    def validate(
        self,
        evaluated: EvaluatedTemplate,
        source: TemplateSource,
        files: TemplateFiles,
        stack: Stack,
        diagnostics: Diagnostics,
        is_type_forbidden: TypeForbidden = lambda _name: False,
        *,
        allow_absent_services: bool = False,
        missing_parameters: MissingParameters = MissingParameters.REJECT,
    ) -> ValidationResult:
        """Finds resources that their types could not make, here and in the stacks behind
        them; ``allow_absent_services``: types whose service is not there are right."""
        minutes, given = stack.timeout_mins, self._given
        facades = NestedStackValidator(
            registry=given.registry,
            template_cache=self.template_cache,
            stack_context=self._facts(stack, source.environment),
            max_depth=given.options.max_nested_stack_depth,
            timeout_s=minutes * 60.0 if minutes else given.settings.action_timeout_s,
            custom_constraints=self._constraints(missing_parameters),
            functions=given.functions,
            is_type_forbidden=is_type_forbidden,
            allow_absent_services=allow_absent_services,
            missing_parameters=missing_parameters,
        )
        level = ValidationTarget(evaluated, source.environment, files, stack.depth)
        return facades.validate(level, diagnostics)

    def template_files(self, source: TemplateSource) -> TemplateFiles:
        """Those that came with the request; templates from elsewhere when asked for."""
        return TemplateFiles.from_texts(
            source.files, self.template_cache, RemoteTemplateFetcher(self._given)
        )

    def _constraints(
        self, missing: MissingParameters
    ) -> Mapping[str, CustomConstraintFunction] | None:
        """Where values may be missing, the cloud is not asked about those that are there."""
        return self._given.custom_constraints if missing is MissingParameters.REJECT else None

    def load_replaced_goal(self, conn: Any, stack: Stack, use: BodyPurpose) -> StoredGoal | None:
        """The goal that an update is to replace; None where its rows or its texts are lost,
        which an update with a template mends.  Only a PATCH asks for its files."""
        if use is BodyPurpose.PATCH:
            return self.load_goal(conn, stack)
        try:
            goal = replace(_goal(conn, stack), files={})
            return _with_texts(goal, contents.get_contents(conn, _hashes(goal)))
        except errors.RowsContradict:
            return None

    def load_goal(self, conn: Any, stack: Stack) -> StoredGoal:
        """The stack's goal with its texts."""
        goal = _goal(conn, stack)
        return _with_texts(goal, contents.get_contents(conn, _hashes(goal)))

    def source_from_snapshot(self, stored: StoredGoal, saved: Snapshot) -> TemplateSource:
        """What a snapshot goes back to: the source of then, with the properties that
        bring back what resources saved."""
        source = self.sources.from_stored_goal(stored)
        below = saving.restored_nested_properties(saved, self._given.registry)
        if below:
            registry = source.environment.registry.with_restored_properties(below)
            source = replace(source, environment=replace(source.environment, registry=registry))
        changed = saving.restored_template(source.template, saved, self._given.registry)
        if changed is None:
            return source
        template = Template.parse(changed, limits=self._given.limits)
        return replace(source, template=template, text=json.dumps(changed, ensure_ascii=False))

    def rebuild(self, tx: Transaction, stack: Stack, goal: Goal) -> Mapping[str, DesiredResource]:
        """A stored goal's definitions: ``convergence.rollback.DefinitionRebuilder``."""
        source = self.sources.from_stored_goal(_with_texts(goal, tx.contents.get(_hashes(goal))))
        evaluated = self.evaluate(source, stack)
        files = TemplateFiles.from_texts(source.files, self.template_cache)
        return derive_desired_resources(evaluated, source.environment, files, self._given.registry)

    def _check_immutable(
        self, before: StoredGoal, stack: Stack, evaluated: EvaluatedTemplate
    ) -> None:
        if any(value.schema.immutable for value in evaluated.parameters.values()):
            values = self._values(self.sources.from_stored_goal(before))
            parameter_values.check_immutable_parameters(values, evaluated.parameters)

    @staticmethod
    def _values(source: TemplateSource) -> dict[str, ParameterValue]:
        return parameter_values.resolve_parameters(
            source.template.parameters,
            source.environment.parameters,
            source.environment.parameter_defaults,
            checks=parameter_values.ParameterChecks(missing_parameters=MissingParameters.ALLOW),
            diagnostics=source.template.new_diagnostics(),
        )

    def _facts(self, stack: Stack, environment: Environment) -> StackContext:
        return StackContext(
            stack.id,
            stack.name,
            stack.project_id,
            self._given.options.region,
            availability_zones=environment.availability_zones,
        )

    def _goal(self, source: TemplateSource, stack: Stack, evaluated: EvaluatedTemplate) -> Goal:
        return Goal(
            id=stack.goal_id,
            stack_id=stack.id,
            version=stack.version,
            template_hash=content_hash(source.text),
            environment=source.environment.to_stored(),
            files={name: content_hash(text) for name, text in source.files.items()},
            parameters=evaluated.api_parameters(),
            outputs={name: output.dump() for name, output in evaluated.outputs.items()},
            description=evaluated.description,
            created_at=self._given.clock(),
            sensitive=_may_hold_secrets(source, evaluated),
        )


def _may_hold_secrets(source: TemplateSource, evaluated: EvaluatedTemplate) -> bool:
    """Whether what was given is to be sealed: rather too often than not at all, for
    templates among the files may hide parameters that an environment sets."""
    if source.environment.encrypted_param_names:
        return True
    if any(value.schema.hidden for value in evaluated.parameters.values()):
        return True
    return any(mark in text for text in source.files.values() for mark in _HIDING)


def _goal(conn: Any, stack: Stack) -> Goal:
    goal = SqlGoalRepository(conn).get(stack.goal_id)
    if goal is None:
        raise errors.RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
    return goal


def _hashes(goal: Goal) -> set[str]:
    return {goal.template_hash, *goal.files.values()}


def _with_texts(goal: Goal, texts: Mapping[str, str]) -> StoredGoal:
    files = {name: texts[key] for name, key in goal.files.items()}
    return StoredGoal(goal, texts[goal.template_hash], files)
