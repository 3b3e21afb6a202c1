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
from heat_convergence.convergence.apart import whole
from heat_convergence.convergence.model import (
    Action,
    Goal,
    Resource,
    Stack,
    Status,
)
from heat_convergence.convergence.wanted import NESTED, Wanted
from heat_convergence.resources.nesting.kinds import Ask, ChildSource, NestedType
from heat_convergence.resources.nesting.parsed import Files, Load, Parsed, hash_of
from heat_convergence.resources.nesting.wanting import READS, wanted_of
from heat_convergence.resources.properties import properties_hash
from heat_convergence.resources.registry import Registry
from heat_convergence.resources.saved import with_properties
from heat_convergence.template.constraints import CustomCheck
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import build
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.functions.base import NO_FUNCTIONS, Function
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.parameter_values import StackFacts
from heat_convergence.template.template import Template

Json = Any
_KEPT = 64  # environments


@dataclass(frozen=True, slots=True)
class Parent:
    """A stack that has others behind its resources, and what it hands down."""

    stack: Stack
    environment: Environment
    files: Files
    load: Load
    inherited: str | None = None  # hash of environment and files, as they are stored

    def without_hooks(self) -> Parent:
        """What is handed down where nothing is to stop."""
        registry = self.environment.registry.without_hooks()
        if registry.entries == self.environment.registry.entries:
            return self
        return replace(
            self, environment=replace(self.environment, registry=registry), inherited=None
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """A nested stack that is stored nowhere yet; ``data`` is for its owner's row."""

    stack: Stack
    goal: Goal
    wanted: Mapping[str, Wanted]
    contents: Mapping[str, str]
    data: Mapping[str, Json]


@dataclass(slots=True)
class Children:
    """Makes drafts; one per process."""

    registry: Registry
    clock: Clock
    limits: Limits = DEFAULT
    base: Environment | None = None  # the operator's
    region: str | None = None
    custom: Mapping[str, CustomCheck] | None = None
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)
    parsed: Parsed = field(default_factory=Parsed)
    timeout_s: float | None = None  # of an action where the stack says nothing
    environments: int = 0  # parsed; counted for tests
    _kept: OrderedDict[str, tuple[Environment, Files]] = field(
        default_factory=OrderedDict
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def parent(self, stack: Stack, load_goal: Callable[[str], Any], load: Load) -> Parent:
        """The stack with what it hands down; ``load_goal`` gives goals as rows have
        them.  Its own parameters are left out: no child gets them."""
        goal = load_goal(stack.goal_id)
        if goal is None:
            raise RowsContradict(f"Stack {stack.id} has no goal {stack.goal_id}")
        environment, known = self._inherited(goal, load)
        files = known.loading(load)
        return Parent(stack, environment, files, load, goal.inherited)

    def _inherited(self, goal: Goal, load: Load) -> tuple[Environment, Files]:
        key = goal.inherited or goal.id
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        full = whole(replace(goal, parameters={}), load)
        sections = {name: item for name, item in full.environment.items() if name != "parameters"}
        made = (self._environment(sections), Files(full.files, self.parsed, load))
        with self._lock:
            self.environments += 1
            self._kept[key] = made
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return made

    def draft(
        self,
        parent: Parent,
        row: Resource,
        properties: Mapping[str, Json],
        ids: IdFactory,
        *,
        facade: Mapping[str, Json],
        members: Callable[[], Sequence[Resource]] = tuple,
        goal: Callable[[], Goal | None] = lambda: None,
        size: int | None = None,
    ) -> Draft:
        """``members`` and ``goal`` tell of the nested stack as it is, ``size`` how many
        members a signal asks for.  Raises what is wrong with the template, its parameters
        or its resources, with the path from the owner down."""
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        stack = self._stack(parent.stack, row, ids)
        minutes = stack.timeout_mins
        ask = Ask(
            name=row.name,
            type=row.type,
            implementation=row.implementation,
            properties=properties,
            definition=row.definition,
            data=row.data,
            environment=parent.environment,
            files=parent.files,
            members=members,
            current=lambda: self._template(goal(), parent.load),
            update_policy=facade.get("update_policy") or {},
            size=size,
            seed=row.id,
            timeout_s=minutes * 60.0 if minutes else self.timeout_s,
        )
        try:
            source = kind.source(ask)
            environment = parent.environment.for_child(row.name, source.parameters)
            drafted = self._drafted(stack, source, parent, environment, row, facade)
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise  # the database's, not the template's
            raise placed(error, f"resources.{row.name}{kind.where(ask)}") from error
        made_of = _made_of(row, properties, drafted.goal.template_hash, facade)
        steps = {"steps": {"more": True, "pause_s": source.pause_s}} if source.more else {}
        return replace(drafted, data={**source.data, **steps, "made_of": made_of})

    def handed(
        self,
        parent: Parent,
        row: Resource,
        document: Mapping[str, Json],
        ids: IdFactory,
        *,
        facade: Mapping[str, Json],
    ) -> Draft:
        """The nested stack as the document has it that was handed over, whatever is wanted
        of it by now.  Raises as ``draft``."""
        template, texts = document.get("template"), document.get("files") or {}
        text = template if isinstance(template, str) else json.dumps(template, sort_keys=True)
        stack = self._stack(parent.stack, row, ids)
        try:
            environment = self._environment(document.get("environment") or {})
            files = parent.files.with_texts(texts)
            above = replace(parent, environment=environment, files=files, inherited=None)
            drafted = self._drafted(stack, ChildSource(text), above, environment, row, facade)
        except Error as error:
            if error.retry is not Retry.NEVER:
                raise
            raise placed(error, f"resources.{row.name}") from error
        stored = {files.hashes[name]: content for name, content in texts.items()}
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        data = kind.taken_over(document)
        return replace(drafted, contents={**stored, **drafted.contents}, data=data)

    def _drafted(
        self,
        stack: Stack,
        source: ChildSource,
        parent: Parent,
        environment: Environment,
        row: Resource,
        facade: Mapping[str, Json],
    ) -> Draft:
        """Without ``data``; ``environment`` is the nested stack's."""
        kind = self.registry.get(row.implementation)
        assert isinstance(kind, NestedType)
        text = self._restored(source.text, environment)
        key = hash_of(text)
        template = self.parsed.template(key, lambda _hashes: {key: text})
        facts = StackFacts(
            stack.id,
            stack.name,
            stack.project_id,
            self.region,
            facade=dict(facade),
            zones=environment.zones,
        )
        evaluated = build(
            template,
            environment,
            parent.files,
            facts,
            functions=self.functions,
            custom_constraints=self.custom,
        )
        if row.definition.get("sensitive"):
            evaluated = _sealed(evaluated)
        reads = _reads(row)
        wanted = wanted_of(
            evaluated,
            environment,
            parent.files,
            self.registry,
            above=kind.passes_on(reads, list(evaluated.definitions)),
        )
        same = environment.registry.entries == parent.environment.registry.entries
        inherited = parent.inherited if same else None
        own = {"parameters": dict(environment.parameters)}
        timeout_mins = source.timeout_mins or stack.timeout_mins
        goal = Goal(
            id=stack.goal_id,
            stack_id=stack.id,
            version=stack.version,
            template_hash=key,
            environment=environment.to_store() if inherited is None else own,
            files=dict(parent.files.hashes) if inherited is None else {},
            inherited=inherited,
            parameters=evaluated.api_parameters(),
            outputs={name: output.dump() for name, output in evaluated.outputs.items()},
            description=evaluated.description,
            created_at=stack.created_at,
            # Defaults may be those of parameters that a stack further down hides.
            sensitive=bool(
                evaluated.hidden_values
                or row.definition.get("sensitive")
                or environment.parameter_defaults
            ),
        )
        return Draft(
            stack=replace(stack, timeout_mins=timeout_mins),
            goal=goal,
            wanted=wanted,
            contents={} if key in parent.files.hashes.values() else {key: text},
            data={},
        )

    def _restored(self, text: str, environment: Environment) -> str:
        """The template's text with what brings back resources that a snapshot saved."""
        given = environment.registry.restored()
        if not given:
            return text
        key = hash_of(text)
        changed = with_properties(self.parsed.template(key, lambda _hashes: {key: text}), given)
        return text if changed is None else json.dumps(changed, ensure_ascii=False)

    def _template(self, goal: Goal | None, load: Load) -> Template | None:
        return None if goal is None else self.parsed.template(goal.template_hash, load)

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
        return Environment.of_stored(sections, base=self.base, limits=self.limits)


def _reads(row: Resource) -> Collection[tuple[str, ...]]:
    return [tuple(read) for read in (row.definition.get(NESTED) or {}).get(READS, ())]


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
        outputs={
            name: replace(each, sensitive=True) for name, each in evaluated.outputs.items()
        },
    )


def placed(error: Error, where: str) -> Error:
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
