"""A parent resource's properties to the goal of its nested stack.

Called by engines, and by the scaling of groups, outside the transaction that stores what
comes of it.  Evaluates the nested template as the builder of root stacks does, with the
environment that its parent hands down; environments of parents are cached per process.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.errors import Error, Retry
from heat_convergence.common.failures import RowsContradict
from heat_convergence.common.ids import IdFactory
from heat_convergence.common.values.value_size import SizedCache, value_bytes
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.resources.nested.nested_type import (
    NestedStackRequest,
    NestedStackSource,
    NestedType,
)
from heat_convergence.resources.nested.template_cache import (
    ContentLoader,
    TemplateFiles,
    content_hash,
)
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.stacks.goal.desired_resources import (
    derive_desired_resources,
    stored_attribute_paths,
)
from heat_convergence.stacks.goal.facades import nested_environment
from heat_convergence.stacks.goal.goal_builder import (
    GoalBuilder,
    GoalInputs,
    TemplateInputs,
    build_goal,
)
from heat_convergence.stacks.goal.nested_errors import nested_validation_error
from heat_convergence.stacks.services import StackServices
from heat_convergence.stacks.snapshot_data import with_resource_properties
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.template import Template
from heat_convergence.template.text_redaction import MASK

Json = Any
_MAX_INHERITED_BYTES = 2**24
_ENVIRONMENT_BYTES = 2**11  # of one without its values


@dataclass(frozen=True, slots=True)
class ParentStack:
    """A stack with what it hands down to its nested stacks.

    Attributes:
        common_part_hash: hash of environment and files, as they are stored.
        parameters: the values of the stack's own parameters, as the API shows them.
    """

    stack: Stack
    environment: Environment
    files: TemplateFiles
    load_contents: ContentLoader
    common_part_hash: str | None = None
    parameters: Mapping[str, Json] = field(default_factory=dict)

    def without_hooks(self) -> ParentStack:
        """Return the parent without the hooks that would stop its descendants."""
        registry = self.environment.registry.without_hooks()
        if registry.entries == self.environment.registry.entries:
            return self
        return replace(
            self, environment=replace(self.environment, registry=registry), common_part_hash=None
        )


@dataclass(frozen=True, slots=True)
class ParentResource:
    """The resource of a nested stack, as its job finds it.

    Attributes:
        properties: the resolved ones.
        facade: metadata and policies, resolved, by section.
        load_members: gives the rows of the nested stack as it is now.
        load_goal: gives the nested stack's current goal, None before there is one.
        requested_size: how many members a signal asks for.
        dependencies: the resources that this one refers to, by name, if its type reads them.
    """

    row: Resource
    properties: Mapping[str, Json]
    facade: Mapping[str, Json]
    load_members: Callable[[], Sequence[Resource]] = tuple
    load_goal: Callable[[], Goal | None] = lambda: None
    requested_size: int | None = None
    dependencies: Mapping[str, ResourceContext] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreparedNestedStack:
    """A nested stack's goal, stored nowhere yet; ``data`` is for its resource's row."""

    stack: Stack
    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    data: Mapping[str, Json]


class NestedStackBuilder:
    """The builder of nested stacks; one per process."""

    def __init__(self, services: StackServices) -> None:
        self.services = services
        self.parsed_environment_count = 0  # counted for tests
        self._goal_builder = GoalBuilder(services)
        self._inherited = SizedCache[tuple[Environment, TemplateFiles]](_MAX_INHERITED_BYTES)

    def load_parent(
        self, stack: Stack, load_goal: Callable[[str], Goal | None], load: ContentLoader
    ) -> ParentStack:
        """Return the stack with what it hands down, which its own parameters are not.

        Args:
            stack: the parent.
            load_goal: gives a goal's row by its id.
            load: gives texts by their hashes.
        """
        goal = load_goal(stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        environment, files = self._load_inherited(goal, load)
        key, values = goal.common_part_hash, goal.parameters
        return ParentStack(stack, environment, files.with_loader(load), load, key, values)

    def _load_inherited(
        self, goal: Goal, load: ContentLoader
    ) -> tuple[Environment, TemplateFiles]:
        key = goal.common_part_hash or goal.id
        found = self._inherited.get(key)
        if found is not None:
            return found
        full = restore_full(replace(goal, parameters={}), load)
        sections = {name: item for name, item in full.environment.items() if name != "parameters"}
        parsed = (
            self.services.environment_from_stored(sections),
            TemplateFiles(full.files, self.services.template_cache, load),
        )
        self.parsed_environment_count += 1
        size_bytes = _ENVIRONMENT_BYTES + value_bytes([sections, full.files])
        self._inherited.put(key, parsed, size_bytes)
        return parsed

    def prepare(
        self, parent: ParentStack, resource: ParentResource, ids: IdFactory
    ) -> PreparedNestedStack:
        """Return the nested stack as the resource's type wants it.

        Raises:
            Error: a mistake in the template, its parameters or its resources, with the
                path from the resource on.
        """
        row = resource.row
        resource_type = self._nested_type(row)
        stack = self._new_stack(parent.stack, row, ids)
        request = self._request(parent, resource, stack)
        try:
            source = resource_type.source(request)
            if source.has_next_step:
                parent = self._with_replaced_files(parent, resource)
            environment = nested_environment(request, source.parameters, self.services.registry)
            prepared = self._prepare(stack, source, parent, environment, resource)
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise  # the database's, not the template's
            location = f"resources.{row.name}{resource_type.error_path_suffix(request)}"
            raise nested_validation_error(error, location) from error
        digest = _input_digest(resource, prepared.goal.template_hash)
        steps = (
            {"steps": {"more": True, "pause_s": source.pause_s}} if source.has_next_step else {}
        )
        return replace(prepared, data={**source.data, **steps, "made_of": digest})

    def _with_replaced_files(self, parent: ParentStack, resource: ParentResource) -> ParentStack:
        """Return the parent with the files that members of an earlier batch still use.

        The nested stack has the files of its current goal: the parent's new goal may lack them.
        """
        goal = resource.load_goal()
        if goal is None:
            return parent
        load, files = parent.load_contents, parent.files
        replaced = restore_full(replace(goal, parameters={}), load).files
        if replaced.keys() <= files.hashes.keys():
            return parent
        merged = TemplateFiles({**replaced, **files.hashes}, self.services.template_cache, load)
        return replace(parent, files=merged, common_part_hash=None)

    def prepare_adopted(
        self,
        parent: ParentStack,
        resource: ParentResource,
        document: Mapping[str, Json],
        ids: IdFactory,
    ) -> PreparedNestedStack:
        """Return the nested stack as the adopted document has it.

        Raises:
            Error: as ``prepare``.
        """
        row = resource.row
        template, texts = document.get("template"), document.get("files") or {}
        text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
        stack = self._new_stack(parent.stack, row, ids)
        try:
            environment = self.services.environment_from_stored(document.get("environment") or {})
            files = parent.files.with_texts(texts)
            own = replace(parent, environment=environment, files=files, common_part_hash=None)
            prepared = self._prepare(stack, NestedStackSource(text), own, environment, resource)
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise
            raise nested_validation_error(error, f"resources.{row.name}") from error
        stored = {files.hashes[name]: content for name, content in texts.items()}
        data = self._nested_type(row).data_after_adoption(document)
        return replace(prepared, contents={**stored, **prepared.contents}, data=data)

    def _request(
        self, parent: ParentStack, resource: ParentResource, stack: Stack
    ) -> NestedStackRequest:
        row = resource.row
        return NestedStackRequest(
            name=row.name,
            type=row.identity.type,
            implementation=row.desired.implementation,
            properties=resource.properties,
            definition=row.desired.definition,
            data=row.physical.data,
            environment=parent.environment,
            files=parent.files,
            load_members=resource.load_members,
            load_template=lambda: self._template(resource.load_goal(), parent.load_contents),
            update_policy=resource.facade.get("update_policy") or {},
            requested_size=resource.requested_size,
            random_seed=row.id,
            timeout_s=self.services.action_timeout_s(stack.timeout_mins),
            nested_stack_id=stack.id,
            dependencies=resource.dependencies,
            owner_parameters=parent.parameters,
        )

    def _prepare(
        self,
        stack: Stack,
        source: NestedStackSource,
        parent: ParentStack,
        environment: Environment,
        resource: ParentResource,
    ) -> PreparedNestedStack:
        """Return the nested stack without ``data``; ``environment`` is its own."""
        sensitive = bool(resource.row.desired.definition.get("sensitive"))
        text = self._with_restored_properties(source.text, environment)
        key = content_hash(text)
        context = self._goal_builder.stack_context(stack, environment, dict(resource.facade))
        template = self._goal_builder.template_from_text(text)
        evaluated = self._goal_builder.evaluate(
            TemplateInputs(template, environment, parent.files, context)
        )
        if sensitive:
            evaluated = _as_sensitive(evaluated)
        goal = build_goal(
            stack,
            evaluated,
            _goal_inputs(key, parent, environment),
            created_at=stack.created_at,
            # Defaults may be those of parameters that a stack further down hides.
            sensitive=bool(
                evaluated.hidden_parameter_values or sensitive or environment.parameter_defaults
            ),
        )
        if sensitive:
            goal = replace(goal, parameters=_masked_parameters(goal.parameters, environment))
        return PreparedNestedStack(
            stack=replace(stack, timeout_mins=source.timeout_mins or stack.timeout_mins),
            goal=goal,
            desired_resources=self._desired_resources(evaluated, parent, environment, resource),
            contents={} if key in parent.files.hashes.values() else {key: text},
            data={},
        )

    def _desired_resources(
        self,
        evaluated: EvaluatedTemplate,
        parent: ParentStack,
        environment: Environment,
        resource: ParentResource,
    ) -> Mapping[str, DesiredResource]:
        paths = stored_attribute_paths(resource.row.desired.definition)
        members = list(evaluated.definitions)
        resource_type = self._nested_type(resource.row)
        return derive_desired_resources(
            evaluated,
            environment,
            parent.files,
            self.services.registry,
            parent_attribute_paths=resource_type.member_attribute_paths(paths, members),
        )

    def _nested_type(self, row: Resource) -> NestedType:
        found = self.services.registry.get(row.desired.implementation)
        assert isinstance(found, NestedType)
        return found

    def _with_restored_properties(self, text: str, environment: Environment) -> str:
        """Return the template's text with the properties that restore a snapshot."""
        properties = environment.registry.restored_properties()
        if not properties:
            return text
        changed = with_resource_properties(self._goal_builder.template_from_text(text), properties)
        return text if changed is None else json.dumps(changed, ensure_ascii=False)

    def _template(self, goal: Goal | None, load: ContentLoader) -> Template | None:
        if goal is None:
            return None
        return self.services.template_cache.template(goal.template_hash, load)

    def _new_stack(self, parent: Stack, row: Resource, ids: IdFactory) -> Stack:
        """Return a new stack; of one that exists already, only the identity counts."""
        return Stack(
            id=row.physical.id or ids(),
            name=row.identity.physical_name,
            project_id=parent.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=ids(),
            created_at=self.services.clock(),
            username=parent.username,
            disable_rollback=True,
            timeout_mins=parent.timeout_mins,
            owner_id=parent.id,
            owner_resource_id=row.id,
            root_id=parent.tree_id,
            depth=parent.depth + 1,
            parent_resource=row.name,
        )


