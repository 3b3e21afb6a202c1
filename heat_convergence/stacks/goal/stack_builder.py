"""A root stack's template source to its goal and desired resources, and back again.

Called by the controllers that write and preview, and by the observer, through
``rebuild``, when it rolls a stack back.  Decides which checks a source passes and in
which order; must not write anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.common.failures import RowsContradict
from heat_convergence.convergence.lifecycle.rollback import DesiredEvaluation
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.goal_part import GoalPart
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import contents
from heat_convergence.resources.nested.template_cache import TemplateFiles, content_hash
from heat_convergence.stacks import quotas, snapshot_data
from heat_convergence.stacks.event_sinks.sink_types import check_event_sinks
from heat_convergence.stacks.goal.changed_part import find_changed_part
from heat_convergence.stacks.goal.desired_resources import derive_desired_resources
from heat_convergence.stacks.goal.goal_builder import GoalBuilder, GoalInputs, build_goal
from heat_convergence.stacks.goal.kept_resources import UpdateBase
from heat_convergence.stacks.goal.source_validation import SourceValidator, ValidatedSource
from heat_convergence.stacks.goal.validation_target import TypeForbidden, ValidationOptions
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.template_source import (
    StoredGoal,
    TemplateSource,
    TemplateSourceReader,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.parameters.hidden_parameters import may_hide_parameters
from heat_convergence.template.template import Template


@dataclass(frozen=True, slots=True)
class StorableGoal:
    """The parts of a root stack's goal that are stored.

    Attributes:
        contents: content hash to text, of the template and all files.
        part: the part of the goal that ``desired_resources`` are; None for all of it.
    """

    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    part: GoalPart | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class PreparedStack(StorableGoal):
    """A root stack's validated goal, stored nowhere yet, with what it was made of."""

    evaluated: EvaluatedTemplate
    environment: Environment
    files: TemplateFiles

    @property
    def storable(self) -> StorableGoal:
        """The parts that are stored, without the template, which may be large."""
        return StorableGoal(self.goal, self.desired_resources, self.contents, part=self.part)


