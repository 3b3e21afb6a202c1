"""From a resource's properties to the goal of the stack behind it.

Called by engines, outside the transaction that stores what comes of it.  Evaluates
the nested template as the API does a root's, with the environment that its parent
hands down; parents' environments and templates are kept, bounded, per process.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from heat_convergence.common.clock import Clock
from heat_convergence.common.errors import Error, Retry, RowsContradict, StackValidationFailed
from heat_convergence.common.ids import IdFactory
from heat_convergence.convergence.model.action import Action, Status
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.goal_storage import restore_full
from heat_convergence.convergence.model.resource import Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.resources.nested.nested_type import (
    NestedStackRequest,
    NestedStackSource,
    NestedType,
)
from heat_convergence.resources.nested.template_cache import (
    ContentLoader,
    TemplateCache,
    TemplateFiles,
    content_hash,
)
from heat_convergence.resources.protocol.properties import properties_hash
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.desired_resources import (
    ATTRIBUTE_PATHS_KEY,
    derive_desired_resources,
)
from heat_convergence.stacks.snapshot_data import with_resource_properties
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.evaluation import evaluate_template
from heat_convergence.template.evaluation.evaluation_options import EvaluationOptions
from heat_convergence.template.functions.function import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parameters.constraints import CustomConstraintFunction
from heat_convergence.template.parameters.parameter_values import StackContext
from heat_convergence.template.template import Template

Json = Any
_KEPT = 64  # environments


@dataclass(frozen=True, slots=True)
class ParentStack:
    """A stack that has others behind its resources, and what it hands down."""

    stack: Stack
    environment: Environment
    files: TemplateFiles
    load_contents: ContentLoader
    common_part_hash: str | None = None  # hash of environment and files, as they are stored

    def without_hooks(self) -> ParentStack:
        """What is handed down where nothing is to stop."""
        registry = self.environment.registry.without_hooks()
        if registry.entries == self.environment.registry.entries:
            return self
        return replace(
            self, environment=replace(self.environment, registry=registry), common_part_hash=None
        )


@dataclass(frozen=True, slots=True)
class PreparedNestedStack:
    """A nested stack that is stored nowhere yet; ``data`` is for its owner's row."""

    stack: Stack
    goal: Goal
    desired_resources: Mapping[str, DesiredResource]
    contents: Mapping[str, str]
    data: Mapping[str, Json]


