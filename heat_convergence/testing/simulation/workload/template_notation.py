"""Templates of the simulated world: a few words for each resource.

Decides how such a template is written, what definitions it stands for and what
properties reality must have for it.  Used by the simulator in the place of the
template language; knows no rows.

    b: Thing size=2 flavor=red refs=a reads=a after=c retain

A template without any is written ``{}``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.lifecycle.stack_export import is_stack_entry, resource_entries
from heat_convergence.convergence.lifecycle.traversal import build_desired_resources
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

TYPE_NAMES = {"Thing": "Sim::Thing", "Rock": "Sim::Rock", "Bell": "Sim::Bell"}
NESTED_STACK = "Nest"  # a stack is behind it: see ``testing.trees``
RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP, SCALING_POLICY = (
    "Group",
    "Chain",
    "Fleet",
    "Lever",
)  # see ``testing.fleets``
NESTED_STACK_ALIASES = frozenset(
    {NESTED_STACK, RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP}
)  # kinds that a stack is behind
PROPERTY_NAMES = ("size", "grip", "flavor", "source")
EMPTY_TEMPLATE = "{}"


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """One resource: ``size`` changes in place, ``grip`` as the type likes,
    ``flavor`` never; ``refs`` take others' ids, ``reads`` their addresses."""

    name: str
    type_alias: str = "Thing"
    size: int = 1
    grip: int = 1
    flavor: str = "plain"
    source: str = ""  # the id of a copy that it was brought back from
    refs: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    retain: bool = False
    keep: bool = False  # a copy is to be saved before it is deleted
    hooks: tuple[str, ...] = ()
    nested_specs: tuple[ResourceSpec, ...] = ()  # of a nest
    batch: int = 0  # members of a group that change at once
    cooldown: int = 0  # of a fleet, seconds
    of: str = ""  # the fleet that a lever scales, by so many members:
    by: int = 0

    @property
    def nested_template(self) -> TemplateSpec:
        """The template of the stack behind a nest."""
        return {spec.name: spec for spec in self.nested_specs}

    @property
    def requires(self) -> frozenset[str]:
        of = (self.of,) if self.of else ()
        return frozenset((*self.refs, *self.reads, *self.after, *of))

    def __str__(self) -> str:
        words = [f"{self.name}: {self.type_alias}"]
        for name in (*_NUMBERS, *_WORDS):
            if getattr(self, name) != getattr(_PLAIN, name):
                words.append(f"{name}={getattr(self, name)}")
        for name in ("refs", "reads", "after", "hooks"):
            if getattr(self, name):
                words.append(f"{name}={','.join(getattr(self, name))}")
        words += [word for word in ("retain", "keep") if getattr(self, word)]
        inner = [line for spec in self.nested_specs for line in str(spec).splitlines()]
        return "\n".join([" ".join(words), *(f"{self.name}.{line}" for line in inner)])


_NUMBERS = ("size", "grip", "batch", "cooldown", "by")
_WORDS = ("flavor", "source", "of")
_PLAIN = ResourceSpec("")
TemplateSpec = Mapping[str, ResourceSpec]


def parse_template(text: str) -> dict[str, ResourceSpec]:
    """The template of a text; raises ``ValueError`` with the line that is wrong.  That
    of a nested stack has it as its description."""
    if text.startswith("{") and text.strip() != EMPTY_TEMPLATE:
        data = json.loads(text)
        if "description" not in data:
            return _members(data)
        text = data["description"]
    template: dict[str, ResourceSpec] = {}
    lines = [
        line.strip() for line in text.splitlines() if line.strip() not in ("", EMPTY_TEMPLATE)
    ]
    inner: dict[str, list[str]] = {}
    for line in lines:
        if "." in line.partition(":")[0]:
            name, _dot, rest = line.partition(".")
            inner.setdefault(name, []).append(rest)
            continue
        spec = _parse_line(line)
        if spec.name in template:
            raise ValueError(f"{spec.name} is there twice")
        template[spec.name] = spec
    for name, body in inner.items():
        if name not in template or template[name].type_alias != NESTED_STACK:
            raise ValueError(f"{name} is no nest")
        below = parse_template("\n".join(body))
        template[name] = replace(template[name], nested_specs=tuple(below.values()))
    for spec in template.values():
        missing = spec.requires - template.keys()
        if missing:
            raise ValueError(f"{spec.name} needs {sorted(missing)}, which are not there")
    return template


def _members(data: Mapping[str, Any]) -> dict[str, ResourceSpec]:
    """Of the stack behind a group, whose template its type has written."""
    return {
        name: ResourceSpec(name, "Thing", **entry["properties"])
        for name, entry in data.get("resources", {}).items()
    }