class StackBuilder:
    """The builder of root stacks; one per process."""

    def __init__(self, services: StackServices) -> None:
        self._services = services
        self.goal_builder = GoalBuilder(services)
        self.sources = TemplateSourceReader(services)
        self.validator = SourceValidator(self.goal_builder, self.sources)

    # -- sources to goals

    def prepare_new(
        self, source: TemplateSource, stack: Stack, is_type_forbidden: TypeForbidden
    ) -> PreparedStack:
        """Return the goal of a stack to create.

        Args:
            source: template, files and environment of the request.
            stack: the new stack, with the id that the goal gets.
            is_type_forbidden: whether policy keeps a resource type from the caller.

        Raises:
            Error: the first mistake, in the order in which clients expect it.
        """
        source.template.check_sections()
        quotas.check_resource_count(len(source.template.resource_names), self._services.options)
        quotas.check_stack_name(stack.name)
        return self._prepare(source, stack, is_type_forbidden, None)

    def prepare_update(
        self,
        source: TemplateSource,
        stack: Stack,
        is_type_forbidden: TypeForbidden,
        base: UpdateBase | None = None,
    ) -> PreparedStack:
        """Return the goal that an update or a restore gives an existing stack.

        Args:
            source: template, files and environment to update to.
            stack: the stack, with the id that the new goal gets.
            is_type_forbidden: whether policy keeps a resource type from the caller.
            base: the state that the update starts from: immutable parameters must keep its
                values, and no service is asked about resources that keep theirs. None for a
                restore.

        Raises:
            Error: the first mistake, in the order in which clients expect it.
        """
        quotas.check_resource_count(len(source.template.resource_names), self._services.options)
        if base is not None:
            prepared = self._prepare_part(source, stack, is_type_forbidden, base)
            if prepared is not None:
                return prepared
        return self._prepare(source, stack, is_type_forbidden, base)

    def _prepare_part(
        self,
        source: TemplateSource,
        stack: Stack,
        is_type_forbidden: TypeForbidden,
        base: UpdateBase,
    ) -> PreparedStack | None:
        """Return the goal by the part of its template that an update changes.

        None if that cannot be told from the rest, or if anything in it is wrong.
        """
        try:
            found = find_changed_part(self._services, source, stack, base, is_type_forbidden)
            if found is None:
                return None
            base = replace(base, part_names=found.part.names)
            prepared = self._prepare(found.source, stack, is_type_forbidden, base)
        except Error:
            return None  # the whole reports it, perhaps with others before it
        if base.goal is None or prepared.goal.parameters != base.goal.goal.parameters:
            return None  # what the operator has changed, such as the region
        return replace(prepared, part=found.part)

    def _prepare(
        self,
        source: TemplateSource,
        stack: Stack,
        is_type_forbidden: TypeForbidden,
        base: UpdateBase | None,
    ) -> PreparedStack:
        check_event_sinks(source.environment.event_sinks)
        options = ValidationOptions(is_type_forbidden=is_type_forbidden)
        validated = self.validator.validate(source, stack, options, base)
        if base is not None and base.goal is not None:
            self.validator.check_immutable_parameters(base.goal, validated.evaluated)
        return self._prepared(validated, stack)

    def prepare_recorded(self, source: TemplateSource, stack: Stack) -> PreparedStack:
        """Return the goal of a stack that another service has validated and reached.

        Args:
            source: template, files and environment that the other service has recorded.
            stack: the stack, with the id that the goal gets.

        Raises:
            Error: the template cannot be evaluated with its parameters.
        """
        evaluated = self.validator.evaluate(source, stack)
        files = TemplateFiles.from_texts(source.files, self._services.template_cache)
        desired_resources = derive_desired_resources(
            evaluated, source.environment, files, self._services.registry
        )
        return self._prepared(ValidatedSource(source, evaluated, files, desired_resources), stack)

    def _prepared(self, validated: ValidatedSource, stack: Stack) -> PreparedStack:
        source, evaluated = validated.source, validated.evaluated
        return PreparedStack(
            goal=self._goal(source, stack, evaluated),
            evaluated=evaluated,
            desired_resources=validated.desired_resources,
            contents={content_hash(text): text for text in (source.text, *source.files.values())},
            environment=source.environment,
            files=validated.files,
        )

    def _goal(self, source: TemplateSource, stack: Stack, evaluated: EvaluatedTemplate) -> Goal:
        inputs = GoalInputs(
            template_hash=content_hash(source.text),
            environment=source.environment.to_stored(),
            files={name: content_hash(text) for name, text in source.files.items()},
        )
        return build_goal(
            stack,
            evaluated,
            inputs,
            created_at=self._services.clock(),
            sensitive=_may_hold_secrets(source, evaluated),
        )

    # -- stored goals to sources

    def load_goal(self, conn: Any, stack: Stack) -> StoredGoal:
        """Return the stack's goal with its texts.

        Raises:
            RowsContradict: the goal or a text is missing in the database.
        """
        goal = _goal_row(conn, stack)
        return _with_texts(goal, contents.get_contents(conn, _content_hashes(goal)))

    def load_goal_without_files(self, conn: Any, stack: Stack) -> StoredGoal | None:
        """Return the goal that an update replaces, without its files.

        None where its rows or texts are lost: an update with a template repairs that.
        """
        try:
            goal = _goal_row(conn, stack)
            texts = contents.get_contents(conn, {goal.template_hash})
            return StoredGoal(goal, texts[goal.template_hash], {})
        except RowsContradict:
            return None

    def source_from_snapshot(self, stored: StoredGoal, snapshot: Snapshot) -> TemplateSource:
        """Return the source of a restore.

        It is the source that the snapshot's goal had, with the properties that restore
        what resources saved.
        """
        source, registry = self.sources.from_stored_goal(stored), self._services.registry
        nested = snapshot_data.restored_nested_properties(snapshot, registry)
        if nested:
            types = source.environment.registry.with_restored_properties(nested)
            source = replace(source, environment=replace(source.environment, registry=types))
        changed = snapshot_data.restored_template(source.template, snapshot, registry)
        if changed is None:
            return source
        template = Template.parse(changed, limits=self._services.limits)
        return replace(source, template=template, text=json.dumps(changed, ensure_ascii=False))

    def rebuild(self, tx: Transaction, stack: Stack, goal: Goal) -> DesiredEvaluation:
        """Read a stored goal's texts: ``rollback.DefinitionRebuilder``."""
        stored = _with_texts(goal, tx.contents.get(_content_hashes(goal)))
        return lambda: self._desired_resources(stack, stored)

    def _desired_resources(
        self, stack: Stack, stored: StoredGoal
    ) -> Mapping[str, DesiredResource]:
        source = self.sources.from_stored_goal(stored)
        files = TemplateFiles.from_texts(source.files, self._services.template_cache)
        return derive_desired_resources(
            self.validator.evaluate(source, stack),
            source.environment,
            files,
            self._services.registry,
        )


def _may_hold_secrets(source: TemplateSource, evaluated: EvaluatedTemplate) -> bool:
    """Return whether the goal must be encrypted.

    Rather too often than not at all: templates among the files may hide parameters that
    an environment sets.
    """
    if source.environment.encrypted_param_names:
        return True
    if any(value.schema.hidden for value in evaluated.parameters.values()):
        return True
    return any(map(may_hide_parameters, source.files.values()))


def _goal_row(conn: Any, stack: Stack) -> Goal:
    goal = SqlGoalRepository(conn).get(stack.goal_id)
    if goal is None:
        raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
    return goal


def _content_hashes(goal: Goal) -> set[str]:
    return {goal.template_hash, *goal.files.values()}


def _with_texts(goal: Goal, texts: Mapping[str, str]) -> StoredGoal:
    files = {name: texts[key] for name, key in goal.files.items()}
    return StoredGoal(goal, texts[goal.template_hash], files)
