"""The template notation of scenarios: one line for each resource.

Decides how a template is written, which definitions it stands for and which properties
the cloud's objects must have in the end.  Used by the simulation in place of the
template language; reads no rows.

    b: Resource size=2 flavor=red references=a attributes=a depends_on=c retain

A template without resources is written ``{}``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.lifecycle.snapshots.stack_export import (
    is_stack_entry,
    resource_entries,
)
from heat_convergence.convergence.model.snapshot import Snapshot
from heat_convergence.convergence.planning.desired_state import (
    DesiredResource,
    build_desired_resources,
)
from heat_convergence.convergence.planning.requirement_levels import with_requirement_levels
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.environment.readiness import ReadinessLevel, level_word
from heat_convergence.template.environment.stabilization import stabilization_word
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

TYPE_NAMES = {
    "Resource": "Sim::Resource",
    "Immutable": "Sim::Immutable",
    "Signalled": "Sim::Signalled",
    "Staged": "Sim::Staged",
}
STAGED_LEVELS = {
    "*": ReadinessLevel.CONFIGURED,
    "Sim::Immutable": ReadinessLevel.EXISTS,
    "Sim::Signalled": ReadinessLevel.HEALTHY,
}
"""The levels of a ``Sim::Staged`` that other types wait for."""
NESTED_STACK = "NestedStack"  # see ``nested_templates``
RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP, SCALING_POLICY = (
    "ResourceGroup",
    "ResourceChain",
    "ScalingGroup",
    "ScalingPolicy",
)  # see ``scaling_groups``
NESTED_STACK_ALIASES = frozenset(
    {NESTED_STACK, RESOURCE_GROUP, RESOURCE_CHAIN, SCALING_GROUP}
)  # the types that have a nested stack
PROPERTY_NAMES = ("size", "replace_key", "flavor", "snapshot_id")
EMPTY_TEMPLATE = "{}"


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """One resource of a template.

    Attributes:
        size: a property updated in place.
        replace_key: a property whose update turns out to need a replacement.
        flavor: a property whose change needs a replacement.
        snapshot_id: the id of the snapshot that the resource is restored from.
        references: the resources whose ids are properties.
        attributes: the resources whose addresses are properties.
        snapshot: whether a snapshot is taken before the deletion.
        nested_specs: the resources of a nested stack.
        batch: how many members of a group are changed at once.
        cooldown: the cooldown of a scaling group in seconds.
        group: the scaling group of a scaling policy.
        adjustment: the number of members that a scaling policy adds.
        readiness: the readiness level that the environment demands.
        stabilization: the stabilization window of the environment in seconds.
    """

    name: str
    type_alias: str = "Resource"
    size: int = 1
    replace_key: int = 1
    flavor: str = "plain"
    snapshot_id: str = ""
    references: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    retain: bool = False
    snapshot: bool = False
    hooks: tuple[str, ...] = ()
    nested_specs: tuple[ResourceSpec, ...] = ()
    batch: int = 0
    cooldown: int = 0
    group: str = ""
    adjustment: int = 0
    readiness: str = ""
    stabilization: int = 0

    @property
    def restrictions(self) -> tuple[str, ...]:
        """The hooks and restrictions of the environment, as a row has them."""
        level = (level_word(ReadinessLevel(self.readiness)),) if self.readiness else ()
        window = (stabilization_word(self.stabilization),) if self.stabilization else ()
        return tuple(sorted((*self.hooks, *level, *window)))

    @property
    def nested_template(self) -> TemplateSpec:
        """The template of the nested stack."""
        return {spec.name: spec for spec in self.nested_specs}

    @property
    def requires(self) -> frozenset[str]:
        """The names of all resources that it depends on."""
        group = (self.group,) if self.group else ()
        return frozenset((*self.references, *self.attributes, *self.depends_on, *group))

    def __str__(self) -> str:
        """Return the lines of the notation."""
        words = [f"{self.name}: {self.type_alias}"]
        for name in (*_NUMBERS, *_WORDS):
            if getattr(self, name) != getattr(_DEFAULTS, name):
                words.append(f"{name}={getattr(self, name)}")
        for name in _LISTS:
            if getattr(self, name):
                words.append(f"{name}={','.join(getattr(self, name))}")
        words += [name for name in _FLAGS if getattr(self, name)]
        nested = [line for spec in self.nested_specs for line in str(spec).splitlines()]
        return "\n".join([" ".join(words), *(f"{self.name}.{line}" for line in nested)])


_NUMBERS = ("size", "replace_key", "batch", "cooldown", "adjustment", "stabilization")
_WORDS = ("flavor", "snapshot_id", "group", "readiness")
_LISTS = ("references", "attributes", "depends_on", "hooks")
_FLAGS = ("retain", "snapshot")
_DEFAULTS = ResourceSpec("")
TemplateSpec = Mapping[str, ResourceSpec]


def parse_template(text: str) -> dict[str, ResourceSpec]:
    """Parse a template.

    The JSON template of a nested stack has the notation as its description.

    Raises:
        ValueError: a line cannot be read; the message has the line.
    """
    if text.startswith("{") and text.strip() != EMPTY_TEMPLATE:
        data = json.loads(text)
        if "description" not in data:
            return _group_members(data)
        text = data["description"]
    template: dict[str, ResourceSpec] = {}
    lines = [
        line.strip() for line in text.splitlines() if line.strip() not in ("", EMPTY_TEMPLATE)
    ]
    nested_lines: dict[str, list[str]] = {}
    for line in lines:
        if "." in line.partition(":")[0]:
            name, _dot, rest = line.partition(".")
            nested_lines.setdefault(name, []).append(rest)
            continue
        spec = _parse_line(line)
        if spec.name in template:
            raise ValueError(f"{spec.name} is defined twice")
        template[spec.name] = spec
    for name, body in nested_lines.items():
        if name not in template or template[name].type_alias != NESTED_STACK:
            raise ValueError(f"{name} is not a nested stack")
        nested = parse_template("\n".join(body))
        template[name] = replace(template[name], nested_specs=tuple(nested.values()))
    for spec in template.values():
        missing = spec.requires - template.keys()
        if missing:
            raise ValueError(f"{spec.name} depends on {sorted(missing)}, which do not exist")
    return template


def _group_members(data: Mapping[str, Any]) -> dict[str, ResourceSpec]:
    """Return the members in a template that the type of a group wrote."""
    return {
        name: ResourceSpec(name, "Resource", **entry["properties"])
        for name, entry in data.get("resources", {}).items()
    }


def _parse_line(line: str) -> ResourceSpec:
    name, _colon, rest = line.partition(":")
    type_alias, *words = rest.split()
    if type_alias not in {*TYPE_NAMES, *NESTED_STACK_ALIASES, SCALING_POLICY}:
        raise ValueError(f"no such type: {line}")
    values: dict[str, Any] = {}
    for word in words:
        key, _equals, value = word.partition("=")
        if key in _NUMBERS:
            values[key] = int(value)
        elif key in _WORDS:
            values[key] = value
        elif key in _LISTS:
            values[key] = tuple(value.split(","))
        elif word in _FLAGS:
            values[word] = True
        else:
            raise ValueError(f"no such option: {word} in {line}")
    return ResourceSpec(name, type_alias, **values)


def format_template(template: TemplateSpec) -> str:
    """Return the text of a template, with its resources in the order of their names."""
    return "\n".join(str(template[name]) for name in sorted(template)) or EMPTY_TEMPLATE


def template_hash(template: TemplateSpec) -> str:
    """Return the SHA-256 digest of the template's text."""
    return hashlib.sha256(format_template(template).encode()).hexdigest()


