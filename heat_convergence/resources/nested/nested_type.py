"""The base of resource types that have a nested stack.

A type decides the template of its nested stack and which values of it are the resource's
attributes.  The engine creates and changes the stack in its own transactions, the
observer reads it; a type must not read rows itself.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from heat_convergence.common.errors import Error, NotFound, NotSupported
from heat_convergence.common.failures import TemplateOutputError
from heat_convergence.convergence.model.goal import Goal
from heat_convergence.convergence.model.resource import InputResource, Resource
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.protocol.resource_context import RowInputs
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.scaling_adjustment import GroupCompletion, ScalingBounds
from heat_convergence.resources.protocol.schema import TypeSchema
from heat_convergence.resources.protocol.verb_values import ResourceContext, VerbResult
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.evaluation.evaluation import ValueAtPath, resolve_value
from heat_convergence.template.evaluation.output_definition import OutputDefinition
from heat_convergence.template.evaluation_budget import evaluation_budget
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
"""An attribute that others read of a resource: its name and the path into it."""

# Names among the recorded attributes, beside those of outputs.
RECORDED_VALUES_KEY, REFERENCE_ID_KEY = "$reads", "$reference"
ATTRIBUTE_ERRORS_KEY = "$untold"  # attribute path key → why it has no value
MEMBER_ATTRIBUTE_PREFIX = "resource."
COOLDOWN_END_KEY, SCALING_KEY = "cooldown_end", "scaling"  # names in a group's data
UNKNOWN_VALUE_NAME = "$later"
"""The function that a sample's template calls where a value is not known yet."""


@dataclass(frozen=True, slots=True)
class NestedStackRequest:
    """A request for the template of a resource's nested stack.

    Attributes:
        definition: the stored one.
        data: what the type has recorded of the resource.
        load_members: gives the rows of the nested stack as it is now, none before it exists.
        load_template: gives the nested stack's current template.
        requested_size: how many members a signal asks for.
        random_seed: differs between any two resources.
        timeout_s: how long the stack's action may take, where that is known.
        nested_stack_id: the id of the nested stack, where that is known.
        dependencies: the resources that this one refers to, by name, for types that set
            ``observes_dependencies``; none at a signal.
        owner_parameters: the parameters of the stack that has the resource, where it exists.
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
    nested_stack_id: str = ""
    dependencies: Mapping[str, ResourceContext] = field(default_factory=dict)
    owner_parameters: Mapping[str, Json] = field(default_factory=dict)

    def with_properties(self, properties: Mapping[str, Json]) -> NestedStackRequest:
        """Return the same request with other properties."""
        return replace(self, properties=properties)


@dataclass(frozen=True, slots=True)
class NestedStackSource:
    """A nested stack as its type wants it to be.

    Attributes:
        data: to be recorded with the resource.
        has_next_step: whether another step follows, ``pause_s`` after this one.
    """

    text: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    timeout_mins: int | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    has_next_step: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class NestedStackView:
    """A nested stack at rest, as the type of its resource reads it.

    Attributes:
        owner_resource: the resource whose nested stack it is.
        load_inputs: gives the nested stack's resources by their names.
        load_resource_names: gives the names of all resources in its template.
    """

    stack: Stack
    goal: Goal
    owner_resource: InputResource
    load_inputs: Callable[[Collection[str]], RowInputs]
    load_resource_names: Callable[[], Sequence[str]]
    limits: TemplateLimits = DEFAULT_LIMITS
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)

    def evaluate_outputs(self) -> tuple[dict[str, Json], dict[str, str]]:
        """Return every output's value, null where it has none, and the reasons, by name.

        All outputs share one budget: there may be many of them.
        """
        values: dict[str, Json] = {}
        errors: dict[str, str] = {}
        if not self.goal.outputs:  # which may be found out under locks
            return values, errors
        inputs = self.load_inputs(())
        with evaluation_budget(self.limits):
            for name, data in sorted(self.goal.outputs.items()):
                values[name] = None
                try:
                    values[name] = self._value(OutputDefinition.load(name, data), inputs)
                except Error as error:
                    errors[name] = error.message
        return values, errors

    def _value(self, output: OutputDefinition, inputs: RowInputs) -> Json:
        if not output.enabled:
            return None
        where = f"outputs.{output.name}.value"
        return resolve_value(
            output.value, inputs, limits=self.limits, functions=self.functions, location=where
        )

    def redact_errors(self, attributes: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the attributes with reasons that quote no value of the nested stack."""
        if ATTRIBUTE_ERRORS_KEY not in attributes:
            return attributes
        outputs = [OutputDefinition.load(*each).value for each in self.goal.outputs.items()]
        rows = self.load_inputs(()).rows.values()
        secrets = set(
            sensitive_texts([outputs, [(row.attributes, row.properties) for row in rows]])
        )
        return {
            **attributes,
            ATTRIBUTE_ERRORS_KEY: {
                key: redact(why, secrets) for key, why in attributes[ATTRIBUTE_ERRORS_KEY].items()
            },
        }

    def member_value(self, name: str, path: Sequence[Json]) -> Json:
        """Return the reference, or an attribute, of a member; null if it does not exist.

        Args:
            name: the member's.
            path: the attribute's name and the path into it; empty for the reference.

        Raises:
            Error: the attribute has no value.
        """
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
        """Return what ``resource.PART`` reads of the member that it names.

        Raises:
            NotFound: there is no such member.
            Error: the attribute has no value.
        """
        if name not in self.load_inputs((name,)).rows:
            raise NotFound(f"{self.owner_resource.name} has no resource {part} inside")
        return self.member_value(name, path)


