"""The changes that an update would make to a whole tree, found without touching anything.

Called by the controller of previews.  Follows ``preview`` into the nested stack of each
resource: its rows as they are, against the template that it would be given in the end,
batches left aside.  Where that depends on values that only the update will show, nothing
is said about the nested stack.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import Error, RequestLimitExceeded
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.db.reads import resources, stacks
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import contents
from heat_convergence.resources.nested.nested_type import NestedStackRequest, NestedType
from heat_convergence.resources.nested.template_cache import TemplateCache, TemplateFiles
from heat_convergence.stacks.goal.desired_resources import (
    derive_desired_resources,
    stored_attribute_paths,
)
from heat_convergence.stacks.goal.facades import nested_environment
from heat_convergence.stacks.goal.goal_builder import TemplateInputs, known_facade
from heat_convergence.stacks.goal.stack_builder import PreparedStack
from heat_convergence.stacks.preview import (
    PreviewContext,
    ResourceChange,
    deletion_of,
    preview_changes,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.parameters.parameter_values import MissingParameters
from heat_convergence.template.template import Template

Json = Any
NO_STACK_ID = "None"  # clients see this id of a stack that does not exist yet
_MAX_LEVELS = 100  # where the depth of nesting has no limit
_NEW_STACK_CHANGES = (ChangeKind.UPDATED, ChangeKind.REPLACED, ChangeKind.ADDED)


@dataclass(frozen=True, slots=True)
class StackTree:
    """The descendants of a stack as they are, with their rows and templates, by stack id."""

    stacks: Mapping[str, Stack] = field(default_factory=dict)
    rows: Mapping[str, Sequence[Resource]] = field(default_factory=dict)
    goals: Mapping[str, Goal] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)

    def nested_stack_of(self, row: Resource | None) -> Stack | None:
        """Return the nested stack of the row, None where there is none."""
        return None if row is None else self.stacks.get(row.physical.id or "")

    def template(self, stack: Stack | None, cache: TemplateCache) -> Template | None:
        """Return the current template of a stack of the tree, None if it is lost."""
        goal = None if stack is None else self.goals.get(stack.goal_id)
        if goal is None or goal.template_hash not in self.contents:
            return None
        return cache.template(goal.template_hash, lambda _hashes: self.contents)


def read_stack_tree(conn: Any, stack: Stack, max_depth: int) -> StackTree:
    """Read a stack's descendants with a number of statements that does not grow with them.

    Args:
        conn: a connection to read from.
        stack: the root; it is not part of the tree.
        max_depth: of nesting; negative for no limit.
    """
    levels = max_depth if max_depth >= 0 else _MAX_LEVELS
    found = {each.id: each for each, level in stacks.get_tree(conn, stack.id, levels) if level}
    known = SqlGoalRepository(conn).get_rows([each.goal_id for each in found.values()])
    rows: dict[str, list[Resource]] = {key: [] for key in found}
    for row in resources.list_full_of_stacks(conn, list(found)):
        rows[row.stack_id].append(row)
    texts = contents.get_contents(conn, {goal.template_hash for goal in known.values()})
    return StackTree(found, rows, known, texts)


@dataclass(frozen=True, slots=True)
class NestedStackChange:
    """The changes in a resource's nested stack and in those below it.

    A nested stack that replaces another, and the other, have the same parent resource.
    """

    parent_resource: str
    stack: Stack
    changes: Sequence[ResourceChange]
    nested_changes: Sequence[NestedStackChange]


def preview_nested_changes(
    context: PreviewContext,
    prepared: PreparedStack,
    changes: Sequence[ResourceChange],
    tree: StackTree,
) -> list[NestedStackChange]:
    """Return the changes in the nested stacks of a root stack.

    Args:
        context: the root stack as it is.
        prepared: its new goal.
        changes: the changes of its own resources.
        tree: its descendants as they are.
    """
    planned = _PlannedStack(
        context.stack, prepared.environment, prepared.files, prepared.desired_resources, changes
    )
    return _NestedPreview(context, tree).nested_changes(planned)


@dataclass(frozen=True, slots=True)
class _PlannedStack:
    """One stack's goal as it would be, and the changes that lead there."""

    stack: Stack
    environment: Environment
    files: TemplateFiles
    desired_resources: Mapping[str, DesiredResource]
    changes: Sequence[ResourceChange]


