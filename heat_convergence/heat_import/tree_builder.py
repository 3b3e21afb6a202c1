"""A tree of Heat's rows to the rows of this service, in memory.

Called by ``importer``, once for each root stack. Decides nothing about resources' states; a
mistake anywhere refuses the whole tree. Must not write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.heat_import.cloud_access import ObservedAttributes, observe_nothing
from heat_convergence.heat_import.evaluated_template import (
    EvaluatedStackTemplate,
    ImportedStackOwner,
    RecordedTemplateEvaluator,
)
from heat_convergence.heat_import.heat_rows import HeatRow, HeatTree
from heat_convergence.heat_import.heat_values import HeatCipher, HeatValueUnreadable
from heat_convergence.heat_import.imported_attributes import (
    ImportedValues,
    ServiceAddress,
    nested_attributes,
    own_attributes,
    signal_attributes,
    software_attributes,
)
from heat_convergence.heat_import.imported_snapshots import ImportedSnapshot, SnapshotImport
from heat_convergence.heat_import.recorded_stack import (
    RecordedTemplate,
    TreeReader,
    has_reached_template,
    new_stack,
)
from heat_convergence.heat_import.resource_builder import RecordedResource, build_resource
from heat_convergence.stacks.services import StackServices

Json = Any


@dataclass(frozen=True, slots=True)
class ImportedStack:
    """A stack with its goals and resources.

    Attributes:
        goals: the current one first, then that to which a rollback returns.
        contents: texts by hash.
        notes: what the operator should know of it.
    """

    stack: Stack
    goals: Sequence[Goal]
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    resources: Sequence[Resource]
    snapshots: Sequence[ImportedSnapshot] = ()
    notes: Sequence[str] = ()


@dataclass(slots=True)
class _Templates:
    """The templates of one stack, by Heat's key, each evaluated once."""

    reader: TreeReader
    evaluator: RecordedTemplateEvaluator
    stack: Stack
    owner: ImportedStackOwner | None
    found: dict[int, EvaluatedStackTemplate] = field(default_factory=dict)

    def get(self, key: int, stack: Stack | None = None) -> EvaluatedStackTemplate:
        """Return a template; ``stack`` has the id of its goal if that is stored."""
        if key not in self.found:
            unstored = replace(self.stack, goal_id=self.evaluator.ids())
            self.found[key] = self.evaluator.evaluate(
                self.reader.template(key), stack or unstored, self.owner
            )
        return self.found[key]

    def contents(self) -> dict[str, str]:
        """Return the texts of all templates by hash."""
        return {key: text for one in self.found.values() for key, text in one.contents.items()}


