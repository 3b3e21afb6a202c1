"""What groups have in common: a template made of members, and attributes over them.

Decides how member definitions become a template and how ``refs``, ``attributes`` and
members' attributes are read.  Source: heat-facts ``resource_groups.md``.
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
_SHARED, _LONG = "shared_value_", 1024
_FUNCTIONS = frozenset(
    {*TEMPLATE_VERSIONS[f"heat_template_version.{TEMPLATE_VERSION}"].functions, UNKNOWN_VALUE_NAME}
)


class GroupType(NestedType):
    """Members of a stack that are alike."""

    group_attributes: frozenset[str] = frozenset({REFS, REFS_MAP, ATTRIBUTES})  # of all members
    attributes_by_member: frozenset[str] = frozenset({ATTRIBUTES})  # that take the name of another

    @abstractmethod
    def order_members(self, behind: NestedStackView, names: Sequence[str]) -> list[str]:
        """The members in the order in which lists show them."""

    def resolve_member_name(self, part: str, names: Sequence[str]) -> str:
        """The member that ``resource.PART`` means."""
        return part

    def read_attributes(
        self, behind: NestedStackView, reads: Collection[AttributePath]
    ) -> dict[str, Json]:
        names = self.order_members(behind, behind.load_resource_names())
        inputs = behind.load_inputs(names)
        refs = {name: inputs.reference_id(name) for name in names if name in inputs.rows}
        reading = AttributeRecorder()
        for read in reads:
            if read[0] not in self.group_attributes or read[0] in self.attributes_by_member:
                reading.record(read, partial(self._value, behind, names, read))
        return {
            REFS: [refs.get(name) for name in names],
            REFS_MAP: refs,
            **self.group_attribute_values(behind, names),
            **reading.as_attributes(),
        }

    def group_attribute_values(
        self, behind: NestedStackView, names: Sequence[str]
    ) -> dict[str, Json]:
        """Further attributes of the group itself."""
        return {}

    def _value(self, behind: NestedStackView, names: Sequence[str], read: AttributePath) -> Json:
        name, *path = read
        if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
            part = name.removeprefix(MEMBER_ATTRIBUTE_PREFIX)
            return behind.existing_member_value(part, self.resolve_member_name(part, names), path)
        if name == ATTRIBUTES:
            return {each: behind.member_value(each, path) for each in names} if path else None
        return [behind.member_value(each, read) for each in names]

    def member_attribute_paths(
        self, reads: Collection[AttributePath], members: Collection[str]
    ) -> dict[str, set[AttributePath]]:
        found: dict[str, set[AttributePath]] = {}
        for read in reads:
            name, *path = read
            below = normalize_attribute_path(path[0], path[1:]) if path else None
            if name.startswith(MEMBER_ATTRIBUTE_PREFIX):
                part = self.resolve_member_name(
                    name.removeprefix(MEMBER_ATTRIBUTE_PREFIX), list(members)
                )
                if below is not None:
                    found.setdefault(part, set()).add(below)
                continue
            if name not in self.group_attributes:
                below = normalize_attribute_path(name, path)
            elif name != ATTRIBUTES:
                continue
            if below is not None:
                for each in members:
                    found.setdefault(each, set()).add(below)
        return found


def build_template_text(members: Mapping[str, Json]) -> str:
    """The template with these definitions by name; a long property that several have
    stands there once, as a parameter's default."""
    texts: dict[int, str] = {}
    found = Counter(key for each in members.values() for _n, key in _long(each, texts))
    names = {key: f"{_SHARED}{at}" for at, key in enumerate(k for k in found if found[k] > 1)}
    template: dict[str, Json] = {"heat_template_version": TEMPLATE_VERSION}
    if names:
        template["parameters"] = {
            name: {"type": "json", "default": json.loads(key)} for key, name in names.items()
        }
    template["resources"] = {
        name: _lean(each, {prop: names[key] for prop, key in _long(each, texts) if key in names})
        for name, each in members.items()
    }
    return json.dumps(template, ensure_ascii=False)


def _long(definition: Mapping[str, Json], texts: dict[int, str]) -> Iterator[tuple[str, str]]:
    """Names of long properties, with their values as text.  ``texts`` has those seen
    already, by identity: members mostly have the same objects."""
    for name, value in (definition.get("properties") or {}).items():
        if isinstance(value, Mapping | list):
            if id(value) not in texts:
                text = json.dumps(value, ensure_ascii=False)
                plain = len(text) >= _LONG and _FUNCTIONS.isdisjoint(iter_keys(value))
                texts[id(value)] = text if plain else ""
            if texts[id(value)]:
                yield name, texts[id(value)]


def _lean(definition: Mapping[str, Json], shared: Mapping[str, str]) -> Json:
    if not shared:
        return definition
    properties = dict(definition["properties"])
    properties.update({name: {"get_param": parameter} for name, parameter in shared.items()})
    return {**definition, "properties": properties}


def current_members(ask: NestedStackRequest) -> dict[str, Json]:
    """The definitions of the stack as it was last given."""
    template = ask.load_template()
    if template is None:
        return {}
    section = template.section(template.version.dialect.resources)
    shared = template.section(template.version.dialect.parameters)
    return {name: _full(each, shared) for name, each in section.items()}


def _full(definition: Json, shared: Mapping[str, Json]) -> Json:
    """What ``_lean`` made lean."""
    properties = definition.get("properties") or {}
    full = {
        name: shared[value["get_param"]]["default"]
        for name, value in properties.items()
        if shared and isinstance(value, Mapping) and value.get("get_param") in shared
    }
    return {**definition, "properties": {**properties, **full}} if full else definition


def iter_keys(value: Json) -> Iterator[str]:
    """Every key of every map in it."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from iter_keys(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iter_keys(item)


def with_placeholders(value: Json) -> Json:
    """With a call of ``LATER`` for what is not known yet."""
    if is_known(value):
        return value
    if isinstance(value, Expression):
        return {UNKNOWN_VALUE_NAME: None}
    if isinstance(value, Mapping):
        return {name: with_placeholders(item) for name, item in value.items()}
    return [with_placeholders(item) for item in value]
