"""The digests of what nested stacks are made of, apart from their properties.

Called where desired resources are derived: a nested stack is updated when its digest changes, or
in every update if types below it ask for that.
Decides which files, registry entries and parameter defaults the templates of a nested stack, and
those below, can reach.  What a change cannot reach is not updated; where types are computed, all
entries count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from heat_convergence.resources.nested.nested_type import NestedType
from heat_convergence.resources.nested.template_cache import TemplateFiles
from heat_convergence.resources.nested.template_references import (
    TemplateReferences,
    has_computed_type,
    iterate_strings,
    unique_strings,
)
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.registry import ResourceTypeRegistry
from heat_convergence.template import expression
from heat_convergence.template.environment.environment import Environment
from heat_convergence.template.environment.resource_registry import ResourceRegistry
from heat_convergence.template.environment.type_mappings import (
    BASE_URL,
    RESOURCES,
    matching_targets,
)
from heat_convergence.template.evaluation.resource_definition import ResourceDefinition

Json = Any


@dataclass(slots=True)
class _Reach:
    """The names that are reached so far.

    Attributes:
        all_entries: whether any entry of the registry may be used.
        whole_source: whether the whole environment and all files are.
        repeating_type: whether a type is whose resources may act in every update.
    """

    files: set[str] = field(default_factory=set)
    entries: set[str] = field(default_factory=set)
    defaults: set[str] = field(default_factory=set)
    all_entries: bool = False
    whole_source: bool = False
    repeating_type: bool = False

    def add(self, other: _Reach) -> None:
        """Add what another one reaches."""
        self.files |= other.files
        self.entries |= other.entries
        self.defaults |= other.defaults
        self.all_entries |= other.all_entries
        self.whole_source |= other.whole_source
        self.repeating_type |= other.repeating_type


class NestedContent(NamedTuple):
    """The contents of a nested stack, as far as updates depend on them.

    Attributes:
        digest: a hash of the files and settings that it depends on.
        runs_on_update: whether it is updated although they are equal, because resources below
            may have properties that every update sets again.
    """

    digest: str
    runs_on_update: bool


class ContentDigests:
    """The digests for the nested stacks of one template."""

    def __init__(
        self, environment: Environment, files: TemplateFiles, registry: ResourceTypeRegistry
    ) -> None:
        self._environment = environment
        self._files = files
        self._types = _special_types(registry)
        self._entries = [_Entries(each) for each in _levels(environment.registry)]
        self._mapped = environment.registry.template_names() & files.hashes.keys()
        self._steps: dict[tuple[str, str], _Reach] = {}
        self._reached: dict[tuple[frozenset[str], bool], tuple[Json, bool]] = {}

    def content(self, definition: ResourceDefinition, implementation: str) -> NestedContent:
        """Return what the nested stack of a resource is made of."""
        registry = self._environment.registry.for_nested_stack(definition.name)
        inner = registry.entries[RESOURCES]
        properties = expression.dump(definition.properties)
        strings = frozenset({implementation, *iterate_strings([properties, inner])})
        computed = has_computed_type({"properties": properties})
        key = (self._known_names(strings), computed)
        if key not in self._reached:
            reach = self._follow(*key)
            self._reached[key] = self._describe(reach), reach.repeating_type
        description, repeats = self._reached[key]
        return NestedContent(hash_json([implementation, inner, description]), repeats)

    def _known_names(self, strings: frozenset[str]) -> frozenset[str]:
        """Return the strings that name something; others, such as values, reach nothing."""
        types = self._types.generators.keys() | self._types.senders | self._types.repeating
        known = strings & (self._files.hashes.keys() | types)
        for entries in self._entries:
            known |= entries.names_among(strings)
        return known

    def _describe(self, reach: _Reach) -> Json:
        environment, hashes = self._environment, self._files.hashes
        own = self._entries[0].targets
        if reach.whole_source:
            return [own, dict(environment.parameter_defaults), self._common(), hashes]
        entries = own if reach.all_entries else {name: own[name] for name in reach.entries}
        defaults = {name: environment.parameter_defaults[name] for name in reach.defaults}
        files = {name: hashes[name] for name in reach.files}
        return [entries, defaults, self._common(), files]

    def _common(self) -> Json:
        zones = self._environment.availability_zones
        base_url = self._environment.registry.entries.get(BASE_URL)
        return [None if zones is None else list(zones), base_url]

    def _follow(self, names: Collection[str], computed: bool) -> _Reach:
        """Return all that is reached from names, files a level at a time."""
        reach = self._step(TemplateReferences(tuple(names), has_computed_type=computed))
        done = _Reach()
        while True:
            if reach.all_entries:
                reach.files |= self._mapped
            files, defaults = reach.files - done.files, reach.defaults - done.defaults
            if not files and not defaults:
                return reach
            done.files |= files
            done.defaults |= defaults
            for following in [*self._steps_of_files(files), *self._steps_of_defaults(defaults)]:
                reach.add(following)

    def _steps_of_files(self, names: Collection[str]) -> Iterator[_Reach]:
        new = [name for name in names if ("file", name) not in self._steps]
        for name, references in self._files.references(new).items():
            self._steps["file", name] = self._step(references)
        return (self._steps["file", name] for name in names)

    def _steps_of_defaults(self, names: Iterable[str]) -> Iterator[_Reach]:
        for name in names:
            if ("default", name) not in self._steps:
                value = self._environment.parameter_defaults[name]
                references = TemplateReferences(unique_strings(value))
                self._steps["default", name] = self._step(references)
            yield self._steps["default", name]

    def _step(self, references: TemplateReferences) -> _Reach:
        """Return what the names of one document reach, through entries that lead to others."""
        reach = _Reach(all_entries=references.has_computed_type)
        reach.defaults |= references.parameters & self._environment.parameter_defaults.keys()
        waiting, visited = set(references.strings), set[str]()
        while waiting:
            visited |= waiting
            reach.files |= waiting & self._files.hashes.keys()
            following: set[str] = set()
            reach.whole_source |= not self._types.senders.isdisjoint(waiting)
            reach.repeating_type |= not self._types.repeating.isdisjoint(waiting)
            for name in waiting & self._types.generators.keys():
                generated = self._types.generators[name]
                reach.all_entries |= generated is None
                following |= generated or frozenset()
            for at, entries in enumerate(self._entries):
                for pattern, target in entries.matches(waiting):
                    following.add(target)
                    if at == 0:
                        reach.entries.add(pattern)
            waiting = following - visited
        return reach


class _Entries:
    """The entries of one registry for all resources, found by the names of types."""

    def __init__(self, registry: ResourceRegistry) -> None:
        self.targets = {
            name: target
            for name, target in registry.entries.items()
            if name not in (RESOURCES, BASE_URL)
        }
        patterns = [name for name in self.targets if name.endswith("*")]
        self._lengths = sorted({len(name) - 1 for name in patterns})

    def names_among(self, names: Collection[str]) -> frozenset[str]:
        """Return the names to which an entry applies."""
        return frozenset(name for name in self._candidates(names) if self._patterns(name))

    def matches(self, names: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield the entries that apply to names, each with what it leads to."""
        for name in self._candidates(names):
            patterns = self._patterns(name)
            found = dict(matching_targets({each: self.targets[each] for each in patterns}, name))
            for pattern in patterns:  # one that removes others leads to the type itself
                yield pattern, found.get(pattern, name)

    def _candidates(self, names: Collection[str]) -> Collection[str]:
        return names if self._lengths else self.targets.keys() & names

    def _patterns(self, name: str) -> list[str]:
        prefixes = (f"{name[:length]}*" for length in self._lengths if length <= len(name))
        return [each for each in dict.fromkeys([name, *prefixes]) if each in self.targets]


