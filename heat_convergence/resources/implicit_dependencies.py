"""Dependencies that no reference expresses: objects that a service requires to exist first.

Decides which further edges a template's resources get, as their types declare: a port waits for
the subnets of its network, a floating address for its router's interfaces. Called where
definitions become a traversal's. An edge that would close a cycle is left out: the author's
dependencies take precedence.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from heat_convergence.resources.protocol.resource_type import ImplicitDependency
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition
from heat_convergence.template.expression import Expression

Json = Any


def add_implicit_dependencies(
    definitions: Mapping[str, ResourceDefinition],
    implementations: Mapping[str, str],
    registry: ResourceTypeRegistry,
) -> dict[str, ResourceDefinition]:
    """Return the definitions with the names that they require implicitly."""
    found = dict(definitions)
    index = _PropertyIndex(definitions, implementations, registry)
    for name, definition in sorted(definitions.items()):
        resource_type = registry.find(implementations[name])
        required: set[str] = set()
        for rule in resource_type.implicit_dependencies if resource_type is not None else ():
            required |= index.find(definition, rule)
        for other in sorted(required - definition.requires - {name}):
            if not _reaches(found, other, name):
                more = frozenset({*found[name].requires, other})
                found[name] = replace(found[name], requires=more)
    return found


class _PropertyIndex:
    """Resources by the value of a property, indexed once for each rule."""

    def __init__(
        self,
        definitions: Mapping[str, ResourceDefinition],
        implementations: Mapping[str, str],
        registry: ResourceTypeRegistry,
    ) -> None:
        """Group the definitions by the implementation of their type."""
        self._by_type: dict[str, list[ResourceDefinition]] = {}
        for name, definition in definitions.items():
            self._by_type.setdefault(implementations[name], []).append(definition)
        self._registry = registry
        self._implementations = implementations
        self._index: dict[ImplicitDependency, dict[str, set[str]]] = {}

    def find(self, definition: ResourceDefinition, rule: ImplicitDependency) -> set[str]:
        """Return the names of resources that a definition requires by a rule."""
        others = self._by_type.get(rule.other_type, ())
        if not others:
            return set()
        own = self._keys(definition, rule.own_path)
        if rule.other_path is None:
            return {other.name for other in others} if own else set()
        if rule not in self._index:
            index: dict[str, set[str]] = {}
            for other in others:
                for key in self._keys(other, rule.other_path):
                    index.setdefault(key, set()).add(other.name)
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


def _reaches(definitions: Mapping[str, ResourceDefinition], start: str, goal: str) -> bool:
    visited, pending = {start}, [start]
    while pending:
        name = pending.pop()
        if name == goal:
            return True
        if name in definitions:
            unvisited = definitions[name].requires - visited
            visited |= unvisited
            pending.extend(unvisited)
    return False
