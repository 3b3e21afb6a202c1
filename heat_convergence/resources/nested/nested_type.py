"""What a resource type with a stack behind it decides: the template of that stack,
and what of it is read as the resource's attributes.

The engine makes and changes the stack in its own transactions; the observer reads
it.  A type only says what is wanted, and must not reach for rows itself.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar

from heat_convergence.common.errors import (
    Error,
    NotFound,
    NotSupported,
    TemplateOutputError,
)
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.resource_type import (
    ResourceContext,
    ResourceType,
    VerbResult,
)
from heat_convergence.resources.protocol.scaling_adjustment import ScalingBounds
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import ValueAtPath, resolve_value
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.function import (
    NO_FUNCTIONS,
    UNKNOWN,
    Function,
    select_path,
)
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.template import Template
from heat_convergence.template.text_redaction import redact, sensitive_texts

Json = Any
AttributePath = tuple[str, ...]
"""What others read of a resource: the attribute's name and the path into it."""

RECORDED_VALUES_KEY, REFERENCE_ID_KEY = "$reads", "$reference"  # among the recorded attributes
ATTRIBUTE_ERRORS_KEY = "$untold"  # there: key of a read → why it has no value
MEMBER_ATTRIBUTE_PREFIX = "resource."
COOLDOWN_END_KEY, SCALING_KEY = "cooldown_end", "scaling"  # names in a group's data
UNKNOWN_VALUE_NAME = "$later"
"""What a sample's template calls where a value is not known yet."""


@dataclass(frozen=True, slots=True)
class NestedStackRequest:
    """For which resource a template is wanted, and what there is.

    ``definition`` is the stored one, ``data`` what the type has remembered;
    ``members`` gives the rows of the stack as it is now, none before there is one.
    ``current`` gives the template that the stack was last given.  ``size`` is how many
    members a signal asks for; ``seed`` tells the resource from every other one;
    ``timeout_s`` is how long the stack's action may take, where that is known.
    """

    name: str
    type: str
    implementation: str
    properties: Mapping[str, Json]
    definition: Mapping[str, Json]
    data: Mapping[str, Json]
    environment: Environment
    files: TemplateFiles
    load_members: Callable[[], Sequence[Resource]] = tuple
    load_template: Callable[[], Template | None] = lambda: None
    update_policy: Mapping[str, Json] = field(default_factory=dict)
    requested_size: int | None = None
    random_seed: str = ""
    timeout_s: float | None = None

    def with_properties(self, properties: Mapping[str, Json]) -> NestedStackRequest:
        """The same with other properties."""
        return replace(self, properties=properties)


@dataclass(frozen=True, slots=True)
class NestedStackSource:
    """A nested stack as a type wants it.

    ``data`` is remembered with the resource; ``more`` says that another step follows
    when the stack has ended, after ``pause_s``.
    """

    text: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    timeout_mins: int | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    has_next_step: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NestedStackView:
    """A nested stack that has ended, as its owner's type reads it."""

    stack: Stack
    goal: Goal
    owner_resource: Resource | InputResource  # the owner's
    load_inputs: Callable[[Collection[str]], RowInputs]
    load_resource_names: Callable[[], Sequence[str]]  # of the resources in its template
    limits: TemplateLimits = DEFAULT_LIMITS
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)

    def evaluate_outputs(self) -> tuple[dict[str, Json], dict[str, str]]:
        """Every output's value, null where it can't be told; and why not, by name."""
        values: dict[str, Json] = {}
        untold: dict[str, str] = {}
        inputs = self.load_inputs(())
        for name, data in sorted(self.goal.outputs.items()):
            values[name] = None
            try:
                values[name] = self._value(OutputDefinition.load(name, data), inputs)
            except Error as error:
                untold[name] = str(error)
        return values, untold

    def _value(self, output: OutputDefinition, inputs: RowInputs) -> Json:
        if not output.enabled:
            return None
        where = f"outputs.{output.name}.value"
        return resolve_value(
            output.value, inputs, limits=self.limits, functions=self.functions, location=where
        )

    def redact_errors(self, told: Mapping[str, Json]) -> Mapping[str, Json]:
        """The same attributes, where reasons quote none of the values inside."""
        if ATTRIBUTE_ERRORS_KEY not in told:
            return told
        given = [OutputDefinition.load(*each).value for each in self.goal.outputs.items()]
        rows = self.load_inputs(()).rows.values()
        secrets = set(sensitive_texts([given, [(row.attributes, row.properties) for row in rows]]))
        return {
            **told,
            ATTRIBUTE_ERRORS_KEY: {
                key: redact(why, secrets) for key, why in told[ATTRIBUTE_ERRORS_KEY].items()
            },
        }

    def member_value(self, name: str, path: Sequence[Json]) -> Json:
        """The reference, or an attribute, of a resource inside; null for one that is not
        there.  Raises what keeps that attribute from being told."""
        inputs = self.load_inputs((name,))
        if name not in inputs.rows:
            return None
        if not path:
            return inputs.reference_id(name)
        value = inputs.attribute(name, str(path[0]), tuple(path[1:]))
        if isinstance(value, ValueAtPath):
            return value.value
        return select_path(value, list(path[1:]), missing=None)

    def existing_member_value(self, part: str, name: str, path: Sequence[Json]) -> Json:
        """What ``resource.PART`` reads, which is that resource.  Raises ``NotFound``
        where there is none."""
        if name not in self.load_inputs((name,)).rows:
            raise NotFound(f"{self.owner_resource.name} has no resource {part} inside")
        return self.member_value(name, path)