@dataclass(frozen=True, slots=True)
class _SpecialTypes:
    """The types that use more than the documents name.

    Attributes:
        generators: types whose nested stacks have types that no document names, each with
            these types, None where they may be any.
        senders: types that send environment and files to another service.
        repeating: types whose resources may act in every update.
    """

    generators: Mapping[str, frozenset[str] | None]
    senders: frozenset[str]
    repeating: frozenset[str]


@lru_cache(maxsize=8)
def _special_types(registry: ResourceTypeRegistry) -> _SpecialTypes:
    nested = [each for each in registry if isinstance(each, NestedType)]
    return _SpecialTypes(
        {
            each.name: each.generated_types
            for each in nested
            if each.generated_types != frozenset()
        },
        frozenset(each.name for each in registry if each.stack_source_property is not None),
        frozenset(each.name for each in registry if may_repeat_properties(each)),
    )


def may_repeat_properties(resource_type: ResourceType) -> bool:
    """Return whether resources of the type may act in every update, changed or not."""
    return type(resource_type).repeated_properties is not ResourceType.repeated_properties


def _levels(registry: ResourceRegistry) -> Iterator[ResourceRegistry]:
    """Yield the user's registry and those below it."""
    yield registry
    if registry.base is not None:
        yield from _levels(registry.base)


def hash_json(value: Json) -> str:
    """Return the SHA-256, in hex, of a value as JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
