"""What an update would do in the stacks below, found out without touching anything.

Called by the previews where ``show_nested`` asks for it.  Follows ``foresight`` into
the stack behind each resource: what is in it as rows have it, against the template
that it would be given in the end, batches left aside.  Where that hangs on values that
only the update will tell, nothing is said of what is below.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import Error
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.convergence.planning.incarnations import physical_name
from heat_convergence.convergence.planning.job_steps import ChangeKind
from heat_convergence.db.reads import resources, stacks
from heat_convergence.db.repositories.goals import SqlGoalRepository
from heat_convergence.db.statements import contents
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
from heat_convergence.stacks.goal.desired_resources import (
    ATTRIBUTE_PATHS_KEY,
    derive_desired_resources,
)
from heat_convergence.stacks.goal.nested_validation import UNKNOWN_VALUE_FUNCTION
from heat_convergence.stacks.preview import (
    PreviewContext,
    ResourceChange,
    deletion_of,
    preview_changes,
)
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import evaluate_template
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.functions.function import Function
from heat_convergence.template.parameters.parameter_values import MissingParameters, StackContext
from heat_convergence.template.template import Template

Json = Any


@dataclass(frozen=True, slots=True)
class StackTree:
    """The stacks below one as they are, by id, with their rows and templates."""

    stacks: Mapping[str, Stack] = field(default_factory=dict)
    rows: Mapping[str, Sequence[Resource]] = field(default_factory=dict)
    goals: Mapping[str, Goal] = field(default_factory=dict)
    contents: Mapping[str, str] = field(default_factory=dict)

    def nested_stack_of(self, row: Resource | None) -> Stack | None:
        return None if row is None else self.stacks.get(row.physical_id or "")

    def template(self, stack: Stack | None, parsed: TemplateCache) -> Template | None:
        goal = None if stack is None else self.goals.get(stack.goal_id)
        if goal is None or goal.template_hash not in self.contents:
            return None
        return parsed.template(goal.template_hash, lambda _hashes: self.contents)


def read_stack_tree(conn: Any, stack: Stack, max_depth: int) -> StackTree:
    """In a number of statements that does not grow with the tree."""
    found = {each.id: each for each, level in stacks.get_tree(conn, stack.id, max_depth) if level}
    known = SqlGoalRepository(conn).get_rows([each.goal_id for each in found.values()])
    rows: dict[str, list[Resource]] = {key: [] for key in found}
    for row in resources.list_full_of_stacks(conn, list(found)):
        rows[row.stack_id].append(row)
    texts = contents.get_contents(conn, {goal.template_hash for goal in known.values()})
    return StackTree(found, rows, known, texts)


@dataclass(frozen=True, slots=True)
class PlannedStack:
    """One stack's goal as it would be, and what is foreseen of it."""

    stack: Stack
    environment: Environment
    files: TemplateFiles
    desired_resources: Mapping[str, DesiredResource]
    changes: Sequence[ResourceChange]


@dataclass(frozen=True, slots=True)
class NestedStackChange:
    """The stack behind ``owner``, and those behind what is in it; one that replaces
    another, and the other, have the same owner."""

    parent_resource: str
    stack: Stack
    changes: Sequence[ResourceChange]
    nested_changes: Sequence[NestedStackChange]