def normalize_attribute_path(name: str, path: Sequence[Json]) -> AttributePath | None:
    """Return ``resource.a.b`` as ``resource.a``, ``b``; None where the path is not known."""
    if not all(isinstance(part, str | int) for part in path):
        return None
    if name.startswith(MEMBER_ATTRIBUTE_PREFIX) and name.count(".") > 1:
        head, member, rest = name.split(".", 2)
        return (f"{head}.{member}", rest, *map(str, path))
    return (name, *map(str, path))


class NestedTypeSchema(TypeSchema):
    """A schema with the members' attributes, as ``resource.NAME``, beside the declared ones."""

    def has_attribute(self, name: str) -> bool:
        """Return whether the attribute is declared or a member's."""
        return name.startswith(MEMBER_ATTRIBUTE_PREFIX) or TypeSchema.has_attribute(self, name)


class NestedType(ResourceType):
    """A type with a nested stack, whose traversals are the resource's actions."""

    local = True
    has_nested_stack = True
    replace_when_check_failed = False
    error_path_label: ClassVar[str] = "<nested_stack>"  # after the resource's name, in errors
    # Types in the nested stack that neither the properties nor a file name; None: any.
    generated_types: ClassVar[frozenset[str] | None] = None
    member_types: ClassVar[Mapping[str, str]] = {}  # type that only the nested stack has → its own

    @abstractmethod
    def source(self, request: NestedStackRequest) -> NestedStackSource:
        """Return the nested stack to create or update now.

        Raises:
            Error: a mistake in the properties or the template.
        """

    def validation_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the nested stack to validate before it exists; None if nothing is to check.

        Parameters that are not known yet are ``UNKNOWN``.
        """
        return self.source(request)

    def final_source(self, request: NestedStackRequest) -> NestedStackSource | None:
        """Return the nested stack after all steps, for previews.

        None where it depends on values that are not known yet.
        """
        return self.validation_source(request)

    def member_count(self, request: NestedStackRequest) -> int:
        """Return how many times the resources to validate will exist."""
        return 1

    @abstractmethod
    def read_attributes(
        self, view: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the attributes to record."""

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return what is read of each member when these attributes are read of the resource."""
        found: dict[str, set[AttributePath]] = {}
        for name, *path in reads:
            if name.startswith(MEMBER_ATTRIBUTE_PREFIX) and path:
                read = normalize_attribute_path(path[0], path[1:])
                if read is not None:
                    found.setdefault(name.removeprefix(MEMBER_ATTRIBUTE_PREFIX), set()).add(read)
        return found

    def data_after_adoption(self, document: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return what to record of a nested stack that is adopted before its next goal."""
        return {}

    def data_after_completion(self, completion: GroupCompletion) -> Mapping[str, Json] | None:
        """Return what to record when the nested stack is at rest, None if nothing changes."""
        return None

    def check_attribute_path(self, name: str, path: Sequence[Json]) -> None:
        """Raise for an attribute that cannot be read so."""

    def error_path_suffix(self, request: NestedStackRequest) -> str:
        """Return the nested stack's part of an error's path."""
        return self.error_path_label

    def attribute(self, view: ResourceContext, name: str) -> Json:
        """Return the recorded value."""
        return self._recorded(view, name, ())

    def attribute_at_path(self, view: ResourceContext, name: str, path: tuple[Json, ...]) -> Json:
        """Return the recorded value.

        Raises:
            TemplateOutputError: it could not be evaluated.
        """
        errors = view.attributes.get(ATTRIBUTE_ERRORS_KEY)
        if errors:
            read = normalize_attribute_path(name, path) or (name,)
            why = errors.get(attribute_path_key(read)) or errors.get(attribute_path_key((name,)))
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
        """Return the names of the declared attributes and of the recorded outputs."""
        recorded = (name for name in view.attributes if not name.startswith("$"))
        return sorted({*self.schema.attributes, *recorded})

    def create(self, view: ResourceContext) -> VerbResult:
        """Refuse: the engine creates nested stacks in its own transactions."""
        raise self._not_supported()

    def update(
        self, view: ResourceContext, after: Mapping[str, Json], changed: frozenset[str]
    ) -> VerbResult:
        """Refuse, as ``create`` does."""
        raise self._not_supported()

    def delete(self, view: ResourceContext) -> VerbResult:
        """Refuse, as ``create`` does."""
        raise self._not_supported()

    def observe(self, view: ResourceContext) -> VerbResult:
        """Refuse, as ``create`` does."""
        raise self._not_supported()

    def _not_supported(self) -> Error:
        return NotSupported(f"{self.name} is not adopted, nor given by external_id.")


