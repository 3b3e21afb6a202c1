"""The names by which a template may refer to something outside of itself.

Decides which names a document contains that may be those of files, types and parameters.  Called
by ``template_cache`` for each template once, and for the properties of nested stacks' resources.
Must not know which of these names exist.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.template.template import Template

Json = Any
_TYPES = ("type", "Type")
_PROPERTIES = ("properties", "Properties")
# The properties of groups that define their members, and the types of a chain's members.
_MEMBER_DEFINITIONS, _MEMBER_TYPES = ("resource_def", "resource"), "resources"


@dataclass(frozen=True, slots=True)
class TemplateReferences:
    """The names in a template.

    Attributes:
        strings: all strings except keys.
        parameters: the parameters that the template declares.
        has_computed_type: whether the type of a resource may be the result of a function.
    """

    strings: tuple[str, ...] = ()
    parameters: frozenset[str] = frozenset()
    has_computed_type: bool = False

    @property
    def size_bytes(self) -> int:
        """The bytes of the collections; most of their strings are the template's own."""
        return sys.getsizeof(self.strings) + sys.getsizeof(self.parameters)


def find_references(template: Template) -> TemplateReferences:
    """Return what a template refers to."""
    return TemplateReferences(
        unique_strings(template.raw),
        frozenset(template.parameter_names),
        has_computed_type(template.raw),
    )


def unique_strings(value: Json) -> tuple[str, ...]:
    """Return every string of a document except keys, once; a tuple takes a fifth of a set."""
    return tuple(dict.fromkeys(iterate_strings(value)))


def iterate_strings(value: Json) -> Iterator[str]:
    """Yield every string of a document except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from iterate_strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iterate_strings(item)


def has_computed_type(value: Json) -> bool:
    """Return whether a document may compute the type of a resource.

    It does so with a call of a function, which is a map, in the place of a type.
    """
    if isinstance(value, list | tuple):
        return any(map(has_computed_type, value))
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(key), dict) for key in _TYPES):
        return True
    sections = (value.get(key) for key in _PROPERTIES)
    if any(isinstance(each, dict) and _computes_members(each) for each in sections):
        return True
    return any(map(has_computed_type, value.values()))


def _computes_members(properties: Mapping[str, Json]) -> bool:
    definitions = (properties.get(name) for name in _MEMBER_DEFINITIONS)
    if any(isinstance(each, dict) and "type" not in each for each in definitions):
        return True
    return not _are_names(properties.get(_MEMBER_TYPES, []))


def _are_names(value: Json) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
