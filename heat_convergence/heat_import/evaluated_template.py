"""Recorded templates of Heat, evaluated as the stacks of this service are.

Called by ``tree_builder`` for the templates of a stack and of its snapshots. Must not read rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.heat_import.recorded_stack import RecordedTemplate
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
class EvaluatedStackTemplate:
    """A template as one stack has it, with what its nested stacks inherit."""

    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    parent: ParentStack


@dataclass(frozen=True, slots=True)
class ImportedStackOwner:
    """The resource of a nested stack, and its own stack."""

    parent: ParentStack
    row: Resource
    desired: DesiredResource


@dataclass(frozen=True, slots=True)
class RecordedTemplateEvaluator:
    """The evaluation of the templates of one tree."""

    services: StackServices
    ids: IdFactory

    def evaluate(
        self, template: RecordedTemplate, stack: Stack, owner: ImportedStackOwner | None
    ) -> EvaluatedStackTemplate:
        """Return the template as a stack has it.

        Args:
            template: Heat's record.
            stack: the stack, with the id that the goal gets.
            owner: of a nested stack.

        Raises:
            Error: the template cannot be evaluated.
        """
        if owner is None:
            return self._evaluate_root(template, stack)
        return self._evaluate_nested(template, stack, owner)

    def _evaluate_root(self, template: RecordedTemplate, stack: Stack) -> EvaluatedStackTemplate:
        source = TemplateSource(
            Template.parse(template.text, limits=self.services.limits),
            template.text,
            template.files,
            self.services.environment_from_stored(template.environment),
        )
        prepared = StackBuilder(self.services).prepare_recorded(source, stack)
        texts = dict(prepared.contents)
        parent = ParentStack(stack, prepared.environment, prepared.files, texts_loader(texts))
        return EvaluatedStackTemplate(
            prepared.goal,
            prepared.desired_resources,
            texts | _contents_of(prepared.desired_resources),
            parent,
        )

    def _evaluate_nested(
        self, template: RecordedTemplate, stack: Stack, owner: ImportedStackOwner
    ) -> EvaluatedStackTemplate:
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
        return EvaluatedStackTemplate(
            goal,
            prepared.desired_resources,
            dict(prepared.contents) | _contents_of(prepared.desired_resources),
            ParentStack(stack, environment, parent.files, parent.load_contents),
        )


def texts_loader(texts: Mapping[str, str]) -> Any:
    """Return a loader of texts that are in memory, as ``template_cache.ContentLoader``."""
    return lambda hashes: {key: texts[key] for key in hashes if key in texts}


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
