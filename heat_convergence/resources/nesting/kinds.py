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
from heat_convergence.convergence.model import Goal, Input, Resource, Stack
from heat_convergence.resources.nesting.parsed import Files
from heat_convergence.resources.plugin import Look, ResourceType, View
from heat_convergence.resources.schema import TypeSchema
from heat_convergence.resources.views import RowInputs
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluate import PathApplied, finish
from heat_convergence.template.expression import is_known
from heat_convergence.template.functions.base import NO_FUNCTIONS, UNKNOWN, Function, select
from heat_convergence.template.limits import DEFAULT, Limits
from heat_convergence.template.masking import masked, texts_of
from heat_convergence.template.outputs import OutputDefinition
from heat_convergence.template.template import Template

Json = Any
Read = tuple[str, ...]
"""What others read of a resource: the attribute's name and the path into it."""

READS, REFERENCE = "$reads", "$reference"  # among the recorded attributes
UNTOLD = "$untold"  # there: key of a read → why it has no value
INNER = "resource."
LATER = "$later"
"""What a sample's template calls where a value is not known yet."""


@dataclass(frozen=True, slots=True)
class Ask:
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
    files: Files
    members: Callable[[], Sequence[Resource]] = tuple
    current: Callable[[], Template | None] = lambda: None
    update_policy: Mapping[str, Json] = field(default_factory=dict)
    size: int | None = None
    seed: str = ""
    timeout_s: float | None = None

    def having(self, properties: Mapping[str, Json]) -> Ask:
        """The same with other properties."""
        return replace(self, properties=properties)


@dataclass(frozen=True, slots=True)
class ChildSource:
    """A nested stack as a type wants it.

    ``data`` is remembered with the resource; ``more`` says that another step follows
    when the stack has ended, after ``pause_s``.
    """

    text: str
    parameters: Mapping[str, Json] = field(default_factory=dict)
    timeout_mins: int | None = None
    data: Mapping[str, Json] = field(default_factory=dict)
    more: bool = False
    pause_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Behind:
    """A nested stack that has ended, as its owner's type reads it."""

    stack: Stack
    goal: Goal
    row: Resource | Input  # the owner's
    inputs: Callable[[Collection[str]], RowInputs]
    names: Callable[[], Sequence[str]]  # of the resources in its template
    limits: Limits = DEFAULT
    functions: Mapping[str, Function] = field(default_factory=lambda: NO_FUNCTIONS)

    def outputs(self) -> tuple[dict[str, Json], dict[str, str]]:
        """Every output's value, null where it can't be told; and why not, by name."""
        values: dict[str, Json] = {}
        untold: dict[str, str] = {}
        inputs = self.inputs(())
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
        return finish(
            output.value, inputs, limits=self.limits, functions=self.functions, where=where
        )

    def hidden(self, told: Mapping[str, Json]) -> Mapping[str, Json]:
        """The same attributes, where reasons quote none of the values inside."""
        if UNTOLD not in told:
            return told
        given = [OutputDefinition.load(*each).value for each in self.goal.outputs.items()]
        rows = self.inputs(()).rows.values()
        secrets = set(texts_of([given, [(row.attributes, row.properties) for row in rows]]))
        return {**told, UNTOLD: {key: masked(why, secrets) for key, why in told[UNTOLD].items()}}

    def inner(self, name: str, path: Sequence[Json]) -> Json:
        """The reference, or an attribute, of a resource inside; null for one that is not
        there.  Raises what keeps that attribute from being told."""
        inputs = self.inputs((name,))
        if name not in inputs.rows:
            return None
        if not path:
            return inputs.reference_id(name)
        value = inputs.attribute(name, str(path[0]), tuple(path[1:]))
        if isinstance(value, PathApplied):
            return value.value
        return select(value, list(path[1:]), missing=None)

    def named(self, part: str, name: str, path: Sequence[Json]) -> Json:
        """What ``resource.PART`` reads, which is that resource.  Raises ``NotFound``
        where there is none."""
        if name not in self.inputs((name,)).rows:
            raise NotFound(f"{self.row.name} has no resource {part} inside")
        return self.inner(name, path)


def normal(name: str, path: Sequence[Json]) -> Read | None:
    """``resource.a.b`` as ``resource.a``, ``b``; None where the path is not known."""
    if not all(isinstance(part, str | int) for part in path):
        return None
    if name.startswith(INNER) and name.count(".") > 1:
        head, member, rest = name.split(".", 2)
        return (f"{head}.{member}", rest, *map(str, path))
    return (name, *map(str, path))


class NestedSchema(TypeSchema):
    """Whose attributes also reach inside: ``resource.NAME``."""

    def has_attribute(self, name: str) -> bool:
        return name.startswith(INNER) or TypeSchema.has_attribute(self, name)