@dataclass(slots=True)
class NestedStackBuilder:
    """Makes drafts; one per process."""

    registry: ResourceTypeRegistry
    clock: Clock
    limits: TemplateLimits = DEFAULT_LIMITS
    global_environment: Environment | None = None  # the operator's
    region: str | None = None
    custom_constraints: Mapping[str, CustomConstraintFunction] | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    template_cache: TemplateCache = field(default_factory=TemplateCache)
    timeout_s: float | None = None  # of an action where the stack says nothing
    parsed_environment_count: int = 0  # parsed; counted for tests
    _kept: OrderedDict[str, tuple[Environment, TemplateFiles]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def load_parent(
        self, stack: Stack, load_goal: Callable[[str], Any], load: ContentLoader
    ) -> ParentStack:
        """The stack with what it hands down; ``load_goal`` gives goals as rows have
        them.  Its own parameters are left out: no child gets them."""
        goal = load_goal(stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        environment, known = self._inherited(goal, load)
        files = known.with_loader(load)
        return ParentStack(stack, environment, files, load, goal.common_part_hash)

    def _inherited(self, goal: Goal, load: ContentLoader) -> tuple[Environment, TemplateFiles]:
        key = goal.common_part_hash or goal.id
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        full = restore_full(replace(goal, parameters={}), load)
        sections = {name: item for name, item in full.environment.items() if name != "parameters"}
        made = (self._environment(sections), TemplateFiles(full.files, self.template_cache, load))
        with self._lock:
            self.parsed_environment_count += 1
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def prepare(
        self,
        parent: ParentStack,
        row: Resource,
        properties: Mapping[str, Json],
        ids: IdFactory,
        *,
        facade: Mapping[str, Json],
        load_members: Callable[[], Sequence[Resource]] = tuple,
        load_goal: Callable[[], Goal | None] = lambda: None,
        requested_size: int | None = None,
    ) -> PreparedNestedStack:
        """``members`` and ``goal`` tell of the nested stack as it is, ``size`` how many
        members a signal asks for.  Raises what is wrong with the template, its parameters
        or its resources, with the path from the owner down."""
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        stack = self._stack(parent.stack, row, ids)
        minutes = stack.timeout_mins
        ask = NestedStackRequest(
            name=row.name,
            type=row.type,
            implementation=row.implementation,
            properties=properties,
            definition=row.definition,
            data=row.data,
            environment=parent.environment,
            files=parent.files,
            load_members=load_members,
            load_template=lambda: self._template(load_goal(), parent.load_contents),
            update_policy=facade.get("update_policy") or {},
            requested_size=requested_size,
            random_seed=row.id,
            timeout_s=minutes * 60.0 if minutes else self.timeout_s,
        )
        try:
            source = kind.source(ask)
            environment = parent.environment.for_nested_stack(row.name, source.parameters)
            drafted = self._drafted(stack, source, parent, environment, row, facade)
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise  # the database's, not the template's
            raise nested_validation_error(
                error, f"resources.{row.name}{kind.error_path_suffix(ask)}"
            ) from error
        made_of = _made_of(row, properties, drafted.goal.template_hash, facade)
        steps = (
            {"steps": {"more": True, "pause_s": source.pause_s}} if source.has_next_step else {}
        )
        return replace(drafted, data={**source.data, **steps, "made_of": made_of})

    def prepare_adopted(
        self,
        parent: ParentStack,
        row: Resource,
        document: Mapping[str, Json],
        ids: IdFactory,
        *,
        facade: Mapping[str, Json],
    ) -> PreparedNestedStack:
        """The nested stack as the document has it that was handed over, whatever is wanted
        of it by now.  Raises as ``draft``."""
        template, texts = document.get("template"), document.get("files") or {}
        text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
        stack = self._stack(parent.stack, row, ids)
        try:
            environment = self._environment(document.get("environment") or {})
            files = parent.files.with_texts(texts)
            above = replace(parent, environment=environment, files=files, common_part_hash=None)
            drafted = self._drafted(
                stack, NestedStackSource(text), above, environment, row, facade
            )
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise
            raise nested_validation_error(error, f"resources.{row.name}") from error
        stored = {files.hashes[name]: content for name, content in texts.items()}
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        data = kind.data_after_adoption(document)
        return replace(drafted, contents={**stored, **drafted.contents}, data=data)

    def _drafted(
        self,
        stack: Stack,
        source: NestedStackSource,
        parent: ParentStack,
        environment: Environment,
        row: Resource,
        facade: Mapping[str, Json],
    ) -> PreparedNestedStack:
        """Without ``data``; ``environment`` is the nested stack's."""
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        text = self._restored(source.text, environment)
        key = content_hash(text)
        template = self.template_cache.template(key, lambda _hashes: {key: text})
        facts = StackContext(
            stack.id,
            stack.name,
            stack.project_id,
            self.region,
            facade=dict(facade),
            availability_zones=environment.availability_zones,
        )
        evaluated = evaluate_template(
            template,
            environment,
            parent.files,
            facts,
            EvaluationOptions(
                functions=self.functions, custom_constraints=self.custom_constraints
            ),
        )
        if row.definition.get("sensitive"):
            evaluated = _sealed(evaluated)
        reads = _reads(row)
        wanted = derive_desired_resources(
            evaluated,
            environment,
            parent.files,
            self.registry,
            parent_attribute_paths=kind.member_attribute_paths(reads, list(evaluated.definitions)),
        )
        same = environment.registry.entries == parent.environment.registry.entries
        inherited = parent.common_part_hash if same else None
        own = {"parameters": dict(environment.parameters)}
        timeout_mins = source.timeout_mins or stack.timeout_mins
        goal = Goal(
            id=stack.goal_id,
            stack_id=stack.id,
            version=stack.version,
            template_hash=key,
            environment=environment.to_stored() if inherited is None else own,
            files=dict(parent.files.hashes) if inherited is None else {},
            common_part_hash=inherited,
            parameters=evaluated.api_parameters(),
            outputs={name: output.dump() for name, output in evaluated.outputs.items()},
            description=evaluated.description,
            created_at=stack.created_at,
            # Defaults may be those of parameters that a stack further down hides.
            sensitive=bool(
                evaluated.hidden_parameter_values
                or row.definition.get("sensitive")
                or environment.parameter_defaults
            ),
        )
        return PreparedNestedStack(
            stack=replace(stack, timeout_mins=timeout_mins),
            goal=goal,
            desired_resources=wanted,
            contents={} if key in parent.files.hashes.values() else {key: text},
            data={},
        )

    def _restored(self, text: str, environment: Environment) -> str:
        """The template's text with what brings back resources that a snapshot saved."""
        given = environment.registry.restored_properties()
        if not given:
            return text
        key = content_hash(text)
        changed = with_resource_properties(
            self.template_cache.template(key, lambda _hashes: {key: text}), given
        )
        return text if changed is None else json.dumps(changed, ensure_ascii=False)

    def _template(self, goal: Goal | None, load: ContentLoader) -> Template | None:
        return None if goal is None else self.template_cache.template(goal.template_hash, load)

    def _stack(self, parent: Stack, row: Resource, ids: IdFactory) -> Stack:
        """A new one; of what exists already, only the identity counts."""
        return Stack(
            id=row.physical_id or ids(),
            name=row.physical_name,
            project_id=parent.project_id,
            version=1,
            action=Action.CREATE,
            status=Status.IN_PROGRESS,
            status_reason="",
            goal_id=ids(),
            created_at=self.clock(),
            username=parent.username,
            disable_rollback=True,
            timeout_mins=parent.timeout_mins,
            owner_id=parent.id,
            owner_resource_id=row.id,
            root_id=parent.tree_id,
            depth=parent.depth + 1,
            parent_resource=row.name,
        )

    def _environment(self, sections: Mapping[str, Json]) -> Environment:
        return Environment.from_stored(sections, base=self.global_environment, limits=self.limits)


def _reads(row: Resource) -> Collection[tuple[str, ...]]:
    return [
        tuple(read)
        for read in (row.definition.get(NESTED_STACK_KEY) or {}).get(ATTRIBUTE_PATHS_KEY, ())
    ]


def _made_of(
    row: Resource, properties: Mapping[str, Json], key: str, facade: Mapping[str, Json]
) -> str:
    """A digest of all that the nested stack's goal comes from."""
    parts = [row.definition_hash, properties_hash(properties), key, facade]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def _sealed(evaluated: EvaluatedTemplate) -> EvaluatedTemplate:
    """A secret went into the stack: whatever is in it may hold that secret."""
    return replace(
        evaluated,
        definitions={
            name: replace(each, sensitive=True) for name, each in evaluated.definitions.items()
        },
        outputs={name: replace(each, sensitive=True) for name, each in evaluated.outputs.items()},
    )


def nested_validation_error(error: Error, where: str) -> Error:
    """The error as one of the nested stack's validation, its path lengthened."""
    message = error.message
    head, path = "", error.path
    if not path:
        for prefix in ("Property error: ",):
            if message.startswith(prefix):
                head, message = prefix, message.removeprefix(prefix)
        first, colon, rest = message.partition(": ")
        if colon and first.split(".")[0].lower() in _SECTIONS:
            path, message = first, rest
    full = f"{where}.{path}" if path else where
    kind = type(error)
    name = "" if kind is StackValidationFailed else f"{kind.__name__}: "
    return StackValidationFailed(f"{head}{name}{message}", path=full)


_SECTIONS = frozenset({"resources", "parameters", "outputs", "conditions"})
