"""A tree of Heat's rows to the rows of this service, in memory.

Called by ``importer``, once for each root stack. Decides nothing about resources' states; a
mistake anywhere refuses the whole tree. Must not write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.job import DesiredState
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.heat_import.cloud_access import ObservedAttributes, observe_nothing
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
from heat_convergence.heat_import.recorded_stack import (
    RecordedTemplate,
    TreeReader,
    has_reached_template,
    new_stack,
)
from heat_convergence.heat_import.resource_builder import RecordedResource, build_resource
from heat_convergence.resources.nested.nested_type import NestedStackRequest, replace_unresolved
from heat_convergence.stacks.goal.facades import nested_environment
from heat_convergence.stacks.goal.nested_builder import (
    NestedStackBuilder,
    ParentResource,
    ParentStack,
)
from heat_convergence.stacks.goal.stack_builder import StackBuilder
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.source.template_source import TemplateSource
from heat_convergence.template.evaluation.resource_definition import load_section
from heat_convergence.template.template import Template

Json = Any
_SECTIONS = ("metadata", "update_policy")


@dataclass(frozen=True, slots=True)
class ImportedStack:
    """A stack with its goals and resources.

    Attributes:
        goals: the current one first, then that to which a rollback returns.
        contents: texts by hash.
    """

    stack: Stack
    goals: Sequence[Goal]
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    resources: Sequence[Resource]


@dataclass(slots=True)
class _Evaluated:
    """A template as one stack has it, with what its nested stacks inherit."""

    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    parent: ParentStack


@dataclass(frozen=True, slots=True)
class _Owner:
    """The resource of a nested stack, and its own stack."""

    parent: ParentStack
    row: Resource
    desired: DesiredResource


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

    def _build(self, row: HeatRow, owner: _Owner | None) -> tuple[Goal, ImportedValues]:
        reader = TreeReader(self.tree, self.cipher)
        parent = None if owner is None else owner.parent.stack
        stack = new_stack(row, self.ids(), parent, None if owner is None else owner.row.id)
        evaluated = {
            row.raw_template_id: self._evaluate(reader.template(row.raw_template_id), stack, owner)
        }
        current = evaluated[row.raw_template_id]
        recorded = reader.resources(row)
        goals = [current.goal]
        if has_reached_template(row, recorded):
            stack = replace(stack, complete_goal_id=stack.goal_id)
        elif row.prev_raw_template_id in self.tree.templates:
            before = replace(stack, goal_id=self.ids())
            previous = self._evaluate(reader.template(row.prev_raw_template_id), before, owner)
            evaluated[row.prev_raw_template_id] = previous
            goals.append(previous.goal)
            stack = replace(stack, complete_goal_id=before.goal_id)
        rows: list[Resource] = []
        values = ImportedValues(stack, {}, {each.row.name: each.record for each in recorded})
        for each in recorded:
            key = each.row.current_template_id or row.raw_template_id
            if key not in evaluated:
                unstored = replace(stack, goal_id=self.ids())
                evaluated[key] = self._evaluate(reader.template(key), unstored, owner)
            found = replace(
                each, present=each.present and _is_present(each, current, row.action == "DELETE")
            )
            rows.append(self._resource(found, stack, evaluated[key], reader))
        rows = self._with_more_attributes(rows, values)
        contents = {
            name: text for one in evaluated.values() for name, text in one.contents.items()
        }
        self.stacks.append(ImportedStack(stack, goals, current.desired_resources, contents, rows))
        named = {each.name: each for each in rows if each.desired.state is DesiredState.PRESENT}
        return current.goal, replace(values, rows=named)

    # -- templates

    def _evaluate(
        self, template: RecordedTemplate, stack: Stack, owner: _Owner | None
    ) -> _Evaluated:
        if owner is None:
            return self._evaluate_root(template, stack)
        return self._evaluate_nested(template, stack, owner)

    def _evaluate_root(self, template: RecordedTemplate, stack: Stack) -> _Evaluated:
        source = TemplateSource(
            Template.parse(template.text, limits=self.services.limits),
            template.text,
            template.files,
            self.services.environment_from_stored(template.environment),
        )
        prepared = StackBuilder(self.services).prepare_recorded(source, stack)
        texts = dict(prepared.contents)
        parent = ParentStack(stack, prepared.environment, prepared.files, texts_loader(texts))
        return _Evaluated(
            prepared.goal,
            prepared.desired_resources,
            texts | _contents_of(prepared.desired_resources),
            parent,
        )

    def _evaluate_nested(
        self, template: RecordedTemplate, stack: Stack, owner: _Owner
    ) -> _Evaluated:
        """Evaluate a nested template with the environment that its parent hands down."""
        row, parent = owner.row, owner.parent
        request = NestedStackRequest(
            name=row.name,
            type=row.identity.type,
            implementation=row.desired.implementation,
            properties=row.physical.properties or {},
            definition=row.desired.definition,
            data=row.physical.data,
            environment=parent.environment,
            files=parent.files,
        )
        parameters = template.environment.get("parameters") or {}
        environment = nested_environment(request, parameters, self.services.registry)
        document = {"template": template.text, "environment": environment.to_stored()}
        resource = ParentResource(row, row.physical.properties or {}, _facade(owner.desired))
        prepared = NestedStackBuilder(self.services).prepare_adopted(
            parent, resource, document, self.ids
        )
        goal = replace(prepared.goal, id=stack.goal_id, stack_id=stack.id, version=stack.version)
        return _Evaluated(
            goal,
            prepared.desired_resources,
            dict(prepared.contents) | _contents_of(prepared.desired_resources),
            ParentStack(stack, environment, parent.files, parent.load_contents),
        )

    # -- resources

    def _resource(
        self, found: RecordedResource, stack: Stack, evaluated: _Evaluated, reader: TreeReader
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
            goal, values = self._build(nested, _Owner(evaluated.parent, row, desired))
            attributes = nested_attributes(self.services, row, goal, values)
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


def texts_loader(texts: Mapping[str, str]) -> Any:
    """Return a loader of texts that are in memory, as ``template_cache.ContentLoader``."""
    return lambda hashes: {key: texts[key] for key in hashes if key in texts}


def _is_present(found: RecordedResource, current: _Evaluated, is_deleting: bool) -> bool:
    """Return whether the stack's template has the resource; a deleted stack keeps its own."""
    return is_deleting or found.row.name in current.desired_resources


def _contents_of(desired_resources: Mapping[str, DesiredResource]) -> dict[str, str]:
    return {
        key: text for each in desired_resources.values() for key, text in each.contents.items()
    }


def _facade(desired: DesiredResource) -> dict[str, Json]:
    """Return the sections of a resource that its nested template may read."""
    sections = {
        name: load_section(desired.definition, name, desired.contents) for name in _SECTIONS
    }
    sections["deletion_policy"] = desired.definition.get("deletion_policy")
    return replace_unresolved({name: item for name, item in sections.items() if item})
