"""An evaluated template → what a traversal takes of it, stacks behind resources
included.

Called by the API, by rollbacks and by engines for nested stacks, so that all come
to the same: a definition is changed when its own words are, or what of files and
environment the stack behind it is made of, or what others read of it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from heat_convergence.convergence.secrecy import spread
from heat_convergence.convergence.wanted import Wanted
from heat_convergence.resources.implied import with_implied
from heat_convergence.resources.nesting.kinds import NestedType, Read, normal
from heat_convergence.resources.nesting.parsed import Files, strings_in
from heat_convergence.resources.plugin import ResourceType
from heat_convergence.resources.registry import Registry
from heat_convergence.template import expression
from heat_convergence.template.definition import Definition
from heat_convergence.template.environment import Environment
from heat_convergence.template.evaluated import EvaluatedTemplate
from heat_convergence.template.registry import Registry as TypeRegistry
from heat_convergence.template.uses import attribute_uses

Json = Any
_MOST_COMMONS = 16
DIGEST, READS = "digest", "reads"  # of a stored definition, under wanted.NESTED


def implementations_of(
    definitions: Mapping[str, Definition], environment: Environment
) -> dict[str, str]:
    """Resource name → the type or template behind its type."""
    resolve = environment.registry.resolve
    return {name: resolve(each.type, name) for name, each in definitions.items()}


def wanted_of(
    evaluated: EvaluatedTemplate,
    environment: Environment,
    files: Files,
    registry: Registry,
    *,
    above: Mapping[str, Collection[Read]] | None = None,
) -> dict[str, Wanted]:
    """``above`` are the reads that come from the stacks above this one."""
    implementations = implementations_of(evaluated.definitions, environment)
    definitions = with_implied(evaluated.definitions, implementations, registry)
    nested = {
        name
        for name, implementation in implementations.items()
        if isinstance(registry.find(implementation), NestedType)
    }
    reads = _reads(evaluated, nested, above or {}) if nested else {}
    digests = _Digests(environment, files) if nested else None
    found = {}
    for name, definition in definitions.items():
        implementation, behind = implementations[name], None
        if name in nested and digests is not None:
            behind = {
                DIGEST: digests.of(definition, implementation),
                READS: sorted(map(list, reads.get(name, ()))),
            }
        guards = tuple(sorted(environment.registry.guards(name)))
        kind = registry.find(implementation)
        mended = kind is not None and kind.mended_when_failed
        want = Wanted.of(definition, implementation, behind, guards, mended=mended)
        renewed = kind is not None and kind.new_at_every_update
        found[name] = replace(want, renewed=True) if renewed else want
    return spread(found, _makers_of_secrets(definitions, implementations, registry))


def _makers_of_secrets(
    definitions: Mapping[str, Definition], implementations: Mapping[str, str], registry: Registry
) -> set[str]:
    kinds = {name: registry.find(each) for name, each in implementations.items()}
    return {
        name
        for name, kind in kinds.items()
        if kind is not None and _keeps_secrets(kind, definitions[name].properties)
    }


def _keeps_secrets(kind: ResourceType, properties: Json) -> bool:
    if isinstance(properties, Mapping):
        return kind.keeps_secrets(properties)
    return bool(kind.secret_data)  # all of it is open yet


def _reads(
    evaluated: EvaluatedTemplate, nested: set[str], above: Mapping[str, Collection[Read]]
) -> dict[str, set[Read]]:
    found: dict[str, set[Read]] = {name: set(reads) for name, reads in above.items()}
    values: list[Any] = [
        [each.properties, each.metadata, each.update_policy]
        for each in evaluated.definitions.values()
    ]
    values.extend(output.value for output in evaluated.outputs.values())
    for value in values:
        for use in attribute_uses(value):
            if use.resource in nested and use.attribute is not None:
                read = normal(use.attribute, use.path)
                if read is not None:
                    found.setdefault(use.resource, set()).add(read)
    return found


@dataclass(frozen=True, slots=True)
class _Common:
    """What all stacks that inherit an environment have in common.  It is kept with what
    it is of, so that these are never taken for others."""

    registry: TypeRegistry
    defaults: Mapping[str, Json]
    digest: str
    templates: frozenset[str]


class _Commons:
    """By registry and ``parameter_defaults``, which stacks below hand on as they are."""

    def __init__(self) -> None:
        self._kept: dict[tuple[int, int], _Common] = {}

    def of(self, environment: Environment) -> _Common:
        registry, defaults = environment.registry, environment.parameter_defaults
        key = (id(registry), id(defaults))
        found = self._kept.get(key)
        if found is None:
            entries = {name: entry for name, entry in registry.entries.items()
                       if name != "resources"}  # fmt: skip
            digest = _hash([entries, dict(defaults)])
            found = _Common(registry, defaults, digest, registry.template_names())
            if len(self._kept) >= _MOST_COMMONS:
                self._kept.clear()
            self._kept[key] = found
        return found


_commons = _Commons()


class _Digests:
    """What the stacks behind the resources of one template are made of."""

    def __init__(self, environment: Environment, files: Files) -> None:
        self._environment = environment
        self._files = files
        entries = dict(environment.registry.entries)
        entries.pop("resources", None)
        zones = [] if environment.zones is None else [environment.zones]
        self._common = _hash([entries, dict(environment.parameter_defaults), *zones])
        self._mapped = environment.registry.template_names() & files.hashes.keys()

    def of(self, definition: Definition, implementation: str) -> str:
        inner = self._environment.registry.for_child(definition.name).entries["resources"]
        named = {implementation, *self._mapped}
        named.update(strings_in(expression.dump(definition.properties)))
        reached = sorted(self._files.reached(frozenset(named & self._files.hashes.keys())))
        hashes = [[name, self._files.hashes[name]] for name in reached]
        return _hash([implementation, self._common, inner, hashes])


def _hash(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