@dataclass(slots=True)
class ImportedTreeBuilder:
    """The builder of one tree."""

    services: StackServices
    ids: IdFactory
    tree: HeatTree
    cipher: HeatCipher
    address: ServiceAddress
    observe: Callable[[Stack, Sequence[Resource]], ObservedAttributes] = observe_nothing
    stacks: list[ImportedStack] = field(default_factory=list)

    def build(self) -> list[ImportedStack]:
        """Return the stacks, the root first.

        Raises:
            HeatValueUnreadable: a value cannot be read.
            Error: a template cannot be evaluated.
        """
        self._build(self.tree.root, None)
        self.stacks.sort(key=lambda each: each.stack.depth)
        return self.stacks

    def _build(
        self, row: HeatRow, owner: ImportedStackOwner | None
    ) -> tuple[Goal, ImportedValues]:
        reader = TreeReader(self.tree, self.cipher)
        recorded = reader.resources(row)
        parent = None if owner is None else (owner.parent.stack, owner.row.id)
        stack = new_stack(row, self.ids(), parent, recorded)
        templates = _Templates(
            reader, RecordedTemplateEvaluator(self.services, self.ids), stack, owner
        )
        current = templates.get(row.raw_template_id, stack)
        stack, goals = self._with_complete_goal(row, stack, recorded, templates)
        rows = self._resources(row, stack, recorded, templates)
        values = ImportedValues(stack, {}, {each.row.name: each.record for each in recorded})
        rows = self._with_more_attributes(rows, values)
        snapshots, notes = SnapshotImport(self.tree, self.services.registry).build(
            stack, rows, self._snapshot_evaluation(stack, owner)
        )
        self.stacks.append(
            ImportedStack(
                stack, goals, current.desired_resources, templates.contents(), rows,
                snapshots, notes,
            )
        )  # fmt: skip
        named = {each.name: each for each in rows if each.desired.state is DesiredState.PRESENT}
        return current.goal, replace(values, rows=named)

    def _with_complete_goal(
        self,
        row: HeatRow,
        stack: Stack,
        recorded: Sequence[RecordedResource],
        templates: _Templates,
    ) -> tuple[Stack, list[Goal]]:
        """Return the stack with the goal to which a rollback returns, and its goals."""
        current = templates.get(row.raw_template_id)
        if has_reached_template(row, recorded):
            return replace(stack, complete_goal_id=stack.goal_id), [current.goal]
        previous_key = row.prev_raw_template_id
        if previous_key == row.raw_template_id or previous_key not in self.tree.templates:
            return stack, [current.goal]
        before = replace(stack, goal_id=self.ids())
        previous = templates.get(previous_key, before)
        return replace(stack, complete_goal_id=before.goal_id), [current.goal, previous.goal]

    def _snapshot_evaluation(
        self, stack: Stack, owner: ImportedStackOwner | None
    ) -> Callable[[RecordedTemplate], EvaluatedStackTemplate]:
        def evaluate(template: RecordedTemplate) -> EvaluatedStackTemplate:
            evaluator = RecordedTemplateEvaluator(self.services, self.ids)
            return evaluator.evaluate(template, replace(stack, goal_id=self.ids()), owner)

        return evaluate

    # -- resources

    def _resources(
        self,
        row: HeatRow,
        stack: Stack,
        recorded: Sequence[RecordedResource],
        templates: _Templates,
    ) -> list[Resource]:
        current = templates.get(row.raw_template_id)
        rows = []
        for each in recorded:
            evaluated = templates.get(each.row.current_template_id or row.raw_template_id)
            present = each.present and _is_present(each, current, row.action == "DELETE")
            found = replace(each, present=present)
            rows.append(self._resource(found, stack, evaluated, templates.reader))
        return rows

    def _resource(
        self,
        found: RecordedResource,
        stack: Stack,
        evaluated: EvaluatedStackTemplate,
        reader: TreeReader,
    ) -> Resource:
        desired = evaluated.desired_resources.get(found.row.name)
        if desired is None:
            raise HeatValueUnreadable(f"resource {found.row.name} is in no template of the stack")
        resource_type = self.services.registry.find(desired.implementation)
        if resource_type is None:
            raise HeatValueUnreadable(
                f"resource {found.row.name} has the unknown type {desired.implementation}"
            )
        row = build_resource(found, stack, desired, resource_type)
        nested = self._nested_row(row)
        if resource_type.has_nested_stack and nested is not None:
            goal, values = self._build(nested, ImportedStackOwner(evaluated.parent, row, desired))
            attributes = nested_attributes(self.services, row, goal, values)
            if values.stack.status is not Status.COMPLETE:  # the next update goes into it
                row = replace(row, physical=replace(row.physical, properties_hash=None))
        else:
            cached = reader.cached_attributes(found.row)
            attributes = {
                **own_attributes(resource_type, row, cached),
                **software_attributes(resource_type, row, self.tree),
            }
        return replace(row, physical=replace(row.physical, attributes=attributes))

    def _nested_row(self, row: Resource) -> HeatRow | None:
        """Return Heat's row of the nested stack of a resource, if it has one."""
        return next(
            (
                stack
                for stack in self.tree.stacks
                if stack.owner_id == row.stack_id and stack.id == row.physical.id
            ),
            None,
        )

    def _with_more_attributes(
        self, rows: Sequence[Resource], values: ImportedValues
    ) -> list[Resource]:
        """Add the attributes that are observed, or depend on resources or addresses."""
        observed = self.observe(values.stack, rows)
        named = {row.name: row for row in rows}
        values = replace(values, rows=named, address=self.address)
        found = []
        for row in rows:
            resource_type = self.services.registry.find(row.desired.implementation)
            more = signal_attributes(resource_type, row, values)
            attributes = {**row.physical.attributes, **observed.get(row.id, {}), **more}
            found.append(replace(row, physical=replace(row.physical, attributes=attributes)))
        return found


def _is_present(
    found: RecordedResource, current: EvaluatedStackTemplate, is_deleting: bool
) -> bool:
    """Return whether the stack's template has the resource; a deleted stack keeps its own."""
    return is_deleting or found.row.name in current.desired_resources