def normalize_attribute_path(name: str, path: Sequence[Json]) -> AttributePath | None:
    """``resource.a.b`` as ``resource.a``, ``b``; None where the path is not known."""
    if not all(isinstance(part, str | int) for part in path):
        return None
    if name.startswith(MEMBER_ATTRIBUTE_PREFIX) and name.count(".") > 1:
        head, member, rest = name.split(".", 2)
        return (f"{head}.{member}", rest, *map(str, path))
    return (name, *map(str, path))


class NestedTypeSchema(TypeSchema):
    """Whose attributes also reach inside: ``resource.CONSOLE_URLS``."""

    def has_attribute(self, name: str) -> bool:
        return name.startswith(MEMBER_ATTRIBUTE_PREFIX) or TypeSchema.has_attribute(self, name)


class NestedType(ResourceType):
    """A type with a stack behind it; what it does is that stack's traversals."""

    local = True
    has_nested_stack = True
    replace_when_check_failed = False
    error_path_label: ClassVar[str] = "<nested_stack>"  # after the resource's name, in errors

    @abstractmethod
    def source(self, ask: NestedStackRequest) -> NestedStackSource:
        """The stack that the resource wants now; raises where it can't be told."""

    def validation_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        """The stack to validate before there is one; None: there is nothing to check.
        Parameters that are not known yet are ``MISSING_REFERENCES``."""
        return self.source(ask)

    def final_source(self, ask: NestedStackRequest) -> NestedStackSource | None:
        """The stack that the resource will want in the end, for previews; None where that
        hangs on what is not known yet."""
        return self.validation_source(ask)

    def member_count(self, ask: NestedStackRequest) -> int:
        """How many times the sample's resources there will be."""
        return 1

    @abstractmethod
    def read_attributes(
        self, behind: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """The attributes to record."""

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """What of its members is read when these of it are: member → reads."""
        found: dict[str, set[AttributePath]] = {}
        for name, *path in reads:
            if name.startswith(MEMBER_ATTRIBUTE_PREFIX) and path:
                read = normalize_attribute_path(path[0], path[1:])
                if read is not None:
                    found.setdefault(name.removeprefix(MEMBER_ATTRIBUTE_PREFIX), set()).add(read)
        return found

    def data_after_adoption(self, document: Mapping[str, Json]) -> Mapping[str, Json]:
        """What to remember of a stack that is made as it was handed over, before another
        goal changes it."""
        return {}

    def data_after_completion(
        self, data: Mapping[str, Json], now: datetime
    ) -> Mapping[str, Json] | None:
        """What to remember when the stack has come to an end; None: nothing new."""
        return None

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Raises for an attribute that can't be read so."""

    def error_path_suffix(self, ask: NestedStackRequest) -> str:
        """What stands for the stack in the path of an error."""
        return self.error_path_label

    def attribute(self, view: ResourceContext, name: str) -> Json:
        return self._recorded(view, name, ())

    def attribute_at_path(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        """Raises ``TemplateOutputError`` for what could not be told."""
        untold = view.attributes.get(ATTRIBUTE_ERRORS_KEY)
        if untold:
            read = normalize_attribute_path(name, path) or (name,)
            why = untold.get(attribute_path_key(read)) or untold.get(attribute_path_key((name,)))
            if why is not None:
                raise TemplateOutputError(view.name, name, why)
        return self._recorded(view, name, path)

    def _recorded(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        read = normalize_attribute_path(name, path)
        recorded = view.attributes.get(RECORDED_VALUES_KEY) or {}
        key = None if read is None else attribute_path_key(read)
        if key in recorded:
            return ValueAtPath(recorded[key]) if path else recorded[key]
        return view.attributes.get(name)

    def attribute_names(self, view: ResourceContext) -> list[str]:
        return sorted(name for name in view.attributes if not name.startswith("$"))

    def create(self, view: ResourceContext) -> VerbResult:
        raise self._not_here()

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        raise self._not_here()

    def delete(self, view: ResourceContext) -> VerbResult:
        raise self._not_here()

    def observe(self, view: ResourceContext) -> VerbResult:
        raise self._not_here()

    def _not_here(self) -> Error:
        return NotSupported(f"{self.name} is not adopted, nor given by external_id.")


class ScalableGroupType(NestedType):
    """A group whose size policies may change."""

    @abstractmethod
    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        """Return the sizes and the cooldown of the group with these properties."""


def replace_unresolved(values: Mapping[str, Json]) -> dict[str, Json]:
    """With ``MISSING_REFERENCES`` for what has an expression in it."""
    return {name: value if is_known(value) else UNKNOWN for name, value in values.items()}


def attribute_path_key(read: AttributePath) -> str:
    """Under which a read's value is recorded."""
    return json.dumps(list(read), ensure_ascii=False)


class AttributeRecorder:
    """Values of reads as they are recorded, and why some have none."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.errors: dict[str, str] = {}

    def record(self, read: AttributePath, value: Callable[[], Json]) -> None:
        key = attribute_path_key(read)
        try:
            self.values[key] = value()
        except Error as error:
            self.values[key], self.errors[key] = None, str(error)

    def as_attributes(self) -> dict[str, Json]:
        return {**({RECORDED_VALUES_KEY: self.values} if self.values else {}),
                **({ATTRIBUTE_ERRORS_KEY: self.errors} if self.errors else {})}  # fmt: skip


def stack_arn(project_id: str, name: str, stack_id: str) -> str:
    """The identifier of a stack in one string."""
    return f"arn:openstack:heat::{project_id}:stacks/{name}/{stack_id}"