def desired_resources(template: TemplateSpec) -> dict[str, DesiredResource]:
    """Return the desired resources of a template without nested stacks."""
    definitions = {name: _definition(spec) for name, spec in template.items()}
    return build_desired_resources(definitions, {})


def with_levels(
    desired: Mapping[str, DesiredResource], template: TemplateSpec
) -> Mapping[str, DesiredResource]:
    """Return desired resources with the levels at which they may start."""
    staged = {name for name, spec in template.items() if spec.type_alias == "Staged"}
    flat = {name: spec for name, spec in template.items() if spec.type_alias in TYPE_NAMES}
    definitions = {name: ResourceDefinition(name, each.type) for name, each in desired.items()}
    definitions.update({name: _definition(spec) for name, spec in flat.items()})
    return with_requirement_levels(desired, definitions, dict.fromkeys(staged, STAGED_LEVELS))


def restored_template(
    template: TemplateSpec, snapshot: Snapshot, registry: ResourceTypeRegistry
) -> dict[str, ResourceSpec]:
    """Return the template with the properties that restore each resource of a snapshot."""
    return _restored(template, snapshot.data, registry)


def _restored(
    template: TemplateSpec, data: Any, registry: ResourceTypeRegistry
) -> dict[str, ResourceSpec]:
    changed = dict(template)
    for name, entry in resource_entries(data):
        spec = changed.get(name)
        if spec is None:
            continue
        if is_stack_entry(entry):
            nested = _restored(spec.nested_template, entry, registry)
            changed[name] = replace(spec, nested_specs=tuple(nested.values()))
        elif spec.type_alias != NESTED_STACK:
            restored = registry.get(entry["type"]).restored_properties(entry["resource_data"])
            changed[name] = replace(spec, **restored)
    return changed