def _goal_inputs(template_hash: str, parent: ParentStack, environment: Environment) -> GoalInputs:
    """Return what the goal stores; unchanged, the parent's environment is only referred to."""
    same = environment.registry.entries == parent.environment.registry.entries
    if same and parent.common_part_hash is not None:
        own = {"parameters": dict(environment.parameters)}
        return GoalInputs(template_hash, own, {}, parent.common_part_hash)
    return GoalInputs(template_hash, environment.to_stored(), dict(parent.files.hashes))


def _input_digest(resource: ParentResource, template_hash: str) -> str:
    """Return a digest of everything that the nested stack's goal depends on."""
    parts = [
        resource.row.desired.definition_hash,
        properties_hash(resource.properties),
        template_hash,
        resource.facade,
    ]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _as_sensitive(evaluated: EvaluatedTemplate) -> EvaluatedTemplate:
    """Return the template with all of it encrypted: a secret went into the stack."""
    return replace(
        evaluated,
        definitions={
            name: replace(each, sensitive=True) for name, each in evaluated.definitions.items()
        },
        outputs={name: replace(each, sensitive=True) for name, each in evaluated.outputs.items()},
    )


def _masked_parameters(shown: Mapping[str, Json], environment: Environment) -> dict[str, Json]:
    """Return the parameters for clients without the values that the parent has passed."""
    return {name: MASK if name in environment.parameters else shown[name] for name in shown}
