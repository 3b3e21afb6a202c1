"""Dependencies that no reference expresses: objects that a service requires to exist first.

Decides which further edges a template's resources get, as their types declare: a port waits for
the subnets of its network, a floating address for its router's interfaces. Called where
definitions become a traversal's. An edge that would close a cycle is left out: the author's
dependencies take precedence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from heat_convergence.common.values.packed_map import pack_if_large
from heat_convergence.resources.protocol.resource_type import ImplicitDependency, ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

Json = Any


def add_implicit_dependencies(
    definitions: Mapping[str, ResourceDefinition],
    implementations: Mapping[str, str],
    registry: ResourceTypeRegistry,
) -> Mapping[str, ResourceDefinition]:
    """Return the definitions with the names that they require implicitly."""
    rules = {each: _rules(registry.find(each)) for each in set(implementations.values())}
    if not any(rules.values()):
        return definitions
    index = _PropertyIndex(definitions, implementations, registry)
    requires = {name: each.requires for name, each in definitions.items()}
    added = set()
    for name in sorted(name for name in definitions if rules[implementations[name]]):
        required: set[str] = set()
        for rule in rules[implementations[name]]:
            required |= index.find(definitions[name], rule)
        for other in sorted(required - requires[name] - {name}):
            if not _reaches(requires, other, name):
                requires[name] = frozenset({*requires[name], other})
                added.add(name)
    return pack_if_large(
        (name, replace(each, requires=requires[name]) if name in added else each)
        for name, each in definitions.items()
    )


def _rules(resource_type: ResourceType | None) -> Sequence[ImplicitDependency]:
    return () if resource_type is None else resource_type.implicit_dependencies


class _PropertyIndex:
    """Resources by the value of a property, indexed once for each rule."""

    def __init__(
        self,
        definitions: Mapping[str, ResourceDefinition],
        implementations: Mapping[str, str],
        registry: ResourceTypeRegistry,
    ) -> None:
        """Group the definitions by the implementation of their type."""
        self._definitions = definitions
        self._names: dict[str, list[str]] = {}
        for name in definitions:
            self._names.setdefault(implementations[name], []).append(name)
        self._registry = registry
        self._implementations = implementations
        self._index: dict[ImplicitDependency, dict[str, set[str]]] = {}

    def find(self, definition: ResourceDefinition, rule: ImplicitDependency) -> set[str]:
        """Return the names of resources that a definition requires by a rule."""
        others = self._names.get(rule.other_type, ())
        if not others:
            return set()
        own = self._keys(definition, rule.own_path)
        if rule.other_path is None:
            return set(others) if own else set()
        if rule not in self._index:
            index: dict[str, set[str]] = {}
            for other in others:
                for key in self._keys(self._definitions[other], rule.other_path):
                    index.setdefault(key, set()).add(other)
            self._index[rule] = index
        return {name for key in own for name in self._index[rule].get(key, ())}

    def _keys(self, definition: ResourceDefinition, path: str) -> set[str]:
        resource_type = self._registry.find(self._implementations[definition.name])
        old = {} if resource_type is None else resource_type.property_aliases
        paths = [path, *old.get(path, ())]
        values = [value for each in paths for value in _values(definition.properties, each)]
        return {_key(value) for value in values}


def _values(value: Json, path: str) -> Iterable[Json]:
    """Return all values at a path, through lists."""
    if isinstance(value, list | tuple):
        return [found for item in value for found in _values(item, path)]
    if not path:
        return [] if value is None else [value]
    if not isinstance(value, Mapping):
        return []
    name, _, rest = path.partition(".")
    return _values(value.get(name), rest)


def _key(value: Json) -> str:
    if isinstance(value, Expression):
        return json.dumps([value.function, value.arguments], default=_key, sort_keys=True)
    return json.dumps(value, default=str, sort_keys=True)


def _reaches(requires: Mapping[str, frozenset[str]], start: str, goal: str) -> bool:
    visited, pending = {start}, [start]
    while pending:
        name = pending.pop()
        if name == goal:
            return True
        if name in requires:
            unvisited = requires[name] - visited
            visited |= unvisited
            pending.extend(unvisited)
    return False
