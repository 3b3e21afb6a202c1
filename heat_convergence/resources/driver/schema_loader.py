"""Loading of the catalog's schemas from the package's data.

Decides how the compact form is read: only what differs from the default is written there. Called
by ``declarative`` and the catalog. It must not know services.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import yaml

from heat_convergence.resources.protocol.type_schema import (
    AttributeSchema,
    CacheMode,
    PropertySchema,
    PropertyType,
    SupportLevel,
    SupportStatus,
    TypeSchema,
)
from heat_convergence.template.parameters.constraints import (
    AllowedPattern,
    AllowedValues,
    Constraint,
    CustomConstraint,
    Length,
    Modulo,
    Range,
)

Json = Any
CATALOG_PACKAGE = "heat_convergence.resources.catalog"


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Descriptions of types, properties and attributes.

    Those of properties and attributes are looked up by ``type.path`` first, then by the path and
    by the name alone.
    """

    type_texts: Mapping[str, str]
    property_texts: Mapping[str, str]
    attribute_texts: Mapping[str, str]

    def describe_property(self, type_name: str, path: str) -> str:
        """Return the description of a property by its type and path, or no text."""
        keys = (f"{type_name}.{path}", path, path.rpartition(".")[2])
        return next((self.property_texts[key] for key in keys if key in self.property_texts), "")

    def describe_attribute(self, type_name: str, name: str) -> str:
        """Return the description of an attribute, or of the property of its name."""
        return (
            self.attribute_texts.get(f"{type_name}.{name}")
            or self.attribute_texts.get(name)
            or self.describe_property(type_name, name)
        )


@cache
def load_descriptions(package: str = CATALOG_PACKAGE) -> Descriptions:
    """Return the descriptions of a package's types, properties and attributes.

    ``descriptions.yaml`` has them under ``types`` by type, under ``properties`` and ``attributes``
    by name, or by ``type.path`` where one type needs another text.
    """
    path = resources.files(package) / "descriptions.yaml"
    found = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return Descriptions(found["types"], found["properties"], found["attributes"])


@lru_cache(maxsize=1)  # types are loaded service by service, and their schemas kept
def load_declarations(service: str, package: str = CATALOG_PACKAGE) -> Mapping[str, Json]:
    """Return type name → compact declaration of a service's types."""
    path = resources.files(package) / "schemas" / f"{service}.json"
    declared: Mapping[str, Json] = json.loads(path.read_text(encoding="utf-8"))
    return declared


@cache
def load_retired_types(service: str) -> Mapping[str, SupportStatus]:
    """Return the support status of a service's hidden types without properties, by name."""
    statuses = {
        name: _support(declared["head"].get("support"))
        for name, declared in sorted(load_declarations(service).items())
        if not declared["properties"]
    }
    return {name: status for name, status in statuses.items() if status.hidden}


@cache
def type_header(service: str, name: str) -> Mapping[str, Json]:
    """Return what is declared about a type in addition to its schema.

    ``handlers``, ``extension``, ``name_limit`` and ``mended``, which says that a failed resource
    is replaced only if it is in error or missing.
    """
    found: Mapping[str, Json] = load_declarations(service)[name]["head"]
    return found


def load_schema(service: str, name: str, aliases: Mapping[str, str]) -> TypeSchema:
    """Return a type's schema, which all registries of a process share.

    Args:
        service: The name of the schemas' file.
        name: The type's name.
        aliases: Path of an old property name → the new name beside it.
    """
    return _schema(service, name, tuple(aliases.items()))


@cache
def _schema(service: str, name: str, aliases: tuple[tuple[str, str], ...]) -> TypeSchema:
    declared = load_declarations(service)[name]
    return read_schema(declared, name, load_descriptions(), dict(aliases))


def read_schema(
    declared: Mapping[str, Json],
    name: str,
    texts: Descriptions,
    aliases: Mapping[str, str] = MappingProxyType({}),
    schema_class: type[TypeSchema] = TypeSchema,
) -> TypeSchema:
    """Return the schema that a compact declaration describes.

    Args:
        declared: The declaration.
        name: The type's name.
        texts: The descriptions.
        aliases: Path of an old property name → the new name beside it.
        schema_class: The class of the schema.
    """
    reader = _Reader(name, texts, aliases)
    return schema_class(
        properties=reader.properties(declared["properties"], ""),
        attributes={
            key: _attribute(value, texts.describe_attribute(name, key))
            for key, value in declared["attributes"].items()
        },
        update_policy=reader.properties(declared.get("update_policy", {}), ""),
        support_status=_support(declared["head"].get("support")),
        description=texts.type_texts.get(name, ""),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the declarations of one type."""

    type_name: str
    texts: Descriptions
    aliases: Mapping[str, str]

    def properties(self, declared: Mapping[str, Json], path: str) -> dict[str, PropertySchema]:
        """Return the schemas of the properties declared under a path."""
        return {
            name: self._property(value, f"{path}.{name}" if path else name)
            for name, value in declared.items()
        }

    def _property(self, declared: Mapping[str, Json], path: str) -> PropertySchema:
        nested, item = declared.get("schema"), declared.get("item")
        return PropertySchema(
            type=PropertyType(declared["type"]),
            description=self.texts.describe_property(self.type_name, path),
            required=declared.get("required", False),
            default=declared.get("default"),
            constraints=tuple(_constraint(rule) for rule in declared.get("constraints", ())),
            update_allowed=declared.get("update_allowed", False),
            immutable=declared.get("immutable", False),
            schema=None if nested is None else self.properties(nested, path),
            item=None if item is None else self._property(item, path),
            support_status=_support(declared.get("support")),
            implemented=declared.get("implemented", True),
            alias_of=self.aliases.get(path),
        )


def _attribute(declared: Mapping[str, Json], description: str) -> AttributeSchema:
    property_type = declared.get("type")
    return AttributeSchema(
        None if property_type is None else PropertyType(property_type),
        description,
        _support(declared.get("support")),
        CacheMode(declared.get("cache", CacheMode.LOCAL)),
    )


def _support(declared: Mapping[str, Json] | None) -> SupportStatus:
    if not declared:
        return SupportStatus()
    previous = None
    for one in reversed(declared.get("previous", ())):
        previous = SupportStatus(SupportLevel(one["status"]), one.get("version"), None, previous)
    return SupportStatus(
        SupportLevel(declared.get("status", SupportLevel.SUPPORTED)),
        declared.get("version"),
        declared.get("message"),
        previous,
    )


def _constraint(rule: Mapping[str, Json]) -> Constraint:
    text = rule.get("description")
    if "range" in rule:
        return Range(rule["range"].get("min"), rule["range"].get("max"), text)
    if "length" in rule:
        return Length(rule["length"].get("min"), rule["length"].get("max"), text)
    if "modulo" in rule:
        return Modulo(rule["modulo"]["step"], rule["modulo"]["offset"], text)
    if "allowed_values" in rule:
        return AllowedValues(tuple(rule["allowed_values"]), text)
    if "allowed_pattern" in rule:
        return AllowedPattern(rule["allowed_pattern"], text)
    return CustomConstraint(rule["custom_constraint"], text)