class ScalableGroupType(NestedType):
    """A group whose size policies may change."""

    @abstractmethod
    def scaling_bounds(self, properties: Mapping[str, Json]) -> ScalingBounds:
        """Return the sizes and the cooldown of the group with these properties."""


def replace_unresolved(values: Mapping[str, Json]) -> dict[str, Json]:
    """Return the values with ``UNKNOWN`` for those that hold an expression."""
    return {name: value if is_known(value) else UNKNOWN for name, value in values.items()}


def attribute_path_key(read: AttributePath) -> str:
    """Return the key under which an attribute's value is recorded."""
    return json.dumps(list(read), ensure_ascii=False)


class AttributeRecorder:
    """The values of attributes as they are recorded, and why some have none."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.errors: dict[str, str] = {}

    def record(self, read: AttributePath, value: Callable[[], Json]) -> None:
        """Record what ``value`` returns, or the error that it raises."""
        key = attribute_path_key(read)
        try:
            self.values[key] = value()
        except Error as error:
            self.values[key], self.errors[key] = None, error.message

    def as_attributes(self) -> dict[str, Json]:
        """Return the attributes to store with the resource."""
        return {**({RECORDED_VALUES_KEY: self.values} if self.values else {}),
                **({ATTRIBUTE_ERRORS_KEY: self.errors} if self.errors else {})}  # fmt: skip


def stack_arn(project_id: str, name: str, stack_id: str) -> str:
    """Return the identifier of a stack as one string."""
    return f"arn:openstack:heat::{project_id}:stacks/{name}/{stack_id}"
