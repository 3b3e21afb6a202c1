"""The resource registry: implementations, hooks, restrictions and policies of resources.

Decides them from an environment's ``resource_registry``.  Called when a goal is planned
and whenever a resource is about to act.  Must not load templates or know resource types.

Source: docs/reference/events-and-states.rst, "resource_registry forms".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from heat_convergence.common.errors import HTTPBadRequest, StackValidationFailed
from heat_convergence.template.environment import drift_policies
from heat_convergence.template.environment.drift_policies import DRIFT, DriftPolicy
from heat_convergence.template.environment.further_names import (
    FURTHER_NAMES,
    find_further_name,
)
from heat_convergence.template.environment.readiness import (
    READINESS,
    ReadinessLevel,
    level_word,
    parse_readiness,
)
from heat_convergence.template.environment.registry_checks import (
    HOOKS,
    MAPS_OF_RESOURCE,
    POLICIES,
    RESTORED_PROPERTIES,
    RESTRICTED_ACTIONS,
    as_list,
    check_resources,
)
from heat_convergence.template.environment.repair_window import RepairWindow, window_word
from heat_convergence.template.environment.resource_patterns import ResourcePatterns
from heat_convergence.template.environment.stabilization import (
    STABILIZATION,
    parse_stabilization,
    stabilization_word,
)
from heat_convergence.template.environment.type_mappings import (
    BASE_URL,
    RESOURCES,
    Implementation,
    is_template_name,
    matching_targets,
)
from heat_convergence.template.evaluation_budget import ENTRIES_PER_STEP, charge_if_bounded

Json = Any
Policy = TypeVar("Policy")
_MAX_CHAIN = 50


@dataclass(frozen=True, slots=True)
class ResourceRegistry:
    """A ``resource_registry`` on top of the operator's.

    Attributes:
        entries: The user's entries as written.
        base: The operator's registry.
    """

    entries: Mapping[str, Json]
    base: ResourceRegistry | None = None
    _prefix_lengths: tuple[int, ...] = field(init=False, repr=False, compare=False)
    _resource_patterns: ResourcePatterns = field(init=False, repr=False, compare=False)
    # The implementations of types, for resources that no entry names.
    _general: dict[str, Implementation] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        # A wildcard is found by the beginning of a type's name, like others by the whole name.
        names = (name for name in self.entries if isinstance(name, str))
        lengths = sorted({len(name) - 1 for name in names if name.endswith("*")})
        object.__setattr__(self, "_prefix_lengths", tuple(lengths))
        object.__setattr__(self, "_resource_patterns", ResourcePatterns(self._resources()))

    @classmethod
    def parse(cls, entries: Json, base: ResourceRegistry | None = None) -> ResourceRegistry:
        """Check the entries and build a registry.

        Raises:
            HTTPBadRequest: An entry has the wrong form, or an unknown policy or level.
            InvalidBreakPointHook: A hook has an unknown type.
            InvalidRestrictedAction: A restricted action is unknown.
        """
        if not isinstance(entries, dict):
            raise HTTPBadRequest('"resource_registry" in the environment is not a map.')
        for name, target in entries.items():
            if name == RESOURCES:
                check_resources(target)
            elif target is not None and not isinstance(target, str):
                raise HTTPBadRequest(f'The resource_registry entry "{name}" must be a string.')
        return cls(entries, base)

    def resolve(self, type_name: str, resource_name: str | None = None) -> str:
        """Return the name of the type or template that implements a type.

        Without an entry for the type, that is the type itself.
        """
        return self.find_implementation(type_name, resource_name).target

    def find_implementation(
        self, type_name: str, resource_name: str | None = None
    ) -> Implementation:
        """Return the implementation of a type and who chose it.

        Raises:
            StackValidationFailed: The entries form a cycle.
        """
        if resource_name is not None and self._names_resource(resource_name):
            return self._follow(type_name, resource_name)
        if type_name not in self._general:
            self._general[type_name] = self._follow(type_name, None)
        return self._general[type_name]

    def _follow(self, type_name: str, resource_name: str | None) -> Implementation:
        visited = [type_name]
        found = Implementation(type_name)
        while not is_template_name(found.target):
            following = self._next(found.target, resource_name)
            if following is None or following.target == found.target:
                return found
            if following.target in visited or len(visited) > _MAX_CHAIN:
                cycle = " -> ".join([*visited, following.target])
                raise StackValidationFailed(f"The resource_registry leads round: {cycle}")
            visited.append(following.target)
            found = following
        return found

    def _next(self, type_name: str, resource_name: str | None) -> Implementation | None:
        removed = self._removes(type_name)
        matches = self._matches(type_name, resource_name)
        best = min((each for each in matches if not removed or each[0] < -1), default=None)
        if best is not None:
            return Implementation(best[-1])
        if removed:
            return None
        if self.base is not None:
            inherited = self.base._next(type_name, resource_name)
            return inherited and Implementation(inherited.target, from_user=False)
        further = find_further_name(type_name)
        return None if further is None else Implementation(further, from_user=False)

    def _matches(
        self, type_name: str, resource_name: str | None
    ) -> Iterator[tuple[int, tuple[str, ...], str]]:
        """Yield matching entries in a form that sorts by precedence: longer paths first."""
        specific = self._resources().get(resource_name) if resource_name is not None else None
        if isinstance(specific, dict) and resource_name is not None:
            charge_if_bounded(len(specific) // ENTRIES_PER_STEP)
            for pattern, target in matching_targets(specific, type_name):
                yield (-3, (RESOURCES, resource_name, pattern), target)
        entry_by_pattern = {name: self.entries[name] for name in self._patterns_for(type_name)}
        for pattern, target in matching_targets(entry_by_pattern, type_name):
            yield (-1, (pattern,), target)

    def _removes(self, type_name: str) -> bool:
        """Return whether the most specific entry for the type is null."""
        patterns = self._patterns_for(type_name)
        closest = max(patterns, key=lambda name: (name == type_name, len(name)), default=None)
        return closest is not None and self.entries[closest] is None

    def _patterns_for(self, type_name: str) -> list[str]:
        """Return the names of the entries that apply to the type, null or not."""
        charge_if_bounded(len(self._prefix_lengths) // ENTRIES_PER_STEP)
        names = {type_name: None}
        names |= {f"{type_name[:n]}*": None for n in self._prefix_lengths if n <= len(type_name)}
        return [name for name in names if name in self.entries]

    def _names_resource(self, resource_name: str) -> bool:
        """Return whether an entry, here or below, is for this resource alone."""
        inherited = self.base is not None and self.base._names_resource(resource_name)
        return inherited or resource_name in self._resources()

    def has_resource_entries(self) -> bool:
        """Return whether any entry, here or below, is for some resources alone."""
        inherited = self.base is not None and self.base.has_resource_entries()
        return inherited or bool(self._resource_patterns)

    def _resources(self) -> Mapping[str, Json]:
        resources = self.entries.get(RESOURCES)
        return resources if isinstance(resources, dict) else {}

    def hooks(self, resource_name: str) -> frozenset[str]:
        """Return the hooks on a resource."""
        return self._items_for(resource_name, HOOKS)

    def restricted_actions(self, resource_name: str) -> frozenset[str]:
        """Return the actions (``update``, ``replace``) that are forbidden for a resource."""
        return self._items_for(resource_name, RESTRICTED_ACTIONS)

    def hooks_and_restrictions(self, resource_name: str) -> frozenset[str]:
        """Return the hooks, restricted actions and, as words, policies of a resource."""
        if not self.has_resource_entries():
            return frozenset()
        window = self.repair_window(resource_name)
        level = self.readiness(resource_name)
        stabilization_s = self.stabilization_s(resource_name)
        return (
            self.hooks(resource_name)
            | self.restricted_actions(resource_name)
            | drift_policies.to_words(self.drift_policies(resource_name))
            | (frozenset() if window is None else {window_word(window)})
            | (frozenset() if level is None else {level_word(level)})
            | ({stabilization_word(stabilization_s)} if stabilization_s else frozenset())
        )

    def drift_policies(self, resource_name: str) -> dict[str, DriftPolicy]:
        """Return the drift policies of a resource, by property; its own under "".

        An exact entry takes precedence over patterns, a later pattern over an earlier one, and
        the user's over the operator's.
        """
        found = self.base.drift_policies(resource_name) if self.base else {}
        for pattern, body in self._resource_patterns.entries_for(resource_name):
            if body.get(DRIFT) is not None:
                path = f"resource_registry.resources.{pattern}.{DRIFT}"
                found.update(drift_policies.parse_drift(body[DRIFT], path))
        return found

    def repair_window(self, resource_name: str) -> RepairWindow | None:
        """Return the window of a resource's repairs."""
        return self._policy(resource_name, DRIFT, drift_policies.parse_entry_window)

    def readiness(self, resource_name: str) -> ReadinessLevel | None:
        """Return the level that is demanded of a resource."""
        return self._policy(resource_name, READINESS, parse_readiness)

    def stabilization_s(self, resource_name: str) -> int:
        """Return how long a resource must have been healthy before its stack is complete."""
        return self._policy(resource_name, STABILIZATION, parse_stabilization) or 0

    def _policy(
        self, resource_name: str, key: str, parse: Callable[[Json, str], Policy | None]
    ) -> Policy | None:
        """Return a policy with the precedence of ``drift_policies``; None without an entry."""
        found = self.base._policy(resource_name, key, parse) if self.base else None
        for pattern, body in self._resource_patterns.entries_for(resource_name):
            if body.get(key) is not None:
                own = parse(body[key], f"resource_registry.resources.{pattern}.{key}")
                found = found if own is None else own
        return found

    def drift_patterns(self) -> dict[str, frozenset[str]]:
        """Return the user's patterns with drift policies, and the properties that they name.

        Patterns of resources in nested stacks are left out.
        """
        return {
            pattern: frozenset(drift_policies.parse_drift(body[DRIFT], pattern)) - {""}
            for pattern, body in self._resources().items()
            if isinstance(body, dict) and body.get(DRIFT) is not None
        }

    def _items_for(self, resource_name: str, key: str) -> frozenset[str]:
        found = {
            item
            for _pattern, body in self._resource_patterns.entries_for(resource_name)
            for item in as_list(body.get(key))
        }
        inherited = self.base._items_for(resource_name, key) if self.base else frozenset()
        return frozenset(found) | inherited

    def find_replaced_type(self, type_name: str, resource_name: str) -> str | None:
        """Return the type that a template takes the place of, by an entry for all resources.

        It is None if the implementation is no template, or if the entry is for this resource.
        """
        current = type_name
        while not is_template_name(current):
            following = self._next(current, resource_name)
            if following is None or following.target == current:
                return None
            if following.is_template:
                return current if following == self._next(current, None) else None
            current = following.target
        return None

    def for_nested_stack(
        self, resource_name: str, replaced_type: str | None = None
    ) -> ResourceRegistry:
        """Return the registry of the nested stack of a resource.

        It has all type mappings, and what is nested under the entries that match the resource;
        an exact entry takes precedence over patterns.

        Args:
            resource_name: the resource.
            replaced_type: a type that means itself inside.
        """
        inner: dict[str, Json] = {}
        for _pattern, body in self._resource_patterns.entries_for(resource_name):
            inner.update(_entries_for_nested(body, inner))
        base = self.base and self.base.for_nested_stack(resource_name)
        shared = self.entries.get(RESOURCES) == {} and base is self.base
        if shared and replaced_type is None:
            return self  # All nested stacks share the object.
        general = {name: entry for name, entry in self.entries.items() if name != RESOURCES}
        if replaced_type is not None:
            general[replaced_type] = None
        return ResourceRegistry({**general, RESOURCES: inner}, base)

    def with_aliases(self, aliases: Mapping[str, str]) -> ResourceRegistry:
        """Return the registry with further names of types, which take precedence."""
        return ResourceRegistry({**self.entries, **aliases}, self.base)

    def restored_properties(self) -> dict[str, Mapping[str, Json]]:
        """Return, by resource name, the properties that restore a resource from a snapshot."""
        bodies = self._resources().items()
        return {
            name: body[RESTORED_PROPERTIES]
            for name, body in bodies
            if isinstance(body, dict) and body.get(RESTORED_PROPERTIES)
        }

    def with_restored_properties(self, resources: Mapping[str, Json]) -> ResourceRegistry:
        """Return a registry that also restores the given resources of nested stacks."""
        merged = _merge_restored(self._resources(), resources)
        return ResourceRegistry({**self.entries, RESOURCES: merged}, self.base)

    def without_hooks(self) -> ResourceRegistry:
        """Return the same registry without any hooks."""
        base = self.base and self.base.without_hooks()
        resources = _without_hooks(self._resources())
        return ResourceRegistry({**self.entries, RESOURCES: resources}, base)

    def further_names(self) -> dict[str, str]:
        """Return the names without wildcards that stand for types or templates, with these."""
        found = self.base.further_names() if self.base else dict(FURTHER_NAMES)
        for name, target in self.entries.items():
            if isinstance(target, str) and name != BASE_URL and not name.endswith("*"):
                with suppress(StackValidationFailed):  # entries that lead round name no type
                    found[name] = self.resolve(name)
        return {name: target for name, target in found.items() if not is_template_name(name)}

    def template_names(self) -> frozenset[str]:
        """Return the templates that entries name at any depth."""
        return frozenset(_templates(self.entries)) | (
            self.base.template_names() if self.base else frozenset()
        )

    def to_dict(self) -> dict[str, Json]:
        """Return the user's entries in a stable form that always has ``resources``."""
        entries = dict(sorted(self.entries.items()))
        entries[RESOURCES] = dict(self._resources())
        return entries


