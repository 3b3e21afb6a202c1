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

from heat_convergence.convergence.planning.desired_state import DesiredResource
from heat_convergence.convergence.planning.sensitivity import propagate_sensitivity
from heat_convergence.resources.implicit_dependencies import add_implicit_dependencies
from heat_convergence.resources.nested.nested_type import (
    AttributePath,
    NestedType,
    normalize_attribute_path,
)
from heat_convergence.resources.nested.template_cache import TemplateFiles, iterate_strings
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template import expression
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.resource_registry import (
    ResourceRegistry as TypeRegistry,
)
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.references import attribute_references
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

Json = Any
_MOST_COMMONS = 16
CONTENT_DIGEST_KEY, ATTRIBUTE_PATHS_KEY = (
    "digest",
    "reads",
)  # of a stored definition, under wanted.NESTED


def resolve_implementations(
    definitions: Mapping[str, ResourceDefinition], environment: Environment
) -> dict[str, str]:
    """Resource name → the type or template behind its type."""
    resolve = environment.registry.resolve
    return {name: resolve(each.type, name) for name, each in definitions.items()}


def derive_desired_resources(
    evaluated: EvaluatedTemplate,
    environment: Environment,
    files: TemplateFiles,
    registry: ResourceTypeRegistry,
    *,
    parent_attribute_paths: Mapping[str, Collection[AttributePath]] | None = None,
) -> dict[str, DesiredResource]:
    """``above`` are the reads that come from the stacks above this one."""
    implementations = resolve_implementations(evaluated.definitions, environment)
    definitions = add_implicit_dependencies(evaluated.definitions, implementations, registry)
    nested = {
        name
        for name, implementation in implementations.items()
        if isinstance(registry.find(implementation), NestedType)
    }
    reads = _reads(evaluated, nested, parent_attribute_paths or {}) if nested else {}
    digests = _Digests(environment, files) if nested else None
    found = {}
    for name, definition in definitions.items():
        implementation, behind = implementations[name], None
        if name in nested and digests is not None:
            behind = {
                CONTENT_DIGEST_KEY: digests.of(definition, implementation),
                ATTRIBUTE_PATHS_KEY: sorted(map(list, reads.get(name, ()))),
            }
        hooks_and_restrictions = tuple(sorted(environment.registry.hooks_and_restrictions(name)))
        kind = registry.find(implementation)
        mended = kind is not None and kind.update_repairs_failure
        want = DesiredResource.from_definition(
            definition,
            implementation,
            behind,
            hooks_and_restrictions,
            update_repairs_failure=mended,
        )
        renewed = kind is not None and kind.replace_on_update
        found[name] = replace(want, replace_on_update=True) if renewed else want
    return propagate_sensitivity(found, _makers_of_secrets(definitions, implementations, registry))


def _makers_of_secrets(
    definitions: Mapping[str, ResourceDefinition],
    implementations: Mapping[str, str],
    registry: ResourceTypeRegistry,
) -> set[str]:
    kinds = {name: registry.find(each) for name, each in implementations.items()}
    return {
        name
        for name, kind in kinds.items()
        if kind is not None and _keeps_secrets(kind, definitions[name].properties)
    }


def _keeps_secrets(resource_type: ResourceType, properties: Json) -> bool:
    if isinstance(properties, Mapping):
        return resource_type.has_secret_data(properties)
    return bool(resource_type.secret_data)  # all of it is open yet


def _reads(
    evaluated: EvaluatedTemplate, nested: set[str], above: Mapping[str, Collection[AttributePath]]
) -> dict[str, set[AttributePath]]:
    found: dict[str, set[AttributePath]] = {name: set(reads) for name, reads in above.items()}
    values: list[Any] = [
        [each.properties, each.metadata, each.update_policy]
        for each in evaluated.definitions.values()
    ]
    values.extend(output.value for output in evaluated.outputs.values())
    for value in values:
        for use in attribute_references(value):
            if use.resource in nested and use.attribute is not None:
                read = normalize_attribute_path(use.attribute, use.path)
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

    def __init__(self, environment: Environment, files: TemplateFiles) -> None:
        self._environment = environment
        self._files = files
        entries = dict(environment.registry.entries)
        entries.pop("resources", None)
        zones = [] if environment.availability_zones is None else [environment.availability_zones]
        self._common = _hash([entries, dict(environment.parameter_defaults), *zones])
        self._mapped = environment.registry.template_names() & files.hashes.keys()

    def of(self, definition: ResourceDefinition, implementation: str) -> str:
        inner = self._environment.registry.for_nested_stack(definition.name).entries["resources"]
        named = {implementation, *self._mapped}
        named.update(iterate_strings(expression.dump(definition.properties)))
        reached = sorted(self._files.reachable_files(frozenset(named & self._files.hashes.keys())))
        hashes = [[name, self._files.hashes[name]] for name in reached]
        return _hash([implementation, self._common, inner, hashes])


def _hash(value: Json) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