class NestedType(ResourceType):
    """A type with a stack behind it; what it does is that stack's traversals."""

    local = True
    nested = True
    replaced_when_check_failed = False
    path_word: ClassVar[str] = "<nested_stack>"  # after the resource's name, in errors

    @abstractmethod
    def source(self, ask: Ask) -> ChildSource:
        """The stack that the resource wants now; raises where it can't be told."""

    def sample(self, ask: Ask) -> ChildSource | None:
        """The stack to validate before there is one; None: there is nothing to check.
        Parameters that are not known yet are ``UNKNOWN``."""
        return self.source(ask)

    def final(self, ask: Ask) -> ChildSource | None:
        """The stack that the resource will want in the end, for previews; None where that
        hangs on what is not known yet."""
        return self.sample(ask)

    def size(self, ask: Ask) -> int:
        """How many times the sample's resources there will be."""
        return 1

    @abstractmethod
    def read(self, behind: Behind, reads: Collection[Read]) -> dict[str, Json]:
        """The attributes to record."""

    def passes_on(self, reads: Collection[Read], members: Collection[str]) -> dict[str, set[Read]]:
        """What of its members is read when these of it are: member → reads."""
        found: dict[str, set[Read]] = {}
        for name, *path in reads:
            if name.startswith(INNER) and path:
                read = normal(path[0], path[1:])
                if read is not None:
                    found.setdefault(name.removeprefix(INNER), set()).add(read)
        return found

    def taken_over(self, document: Mapping[str, Json]) -> Mapping[str, Json]:
        """What to remember of a stack that is made as it was handed over, before another
        goal changes it."""
        return {}

    def ended(self, data: Mapping[str, Json], now: datetime) -> Mapping[str, Json] | None:
        """What to remember when the stack has come to an end; None: nothing new."""
        return None

    def check_read(self, name: str, path: Sequence[Json]) -> None:
        """Raises for an attribute that can't be read so."""

    def where(self, ask: Ask) -> str:
        """What stands for the stack in the path of an error."""
        return self.path_word

    def attribute(self, view: View, name: str) -> Json:
        return self._recorded(view, name, ())

    def attribute_at(self, view: View, name: str, path: tuple[Json, ...]) -> Json:
        """Raises ``TemplateOutputError`` for what could not be told."""
        untold = view.attributes.get(UNTOLD)
        if untold:
            read = normal(name, path) or (name,)
            why = untold.get(read_key(read)) or untold.get(read_key((name,)))
            if why is not None:
                raise TemplateOutputError(view.name, name, why)
        return self._recorded(view, name, path)

    def _recorded(self, view: View, name: str, path: tuple[Json, ...]) -> Json:
        read = normal(name, path)
        recorded = view.attributes.get(READS) or {}
        key = None if read is None else read_key(read)
        if key in recorded:
            return PathApplied(recorded[key]) if path else recorded[key]
        return view.attributes.get(name)

    def attribute_names(self, view: View) -> list[str]:
        return sorted(name for name in view.attributes if not name.startswith("$"))

    def create(self, view: View) -> Look:
        raise self._not_here()

    def update(self, view: View, after: Mapping[str, Json], changed: frozenset[str]) -> Look:
        raise self._not_here()

    def delete(self, view: View) -> Look:
        raise self._not_here()

    def observe(self, view: View) -> Look:
        raise self._not_here()

    def _not_here(self) -> Error:
        return NotSupported(f"{self.name} is not adopted, nor given by external_id.")


def known_or_unknown(values: Mapping[str, Json]) -> dict[str, Json]:
    """With ``UNKNOWN`` for what has an expression in it."""
    return {name: value if is_known(value) else UNKNOWN for name, value in values.items()}


def read_key(read: Read) -> str:
    """Under which a read's value is recorded."""
    return json.dumps(list(read), ensure_ascii=False)


class Reading:
    """Values of reads as they are recorded, and why some have none."""

    def __init__(self) -> None:
        self.values: dict[str, Json] = {}
        self.untold: dict[str, str] = {}

    def note(self, read: Read, value: Callable[[], Json]) -> None:
        key = read_key(read)
        try:
            self.values[key] = value()
        except Error as error:
            self.values[key], self.untold[key] = None, str(error)

    def recorded(self) -> dict[str, Json]:
        return {**({READS: self.values} if self.values else {}),
                **({UNTOLD: self.untold} if self.untold else {})}  # fmt: skip


def arn(project_id: str, name: str, stack_id: str) -> str:
    """The identifier of a stack in one string."""
    return f"arn:openstack:heat::{project_id}:stacks/{name}/{stack_id}"