def _parse_line(line: str) -> ResourceSpec:
    name, _colon, rest = line.partition(":")
    kind, *words = rest.split()
    if kind not in TYPE_NAMES and kind not in {*NESTED_STACK_ALIASES, SCALING_POLICY}:
        raise ValueError(f"no such type: {line}")
    spec = ResourceSpec(name, kind)
    for word in words:
        key, _equals, value = word.partition("=")
        if key in _NUMBERS:
            spec = replace(spec, **{key: int(value)})
        elif key in _WORDS:
            spec = replace(spec, **{key: value})
        elif key in ("refs", "reads", "after", "hooks"):
            spec = replace(spec, **{key: tuple(value.split(","))})
        elif word in ("retain", "keep"):
            spec = replace(spec, **{word: True})
        else:
            raise ValueError(f"not understood: {word} in {line}")
    return spec


def format_template(template: TemplateSpec) -> str:
    return "\n".join(str(template[name]) for name in sorted(template)) or EMPTY_TEMPLATE


def template_hash(template: TemplateSpec) -> str:
    return hashlib.sha256(format_template(template).encode()).hexdigest()


def desired_resources(template: TemplateSpec) -> dict[str, DesiredResource]:
    """As a traversal takes it."""
    return build_desired_resources(
        {name: _definition(spec) for name, spec in template.items()}, {}
    )


def restored_template(
    template: TemplateSpec, saved: Snapshot, registry: ResourceTypeRegistry
) -> dict[str, ResourceSpec]:
    """With what brings back the resources of a snapshot (see ``resources.saved``)."""
    return _restored(template, saved.data, registry)


def _restored(
    template: TemplateSpec, data: Any, registry: ResourceTypeRegistry
) -> dict[str, ResourceSpec]:
    changed = dict(template)
    for name, entry in resource_entries(data):
        spec = changed.get(name)
        if spec is None:
            continue
        if is_stack_entry(entry):
            inner = _restored(spec.nested_template, entry, registry)
            changed[name] = replace(spec, nested_specs=tuple(inner.values()))
        elif spec.type_alias != NESTED_STACK:
            given = registry.get(entry["type"]).restored_properties(entry["resource_data"])
            changed[name] = replace(spec, **given)
    return changed


def exported_resources(document: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Path and entry of every resource of a tree's document that no stack is behind."""
    for name, entry in resource_entries(document):
        if is_stack_entry(entry):
            yield from exported_resources(entry, f"{path}{name}.")
        else:
            yield f"{path}{name}", entry


def unfinished_nested_stacks(document: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Paths of the stacks below that were in the middle of something, or had failed."""
    for name, entry in resource_entries(document):
        if is_stack_entry(entry):
            if entry["status"] != "COMPLETE":
                yield f"{path}{name}"
            yield from unfinished_nested_stacks(entry, f"{path}{name}.")


def _definition(spec: ResourceSpec) -> ResourceDefinition:
    referenced_names = frozenset((*spec.refs, *spec.reads))
    properties: dict[str, Any] = {name: getattr(spec, name) for name in PROPERTY_NAMES}
    if spec.refs:
        properties["refs"] = [Expression("get_resource", "standard", name) for name in spec.refs]
    if spec.reads:
        properties["reads"] = [
            Expression("get_attr", "attr_optional_name", [name, "address"]) for name in spec.reads
        ]
    return ResourceDefinition(
        name=spec.name,
        type=TYPE_NAMES[spec.type_alias],
        properties=properties,
        deletion_policy=deletion_policy(spec),
        requires=spec.requires,
        referenced_names=referenced_names,
    )


def deletion_policy(spec: ResourceSpec) -> str:
    """What is to become of reality when the resource goes."""
    if spec.retain:
        return "Retain"
    return "Snapshot" if spec.keep else "Delete"


def expected_properties(
    template: TemplateSpec, id_of: Callable[[str], str | None]
) -> dict[str, dict[str, Any]]:
    """Name → the properties that reality must have; ``resolve_id`` a name's physical id."""
    known: dict[str, dict[str, Any]] = {}
    for name, spec in template.items():
        known[name] = {
            "size": spec.size,
            "grip": spec.grip,
            "flavor": spec.flavor,
            "source": spec.source,
            "refs": [id_of(other) for other in spec.refs],
            "reads": [
                address_attribute(id_of(other), template[other].size) for other in spec.reads
            ],
        }
    return known


def address_attribute(physical_id: str | None, size: int) -> str:
    """The attribute that others read: another one after each change of size."""
    return f"{physical_id}/{size}"