@dataclass(frozen=True, slots=True)
class _NestedPreview:
    """The walk down a tree; of ``context`` all but stack and rows holds for every stack."""

    context: PreviewContext
    tree: StackTree

    def nested_changes(self, parent: _PlannedStack) -> list[NestedStackChange]:
        """Return the changes of the nested stacks of a planned stack."""
        return [found for each in parent.changes for found in self._of_resource(each, parent)]

    def _of_resource(
        self, change: ResourceChange, parent: _PlannedStack
    ) -> Iterator[NestedStackChange]:
        current = self.tree.nested_stack_of(change.current)
        if change.change_kind in (ChangeKind.DELETED, ChangeKind.REPLACED) and current is not None:
            yield self._uniform(change.name, current, ChangeKind.DELETED)
        if change.change_kind is ChangeKind.UNCHANGED and current is not None:
            yield self._uniform(change.name, current, ChangeKind.UNCHANGED)
        if change.change_kind in _NEW_STACK_CHANGES and self._allows_nested_stacks(parent.stack):
            kept = current if change.change_kind is ChangeKind.UPDATED else None
            planned = self._plan(change, parent, kept)
            if planned is not None:
                yield NestedStackChange(
                    change.name, planned.stack, planned.changes, self.nested_changes(planned)
                )

    def _allows_nested_stacks(self, stack: Stack) -> bool:
        max_depth = self.context.goal_builder.services.options.max_nested_stack_depth
        return max_depth < 0 or stack.depth < max_depth

    def _uniform(self, resource: str, stack: Stack, change_kind: ChangeKind) -> NestedStackChange:
        """Return the same change for everything in the stack and below it."""
        rows = [
            row for row in self.tree.rows[stack.id] if row.desired.state is DesiredState.PRESENT
        ]
        changes = [replace(deletion_of(row), change_kind=change_kind) for row in rows]
        nested = [(row.name, self.tree.nested_stack_of(row)) for row in rows]
        return NestedStackChange(
            resource,
            stack,
            changes,
            [self._uniform(name, each, change_kind) for name, each in nested if each],
        )

    def _plan(
        self, change: ResourceChange, parent: _PlannedStack, current: Stack | None
    ) -> _PlannedStack | None:
        """Return the resource's nested stack as it is to be."""
        services = self.context.goal_builder.services
        desired = parent.desired_resources[change.name]
        resource_type = services.registry.find(desired.implementation)
        if not isinstance(resource_type, NestedType) or change.definition is None:
            return None
        stack = current or self._new_stack(parent.stack, change.name)
        rows = self.tree.rows[current.id] if current else ()
        request = self._request(change, change.definition, parent, current)
        try:
            source = resource_type.final_source(request)
            if source is None:
                return None
            environment = nested_environment(request, source.parameters, services.registry)
            evaluated = self._evaluate(
                source.text, stack, environment, change.definition, parent.files
            )
            members = list(evaluated.definitions)
            paths = stored_attribute_paths(desired.definition)
            desired_resources = derive_desired_resources(
                evaluated,
                environment,
                parent.files,
                services.registry,
                parent_attribute_paths=resource_type.member_attribute_paths(paths, members),
            )
            context = replace(self.context, stack=stack, rows=rows, allow_unknown_parameters=True)
            changes = preview_changes(context, evaluated, desired_resources)
        except RequestLimitExceeded:
            raise  # what is shown would lack this stack and those after it
        except Error:
            return None  # for lack of a value; real mistakes were reported by validation
        return _PlannedStack(stack, environment, parent.files, desired_resources, changes)

    def _request(
        self,
        change: ResourceChange,
        definition: ResourceDefinition,
        parent: _PlannedStack,
        current: Stack | None,
    ) -> NestedStackRequest:
        row = change.current
        cache = self.context.goal_builder.services.template_cache
        return NestedStackRequest(
            name=change.name,
            type=definition.type,
            implementation=parent.desired_resources[change.name].implementation,
            properties=change.after,
            definition=definition.dump(),
            data=row.physical.data if row is not None and current is not None else {},
            environment=parent.environment,
            files=parent.files,
            load_members=lambda: self.tree.rows[current.id] if current else (),
            load_template=lambda: self.tree.template(current, cache),
            random_seed=row.id if row is not None else self.context.ids(),
        )

    def _evaluate(
        self,
        text: str,
        stack: Stack,
        environment: Environment,
        definition: ResourceDefinition,
        files: TemplateFiles,
    ) -> EvaluatedTemplate:
        builder = self.context.goal_builder
        context = builder.stack_context(stack, environment, known_facade(definition))
        return builder.evaluate(
            TemplateInputs(builder.template_from_text(text), environment, files, context),
            missing_parameters=MissingParameters.ALLOW,
            functions=builder.preview_functions,
        )

    def _new_stack(self, parent: Stack, name: str) -> Stack:
        return replace(
            parent,
            id=NO_STACK_ID,
            name=f"{parent.name}-{name}",
            owner_id=parent.id,
            depth=parent.depth + 1,
            version=0,
            created_at=self.context.now,
        )