def exported_resources(export: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield path and entry of every resource of an exported tree, except nested stacks."""
    for name, entry in resource_entries(export):
        if is_stack_entry(entry):
            yield from exported_resources(entry, f"{path}{name}.")
        else:
            yield f"{path}{name}", entry


def unfinished_nested_stacks(export: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the paths of nested stacks that were in progress or had failed."""
    for name, entry in resource_entries(export):
        if is_stack_entry(entry):
            if entry["status"] != "COMPLETE":
                yield f"{path}{name}"
            yield from unfinished_nested_stacks(entry, f"{path}{name}.")


def _definition(spec: ResourceSpec) -> ResourceDefinition:
    referenced_names = frozenset((*spec.references, *spec.attributes))
    properties: dict[str, Any] = {name: getattr(spec, name) for name in PROPERTY_NAMES}
    if spec.references:
        properties["references"] = [
            Expression("get_resource", "standard", name) for name in spec.references
        ]
    if spec.attributes:
        properties["attributes"] = [
            Expression("get_attr", "attr_optional_name", [name, "address"])
            for name in spec.attributes
        ]
    return ResourceDefinition(
        name=spec.name,
        type=TYPE_NAMES[spec.type_alias],
        properties=properties,
        deletion_policy=deletion_policy(spec),
        requires=spec.requires,
        referenced_names=referenced_names,
        depends_on=frozenset(spec.depends_on),
    )


def deletion_policy(spec: ResourceSpec) -> str:
    """Return the deletion policy of a resource."""
    if spec.retain:
        return "Retain"
    return "Snapshot" if spec.snapshot else "Delete"


def expected_properties(
    template: TemplateSpec, id_of: Callable[[str], str | None]
) -> dict[str, dict[str, Any]]:
    """Return, by name, the properties that the objects must have.

    Args:
        template: the template of the stack.
        id_of: returns the physical id of a resource by its name.
    """
    return {
        name: {
            "size": spec.size,
            "replace_key": spec.replace_key,
            "flavor": spec.flavor,
            "snapshot_id": spec.snapshot_id,
            "references": [id_of(other) for other in spec.references],
            "attributes": [
                address_attribute(id_of(other), template[other].size) for other in spec.attributes
            ],
        }
        for name, spec in template.items()
    }


def address_attribute(physical_id: str | None, size: int) -> str:
    """Return the attribute ``address``, which changes with the size."""
    return f"{physical_id}/{size}"
