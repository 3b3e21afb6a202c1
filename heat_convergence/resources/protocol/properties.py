"""Properties held against what a resource type declares.

Decides whether properties are right, what they are with defaults, and which
have changed.  Called by the api at validation, by the engine before every verb.
Must not do I/O: custom constraints arrive as a mapping of name to function.

Source: heat-facts ``validation.md``, "Properties" and "Error path form".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.errors import StackValidationFailed
from heat_convergence.resources.protocol.property_conversion import CONVERTERS, ConversionError
from heat_convergence.resources.protocol.type_schema import (
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.template.diagnostics import SourcePath, did_you_mean, format_path
from heat_convergence.template.expression import Expression, is_known
from heat_convergence.template.parameters.constraints import (
    CustomConstraint,
    CustomConstraintFunction,
)

Json = Any
CustomChecks = Mapping[str, CustomConstraintFunction]
_UNSET = object()


@dataclass(frozen=True, slots=True)
class PropertyMistake:
    """One thing wrong at a place, such as ``resources.x.property_texts.y[0].z``."""

    path: SourcePath
    message: str
    name: str | None = None  # the key below it that should not be there ...
    missing: bool = False  # ... or that should be

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.message}" if self.path else self.message


def resolve_properties(
    schema: TypeSchema,
    raw: Mapping[str, Json],
    path: SourcePath | str = "properties",
    *,
    custom: CustomChecks | None = None,
) -> dict[str, Json]:
    """Converted properties with defaults; what has no value is left out.

    Every value must be known.  ``custom`` None leaves custom constraints
    unchecked.  Raises ``StackValidationFailed`` with all mistakes.
    """
    reader = _Reader(custom)
    properties = reader.properties(schema, raw, (path,) if isinstance(path, str) else path)
    if reader.mistakes:
        raise property_error(reader.mistakes)
    return properties


def validate_properties(
    schema: TypeSchema,
    raw: Mapping[str, Json],
    path: SourcePath | str = "properties",
    *,
    custom: CustomChecks | None = None,
) -> list[PropertyMistake]:
    """All mistakes; a value not known yet is taken for right."""
    reader = _Reader(custom)
    reader.properties(schema, raw, (path,) if isinstance(path, str) else path)
    return reader.mistakes


def known_properties(schema: TypeSchema, raw: Mapping[str, Json]) -> dict[str, Json]:
    """As ``resolve``, without what is not known yet or is wrong."""
    properties = _Reader(None).properties(schema, raw, ())
    return {name: value for name, value in properties.items() if is_known(value)}


def given_property_names(schema: TypeSchema, raw: Mapping[str, Json]) -> frozenset[str]:
    """Names that have a value, old names told as the new ones."""
    renamed = _renamed(schema.properties, raw)
    return frozenset(name for name, value in renamed.items() if value is not None)


def property_error(mistakes: Sequence[PropertyMistake]) -> StackValidationFailed:
    """The first mistake in the form clients expect, the others below it."""
    return StackValidationFailed("\n".join(f"Property error: {it}" for it in mistakes))


def changed_property_names(
    before: Mapping[str, Json], after: Mapping[str, Json]
) -> frozenset[str]:
    """Names of properties that differ; null and absent are the same."""
    return frozenset(
        name
        for name in before.keys() | after.keys()
        if _canonical(before.get(name)) != _canonical(after.get(name))
    )


def properties_hash(properties: Mapping[str, Json]) -> str:
    """SHA-256, hexadecimal, the same for equal properties in any order."""
    given = {name: value for name, value in properties.items() if value is not None}
    return hashlib.sha256(_canonical(given).encode()).hexdigest()


class _Reader:
    """One pass over properties, collecting mistakes."""

    def __init__(self, custom: CustomChecks | None) -> None:
        self.mistakes: list[PropertyMistake] = []
        self._custom = custom

    def properties(
        self, schema: TypeSchema, raw: Mapping[str, Json], path: SourcePath
    ) -> dict[str, Json]:
        given = {name: value for name, value in raw.items() if value is not None}
        declared = self._names(schema.properties, raw, path, not schema.accepts_any_property)
        return {**given, **declared} if schema.accepts_any_property else declared

    def _names(
        self,
        declared: Mapping[str, PropertySchema],
        raw: Mapping[str, Json],
        path: SourcePath,
        closed: bool = True,
    ) -> dict[str, Json]:
        if closed:
            for name in raw:
                if name not in declared:
                    self._found(
                        path, f"Unknown Property {name}{did_you_mean(name, declared)}", name
                    )
        raw = _renamed(declared, raw)
        result = {}
        for name, schema in declared.items():
            value = self._given(schema, name, raw, path)
            if value is not None:
                result[name] = self._value(schema, value, (*path, name))
        return {name: value for name, value in result.items() if value is not _UNSET}

    def _given(
        self, schema: PropertySchema, name: str, raw: Mapping[str, Json], path: SourcePath
    ) -> Json:
        value = raw.get(name)
        if value is not None:
            if not schema.implemented:
                self._found(path, f"Property {name} not implemented yet")
            return value
        if schema.default is None and schema.required:
            self._found(path, f"Property {name} not assigned", name, absent=True)
        return schema.default

    def _value(self, schema: PropertySchema, value: Json, path: SourcePath) -> Json:
        if isinstance(value, Expression):
            return value  # what it will be is not known yet
        try:
            converted = CONVERTERS[schema.type](value)
        except ConversionError as error:
            self._found(path, str(error))
            return _UNSET
        if schema.type is PropertyType.MAP and schema.schema is not None:
            converted = self._names(schema.schema, converted, path)
        elif schema.type is PropertyType.LIST and schema.item is not None:
            converted = self._items(schema.item, converted, path)
        self._check(schema, converted, path)
        return converted

    def _items(self, item: PropertySchema, values: list[Json], path: SourcePath) -> list[Json]:
        read = [
            self._value(item, value, (*path, index))
            for index, value in enumerate(values)
            if value is not None
        ]
        return [value for value in read if value is not _UNSET]

    def _check(self, schema: PropertySchema, value: Json, path: SourcePath) -> None:
        if not schema.constraints or not is_known(value):
            return
        for constraint in schema.constraints:
            if isinstance(constraint, CustomConstraint):
                problem = self._custom is not None and constraint.find_violation(
                    value, self._custom
                )
            else:
                problem = constraint.find_violation(value)
            if problem:
                self._found(path, problem)

    def _found(
        self, path: SourcePath, message: str, name: str | None = None, *, absent: bool = False
    ) -> None:
        self.mistakes.append(PropertyMistake(path, message, name, absent))


def _renamed(
    declared: Mapping[str, PropertySchema], raw: Mapping[str, Json]
) -> Mapping[str, Json]:
    """What stands under an old name, under the new one."""
    old = {
        name: schema.alias_of
        for name, schema in declared.items()
        if schema.alias_of is not None and raw.get(name) is not None
    }
    if not old:
        return raw
    kept = {name: value for name, value in raw.items() if name not in old}
    return {**kept, **{new: raw[name] for name, new in old.items()}}


_AS_THEY_ARE = frozenset({str, int, bool, type(None)})


def _canonical(value: Json) -> str:
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"))


def _normal(value: Json) -> Json:
    """Equal values written alike: 1.0 as 1, tuples as lists, names as text."""
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, dict | Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
