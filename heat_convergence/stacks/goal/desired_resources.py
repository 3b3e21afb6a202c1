"""An evaluated template to the desired resources that a traversal plans with.

Called by the builders of root and nested stacks, by rollbacks and by previews, so that
all come to the same: a definition is changed when its own text is, or what its nested
stack is made of in files and environment, or what others read of that stack.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from heat_convergence.common.values.packed_map import pack_if_large
from heat_convergence.convergence.planning.desired_state import NESTED_STACK_KEY, DesiredResource
from heat_convergence.convergence.planning.requirement_levels import with_requirement_levels
from heat_convergence.convergence.planning.sensitivity import propagate_sensitivity
from heat_convergence.resources.implicit_dependencies import add_implicit_dependencies
from heat_convergence.resources.nested.nested_type import (
    AttributePath,
    NestedType,
    normalize_attribute_path,
)
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.stacks.goal.content_digests import ContentDigests, hash_json
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.stabilization import is_window_word
from heat_convergence.template.evaluation.evaluated_template import EvaluatedTemplate
from heat_convergence.template.evaluation.references import attribute_references
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

Json = Any
# Names in a stored definition, under ``desired_state.NESTED_STACK_KEY``.
CONTENT_DIGEST_KEY = "digest"
ATTRIBUTE_PATHS_KEY = "reads"


def resolve_implementations(
    definitions: Mapping[str, ResourceDefinition], environment: Environment
) -> dict[str, str]:
    """Return the type or template that each resource's type resolves to, by name."""
    resolve = environment.registry.resolve
    return {name: resolve(each.type, name) for name, each in definitions.items()}


def stored_attribute_paths(definition: Mapping[str, Json]) -> list[AttributePath]:
    """Return what others read of a nested stack, by its resource's stored definition."""
    nested = definition.get(NESTED_STACK_KEY) or {}
    return [tuple(path) for path in nested.get(ATTRIBUTE_PATHS_KEY, ())]


def derive_desired_resources(
    evaluated: EvaluatedTemplate,
    environment: Environment,
    files: TemplateFiles,
    registry: ResourceTypeRegistry,
    *,
    implementations: Mapping[str, str] | None = None,
    parent_attribute_paths: Mapping[str, Collection[AttributePath]] | None = None,
) -> Mapping[str, DesiredResource]:
    """Return the desired resources by name.

    Args:
        evaluated: the stack's template.
        environment: the stack's own.
        files: those of the whole tree.
        registry: the resource types.
        implementations: as ``resolve_implementations`` returns, if they are known.
        parent_attribute_paths: what ancestors read of the resources, by resource name.
    """
    if implementations is None:
        implementations = resolve_implementations(evaluated.definitions, environment)
    types = {each: registry.find(each) for each in set(implementations.values())}
    names = {name for name, each in implementations.items() if isinstance(types[each], NestedType)}
    nested = None
    if names:
        paths = _attribute_paths(evaluated, names, parent_attribute_paths or {})
        nested = _NestedStacks(names, paths, ContentDigests(environment, files, registry))
    source = _GoalSource(environment, files, nested)
    definitions = add_implicit_dependencies(evaluated.definitions, implementations, registry)
    secret: set[str] = set()
    texts: dict[str, str] = {}  # the members of a group have their long values in common

    def desire() -> Iterator[tuple[str, DesiredResource]]:
        for name, definition in definitions.items():
            resource_type = types[implementations[name]]
            if _has_secret_data(resource_type, definition.properties):
                secret.add(name)
            desired = _desired_resource(definition, implementations[name], resource_type, source)
            yield name, _with_common_texts(desired, texts)

    levels = {
        name: resource_type.dependent_levels
        for name, each in implementations.items()
        if (resource_type := types[each]) is not None and resource_type.dependent_levels
    }
    found = with_requirement_levels(pack_if_large(desire()), definitions, levels)
    return propagate_sensitivity(found, secret)


def _desired_resource(
    definition: ResourceDefinition,
    implementation: str,
    resource_type: ResourceType | None,
    source: _GoalSource,
) -> DesiredResource:
    nested_stack, nested_repeats = source.nested_stack(definition, implementation)
    words = source.environment.registry.hooks_and_restrictions(definition.name)
    if nested_stack is not None:  # its resources have windows of their own
        words = frozenset(word for word in words if not is_window_word(word))
    hooks = tuple(sorted(words))
    repeats = resource_type is not None and bool(
        resource_type.repeated_properties(definition.properties)
    )
    repairs = resource_type is not None and resource_type.update_repairs_failure
    desired = DesiredResource.from_definition(
        definition,
        implementation,
        nested_stack,
        hooks,
        update_repairs_failure=repeats or repairs,
        source_digest=source.digest(definition.name) if _sends_source(resource_type) else "",
    )
    replaces = resource_type is not None and resource_type.replace_on_update
    return replace(desired, replace_on_update=replaces, runs_on_update=repeats or nested_repeats)


def _with_common_texts(desired: DesiredResource, texts: dict[str, str]) -> DesiredResource:
    """Return the resource with the texts of others by their hashes, as far as they are there."""
    if not desired.contents:
        return desired
    contents = {key: texts.setdefault(key, text) for key, text in desired.contents.items()}
    return replace(desired, contents=contents)


def _sends_source(resource_type: ResourceType | None) -> bool:
    return resource_type is not None and resource_type.stack_source_property is not None


@dataclass(frozen=True, slots=True)
class _NestedStacks:
    """The resources of one goal that have nested stacks, with what others read of each."""

    names: set[str]
    attribute_paths: Mapping[str, Collection[AttributePath]]
    digests: ContentDigests


@dataclass(frozen=True, slots=True)
class _GoalSource:
    """The environment and files that the resources of one goal may refer to."""

    environment: Environment
    files: TemplateFiles
    nested: _NestedStacks | None

    def nested_stack(
        self, definition: ResourceDefinition, implementation: str
    ) -> tuple[dict[str, Json] | None, bool]:
        """Return what is stored of a resource's nested stack, and whether each update runs it."""
        if self.nested is None or definition.name not in self.nested.names:
            return None, False
        digest, repeats = self.nested.digests.content(definition, implementation)
        paths = self.nested.attribute_paths.get(definition.name, ())
        stored = {CONTENT_DIGEST_KEY: digest, ATTRIBUTE_PATHS_KEY: sorted(map(list, paths))}
        return stored, repeats

    def digest(self, resource_name: str) -> str:
        """Return a hash of all that a resource sends to another service."""
        return hash_json([self.environment.for_remote_stack(resource_name), self.files.hashes])


def _has_secret_data(resource_type: ResourceType | None, properties: Json) -> bool:
    if resource_type is None:
        return False
    if isinstance(properties, Mapping):
        return resource_type.has_secret_data(properties)
    return bool(resource_type.secret_data)  # the properties are not known yet


def _attribute_paths(
    evaluated: EvaluatedTemplate,
    nested: set[str],
    parent_paths: Mapping[str, Collection[AttributePath]],
) -> dict[str, set[AttributePath]]:
    """Return what ancestors, resources and outputs read of nested stacks."""
    found = {name: set(paths) for name, paths in parent_paths.items()}
    values = (
        [each.properties, each.metadata, each.update_policy]
        for each in evaluated.definitions.values()
    )
    shown = (output.value for output in evaluated.outputs.values())
    for value in chain(values, shown):
        for reference in attribute_references(value):
            if reference.resource in nested and reference.attribute is not None:
                path = normalize_attribute_path(reference.attribute, reference.path)
                if path is not None:
                    found.setdefault(reference.resource, set()).add(path)
    return found