@dataclass(frozen=True, slots=True)
class NestedPreview:
    """``now`` is of any stack: what it has beside stack and rows counts for all."""

    context: PreviewContext
    tree: StackTree
    template_cache: TemplateCache
    max_depth: int
    region: str | None = None

    def nested_changes(self, level: PlannedStack) -> list[NestedStackChange]:
        return [found for each in level.changes for found in self._behind(each, level)]

    def _behind(self, each: ResourceChange, level: PlannedStack) -> Iterator[NestedStackChange]:
        old = self.tree.nested_stack_of(each.current)
        if each.change_kind in (ChangeKind.DELETED, ChangeKind.REPLACED) and old is not None:
            yield self._all(each.name, old, ChangeKind.DELETED)
        if each.change_kind is ChangeKind.UNCHANGED and old is not None:
            yield self._all(each.name, old, ChangeKind.UNCHANGED)
        if each.change_kind in (
            ChangeKind.UPDATED,
            ChangeKind.REPLACED,
            ChangeKind.ADDED,
        ) and self._deeper(level.stack):
            kept = old if each.change_kind is ChangeKind.UPDATED else None
            found = self._next(each, level, kept)
            if found is not None:
                yield NestedStackChange(
                    each.name, found.stack, found.changes, self.nested_changes(found)
                )

    def _deeper(self, stack: Stack) -> bool:
        return self.max_depth < 0 or stack.depth < self.max_depth

    def _all(self, owner: str, stack: Stack, fate: ChangeKind) -> NestedStackChange:
        rows = [row for row in self.tree.rows[stack.id] if row.desired is DesiredState.PRESENT]
        foreseen = [replace(deletion_of(row), change_kind=fate) for row in rows]
        within = [(row.name, self.tree.nested_stack_of(row)) for row in rows]
        return NestedStackChange(
            owner, stack, foreseen, [self._all(name, s, fate) for name, s in within if s]
        )

    def _next(
        self, each: ResourceChange, above: PlannedStack, old: Stack | None
    ) -> PlannedStack | None:
        """The stack behind the resource as it is to be."""
        kind = self.context.registry.find(above.desired_resources[each.name].implementation)
        if not isinstance(kind, NestedType) or each.definition is None:
            return None
        stack = old or self._new(above.stack, each.name)
        rows = self.tree.rows[old.id] if old else ()
        ask = self._ask(each, above, old, rows)
        try:
            source = kind.final_source(ask)
            if source is None:
                return None
            environment = above.environment.for_nested_stack(each.name, source.parameters)
            evaluated = self._evaluated(source.text, stack, environment, each, above.files)
            reads = [
                tuple(read) for read in _nested(above, each.name).get(ATTRIBUTE_PATHS_KEY, ())
            ]
            wanted = derive_desired_resources(
                evaluated,
                environment,
                above.files,
                self.context.registry,
                parent_attribute_paths=kind.member_attribute_paths(
                    reads, list(evaluated.definitions)
                ),
            )
            now = replace(
                self.context,
                stack=stack,
                rows=rows,
                functions=self._functions(),
                allow_unknown_parameters=True,
            )
            foreseen = preview_changes(now, evaluated, wanted)
        except Error:
            return None  # wrong for want of a value; what is wrong indeed was told before
        return PlannedStack(stack, environment, above.files, wanted, foreseen)

    def _ask(
        self,
        each: ResourceChange,
        above: PlannedStack,
        old: Stack | None,
        rows: Sequence[Resource],
    ) -> NestedStackRequest:
        assert each.definition is not None
        return NestedStackRequest(
            name=each.name,
            type=each.definition.type,
            implementation=above.desired_resources[each.name].implementation,
            properties=each.after,
            definition=each.definition.dump(),
            data=each.current.data if each.current is not None and old is not None else {},
            environment=above.environment,
            files=above.files,
            load_members=lambda: rows,
            load_template=lambda: self.tree.template(old, self.template_cache),
            random_seed=each.current.id if each.current is not None else self.context.ids(),
        )

    def _evaluated(
        self,
        text: str,
        stack: Stack,
        environment: Environment,
        owner: ResourceChange,
        files: TemplateFiles,
    ) -> EvaluatedTemplate:
        assert owner.definition is not None
        key = content_hash(text)
        facade = {
            "metadata": owner.definition.metadata,
            "deletion_policy": owner.definition.deletion_policy,
            "update_policy": owner.definition.update_policy,
        }
        facts = StackContext(
            stack.id,
            stack.name,
            stack.project_id,
            self.region,
            facade=replace_unresolved(facade),
            availability_zones=environment.availability_zones,
        )
        return evaluate_template(
            self.template_cache.template(key, lambda _hashes: {key: text}),
            environment,
            files,
            facts,
            EvaluationOptions(
                functions=self._functions(), missing_parameters=MissingParameters.ALLOW
            ),
        )

    def _functions(self) -> Mapping[str, Function]:
        return {**self.context.functions, UNKNOWN_VALUE_NAME: UNKNOWN_VALUE_FUNCTION}

    def _new(self, above: Stack, name: str) -> Stack:
        identifier = self.context.ids()
        return replace(
            above,
            id=identifier,
            name=physical_name(above.name, name, identifier),
            owner_id=above.id,
            depth=above.depth + 1,
            version=0,
            created_at=self.context.now,
        )


def _nested(above: PlannedStack, name: str) -> Mapping[str, Json]:
    found: Mapping[str, Json] = (
        above.desired_resources[name].definition.get(NESTED_STACK_KEY) or {}
    )
    return found
