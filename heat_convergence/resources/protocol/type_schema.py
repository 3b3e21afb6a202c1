"""Declarations of the properties and attributes of a resource type.

Decides what can be declared. Imported by resource types through ``schema``, which also has the
functions that validate values against declarations. It must not touch values: it is data only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from heat_convergence.template.parameters.constraints import Constraint

Json = Any


class PropertyType(StrEnum):
    """The types of values that a property can have."""

    STRING = "string"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    MAP = "map"
    LIST = "list"
    ANY = "any"


class SupportLevel(StrEnum):
    """Heat's support status of a type, property or attribute."""

    UNKNOWN = "UNKNOWN"
    SUPPORTED = "SUPPORTED"
    DEPRECATED = "DEPRECATED"
    UNSUPPORTED = "UNSUPPORTED"
    HIDDEN = "HIDDEN"


class CacheMode(StrEnum):
    """Reuse of an attribute's last value within one evaluation."""

    LOCAL = "cache_local"
    NONE = "cache_none"


@dataclass(frozen=True, slots=True)
class SupportStatus:
    """The version since which something is supported, deprecated or hidden."""

    status: SupportLevel = SupportLevel.SUPPORTED
    version: str | None = None
    message: str | None = None
    previous: SupportStatus | None = None

    @property
    def hidden(self) -> bool:
        """True when it is not shown to clients."""
        return self.status is SupportLevel.HIDDEN


SUPPORTED = SupportStatus()

EMPTY_VALUES: Mapping[PropertyType, Json] = MappingProxyType(
    {
        PropertyType.STRING: "",
        PropertyType.NUMBER: 0,
        PropertyType.INTEGER: 0,
        PropertyType.BOOLEAN: False,
        PropertyType.MAP: {},
        PropertyType.LIST: [],
    }
)
"""The values that null stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySchema:
    """The declaration of a property, or of the elements of a list.

    Attributes:
        schema: Declares the keys of a map; a map without it is passed through.
        item: Declares the elements of a list; a list without it is passed through.
        default: None means there is no default.
        implemented: False for a property that is known by name but refused when it has a value.
        alias_of: For an old name, the new name beside it that receives its value.
        empty_value: What an assigned null becomes without a default: None stands for the empty
            value of its type, and leaves out a property of any type.
    """

    type: PropertyType
    description: str = ""
    required: bool = False
    default: Json = None
    constraints: tuple[Constraint, ...] = ()
    update_allowed: bool = False
    immutable: bool = False
    schema: Mapping[str, PropertySchema] | None = None
    item: PropertySchema | None = None
    support_status: SupportStatus = SUPPORTED
    implemented: bool = True
    alias_of: str | None = None
    empty_value: Json = None

    def __post_init__(self) -> None:
        """Check that ``schema`` and ``item`` fit the type.

        Raises:
            ValueError: They do not.
        """
        object.__setattr__(self, "type", PropertyType(self.type))
        if self.schema is not None and self.type is not PropertyType.MAP:
            raise ValueError(f"Only a map has a schema of names, not a {self.type}")
        if self.item is not None and self.type is not PropertyType.LIST:
            raise ValueError(f"Only a list has an item schema, not a {self.type}")


@dataclass(frozen=True, slots=True)
class AttributeSchema:
    """The declaration of an attribute; ``type`` None leaves the value's type open."""

    type: PropertyType | None = None
    description: str = ""
    support_status: SupportStatus = SUPPORTED
    cache_mode: CacheMode = CacheMode.LOCAL

    def __post_init__(self) -> None:
        """Convert a type given as text."""
        if self.type is not None:
            object.__setattr__(self, "type", PropertyType(self.type))


SHOW_ATTRIBUTE = AttributeSchema(
    PropertyType.MAP,
    "Detailed information about resource.",
    cache_mode=CacheMode.NONE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSchema:
    """All that a resource type declares.

    ``accepts_any_property`` and ``accepts_any_attribute`` admit names that are not declared; an
    undeclared property may be updated in place.  ``keeps_nulls`` keeps undeclared properties that
    are null, which are left out otherwise.  ``ignores_properties`` says that the type never reads
    its properties, so that they are never evaluated.  ``reports_missing_attributes`` lets outputs
    read attributes that are not declared; who reads the output is shown the error.
    """

    properties: Mapping[str, PropertySchema] = field(default_factory=dict)
    attributes: Mapping[str, AttributeSchema] = field(default_factory=dict)
    update_policy: Mapping[str, PropertySchema] = field(default_factory=dict)
    support_status: SupportStatus = SUPPORTED
    description: str = ""
    accepts_any_property: bool = False
    accepts_any_attribute: bool = False
    keeps_nulls: bool = False
    ignores_properties: bool = False
    reports_missing_attributes: bool = False

    @property
    def all_attributes(self) -> Mapping[str, AttributeSchema]:
        """The declared attributes and ``show``, which every type has."""
        return {**self.attributes, "show": SHOW_ATTRIBUTE}

    def has_attribute(self, name: str) -> bool:
        """Return whether a template may read this attribute."""
        return self.accepts_any_attribute or name == "show" or name in self.attributes

    def update_allowed(self, name: str) -> bool:
        """Return whether a change of this property can be made in place."""
        declared = self.properties.get(name)
        return self.accepts_any_property if declared is None else declared.update_allowed

    def immutable(self, name: str) -> bool:
        """Return whether a change of this property is refused."""
        declared = self.properties.get(name)
        return declared is not None and declared.immutable