def _entries_for_nested(body: Mapping[str, Json], known: Mapping[str, Json]) -> dict[str, Json]:
    """Return what one entry states about the resources of a nested stack.

    Restored properties are merged with what other matching entries state.
    """
    found = {}
    for key, item in body.items():
        if isinstance(item, dict) and key not in MAPS_OF_RESOURCE:
            found[key] = {**known.get(key, {}), **item} if RESTORED_PROPERTIES in item else item
    return found


def _merge_restored(body: Mapping[str, Json], added: Mapping[str, Json]) -> dict[str, Json]:
    merged = dict(body)
    for name, entry in added.items():
        before = merged.get(name)
        known = before if isinstance(before, dict) and name != RESTORED_PROPERTIES else None
        merged[name] = entry if known is None else _merge_restored(known, entry)
    return merged


def _without_hooks(body: Mapping[str, Json]) -> dict[str, Json]:
    return {
        key: _without_hooks(item) if isinstance(item, dict) and key not in POLICIES else item
        for key, item in body.items()
        if key != HOOKS
    }


def _templates(entries: Mapping[str, Json]) -> Iterator[str]:
    for value in entries.values():
        if isinstance(value, dict):
            yield from _templates(value)
        elif isinstance(value, str) and is_template_name(value):
            yield value
