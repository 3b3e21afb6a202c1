"""The base of groups: a template generated from members, and attributes over all members.

Decides how member definitions become a template, and how ``refs``, ``attributes`` and members'
attributes are read.

Source: docs/reference/resource-groups.rst.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from heat_convergence.resources.nested.nested_type import (
    MEMBER_ATTRIBUTE_PREFIX,
    UNKNOWN_VALUE_NAME,
    AttributePath,
    AttributeRecorder,
    NestedStackRequest,
    NestedStackView,
    NestedType,
    normalize_attribute_path,
)
from heat_convergence.template.expression import Expression, is_known
from heat_convergence.template.parsing.template_versions import TEMPLATE_VERSIONS

Json = Any
TEMPLATE_VERSION = "2015-04-30"
REFS, REFS_MAP, ATTRIBUTES = "refs", "refs_map", "attributes"
_SHARED, _MIN_SHARED_LENGTH = "shared_value_", 1024
_FUNCTIONS = frozenset(
    {*TEMPLATE_VERSIONS[f"heat_template_version.{TEMPLATE_VERSION}"].functions, UNKNOWN_VALUE_NAME}
)


class GroupType(NestedType):
    """A nested stack whose members have similar definitions."""

    group_attributes: frozenset[str] = frozenset({REFS, REFS_MAP, ATTRIBUTES})
    attributes_by_member: frozenset[str] = frozenset({ATTRIBUTES})  # read a member's attribute

    @abstractmethod
    def order_members(self, nested_stack: NestedStackView, names: Sequence[str]) -> list[str]:
        """Return the members in the order of list attributes."""

    def resolve_member_name(self, part: str, names: Sequence[str]) -> str:
        """Return the member that ``resource.PART`` refers to."""
        return part

    def read_attributes(
        self, nested_stack: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        """Return the values of attributes, for the paths that are read."""
        names = self.order_members(nested_stack, nested_stack.load_resource_names())
        inputs = nested_stack.load_inputs(names)
        refs = {name: inputs.reference_id(name) for name in names if name in inputs.rows}
        reading = AttributeRecorder()
        for read in reads:
            if read[0] not in self.group_attributes or read[0] in self.attributes_by_member:
                reading.record(read, partial(self._value, nested_stack, names, read))
        return {
            REFS: [refs.get(name) for name in names],
            REFS_MAP: refs,
            **self.group_attribute_values(nested_stack, names),
            **reading.as_attributes(),
        }

    def group_attribute_values(
        self, nested_stack: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Return further attributes of the group itself."""
        return {}

    def _value(
        self, nested_stack: NestedStackView, names: Sequence[str], read: AttributePath
    ) -> Json:
        name, *path = read
        if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
            part = name.removeprefix(MEMBER_ATTRIBUTE_PREFIX)
            return nested_stack.existing_member_value(
                part, self.resolve_member_name(part, names), path
            )
        if name == ATTRIBUTES:
            return (
                {each: nested_stack.member_value(each, path) for each in names} if path else None
            )
        return [nested_stack.member_value(each, read) for each in names]

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        """Return member → paths that reads of group attributes need from it."""
        found: dict[str, set[AttributePath]] = {}
        for read in reads:
            name, *path = read
            nested_path = normalize_attribute_path(path[0], path[1:]) if path else None
            if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
                part = self.resolve_member_name(
                    name.removeprefix(MEMBER_ATTRIBUTE_PREFIX), list(members)
                )
                if nested_path is not None:
                    found.setdefault(part, set()).add(nested_path)
                continue
            if name not in self.group_attributes:
                nested_path = normalize_attribute_path(name, path)
            elif name != ATTRIBUTES:
                continue
            if nested_path is not None:
                for each in members:
                    found.setdefault(each, set()).add(nested_path)
        return found


def build_template_text(members: Mapping[str, Json]) -> str:
    """Return the template with these definitions by name.

    A long property that several members share is written once, as a parameter's default.
    """
    texts: dict[int, str] = {}
    found = Counter(key for each in members.values() for _n, key in _long_properties(each, texts))
    names = {key: f"{_SHARED}{at}" for at, key in enumerate(k for k in found if found[k] > 1)}
    template: dict[str, Json] = {"heat_template_version": TEMPLATE_VERSION}
    if names:
        template["parameters"] = {
            name: {"type": "json", "default": json.loads(key)} for key, name in names.items()
        }
    template["resources"] = {
        name: _with_shared_parameters(
            each, {prop: names[key] for prop, key in _long_properties(each, texts) if key in names}
        )
        for name, each in members.items()
    }
    return json.dumps(template, ensure_ascii=False)


def _long_properties(
    definition: Mapping[str, Json], texts: dict[int, str]
) -> Iterator[tuple[str, str]]:
    """Yield the names of long properties, with their values as text.

    ``texts`` caches texts by identity of the value, because members mostly share objects.
    """
    for name, value in (definition.get("properties") or {}).items():
        if isinstance(value, Mapping | list):
            if id(value) not in texts:
                text = json.dumps(value, ensure_ascii=False)
                plain = len(text) >= _MIN_SHARED_LENGTH and _FUNCTIONS.isdisjoint(iter_keys(value))
                texts[id(value)] = text if plain else ""
            if texts[id(value)]:
                yield name, texts[id(value)]


def _with_shared_parameters(definition: Mapping[str, Json], shared: Mapping[str, str]) -> Json:
    if not shared:
        return definition
    properties = dict(definition["properties"])
    properties.update({name: {"get_param": parameter} for name, parameter in shared.items()})
    return {**definition, "properties": properties}


def current_members(request: NestedStackRequest) -> dict[str, Json]:
    """Return the definitions in the nested stack's current template."""
    template = request.load_template()
    if template is None:
        return {}
    section = template.section(template.version.dialect.resources)
    shared = template.section(template.version.dialect.parameters)
    return {name: _without_shared_parameters(each, shared) for name, each in section.items()}


def _without_shared_parameters(definition: Json, shared: Mapping[str, Json]) -> Json:
    """Restore the properties that ``_with_shared_parameters`` replaced."""
    properties = definition.get("properties") or {}
    full = {
        name: shared[value["get_param"]]["default"]
        for name, value in properties.items()
        if shared and isinstance(value, Mapping) and value.get("get_param") in shared
    }
    return {**definition, "properties": {**properties, **full}} if full else definition


def iter_keys(value: Json) -> Iterator[str]:
    """Yield every key of every map in a value."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from iter_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iter_keys(item)


def with_placeholders(value: Json) -> Json:
    """Replace expressions by a call that stands for an unknown value."""
    if is_known(value):
        return value
    if isinstance(value, Expression):
        return {UNKNOWN_VALUE_NAME: None}
    if isinstance(value, Mapping):
        return {name: with_placeholders(item) for name, item in value.items()}
    return [with_placeholders(item) for item in value]
