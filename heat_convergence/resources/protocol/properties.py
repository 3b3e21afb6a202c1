"""Validation and resolution of properties against a resource type's schema.

Decides whether properties are valid, their values with defaults, and which have changed. Called
by the api at validation and by the engine before every verb. It must not do I/O: custom
constraints arrive as a mapping of name to function.

Source: docs/reference/validation.rst, "Properties" and "Error path form".
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
    EMPTY_VALUES,
    PropertySchema,
    PropertyType,
    TypeSchema,
)
from heat_convergence.template.diagnostics import SourcePath, did_you_mean, error_text
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
    """A validation error at a path, such as ``resources.x.properties.y[0].z``.

    ``name`` is the key under the path that is unknown, or that is required and ``missing``.
    """

    path: SourcePath
    message: str
    name: str | None = None
    missing: bool = False

    def __str__(self) -> str:
        """Return the message, after its path if there is one."""
        return error_text("", self.path, self.message)

    @property
    def exact_path(self) -> SourcePath:
        """The path to the key itself, where the mistake is about one."""
        return self.path if self.name is None else (*self.path, self.name)


def resolve_properties(
    schema: TypeSchema,
    raw: Mapping[str, Json],
    path: SourcePath | str = "properties",
    *,
    custom: CustomChecks | None = None,
) -> dict[str, Json]:
    """Convert properties and add defaults.

    A null stands for the default, else for the empty value of its type, at every depth. Every
    value must be known.

    Args:
        schema: The schema of the resource type.
        raw: Property name → value.
        path: The path of the properties in the template, for errors.
        custom: Constraint name → function; None leaves custom constraints unchecked.

    Raises:
        StackValidationFailed: A property is invalid; the text lists all mistakes.
    """
    reader = _Reader(custom)
    properties = reader.properties(schema, raw, (path,) if isinstance(path, str) else path)
    if reader.mistakes:
        raise property_error(reader.mistakes)
    return properties


def keep_properties_without_value(
    schema: TypeSchema,
    raw: Mapping[str, Json],
    before: Mapping[str, Json],
    after: Mapping[str, Json],
) -> dict[str, Json]:
    """Return the properties of an update, those as before whose nulls alone make a difference.

    A release before this rule left optional nulls out. Its resources must not change, and still
    less be replaced, because an update writes the empty values that the nulls stand for.

    Args:
        schema: The schema of the resource type.
        raw: The properties in the template, all known.
        before: The recorded properties.
        after: What ``resolve_properties`` returns for ``raw``.
    """
    changed = changed_property_names(before, after)
    if not changed or not _has_null(raw):
        return dict(after)
    without = _Reader(None, leaves_nulls_out=True).properties(schema, raw, ())
    kept = changed - changed_property_names(before, without)
    unchanged = {name: before[name] for name in kept if name in before}
    return {name: value for name, value in after.items() if name not in kept} | unchanged


def validate_properties(
    schema: TypeSchema,
    raw: Mapping[str, Json],
    path: SourcePath | str = "properties",
    *,
    custom: CustomChecks | None = None,
) -> tuple[dict[str, Json], list[PropertyMistake]]:
    """Return the resolved properties without unknown and invalid values, and all mistakes.

    A value that is not known yet is no mistake.

    Args:
        schema: The schema of the resource type.
        raw: Property name → value or expression.
        path: The path of the properties in the template, for errors.
        custom: Constraint name → function; None leaves custom constraints unchecked.
    """
    reader = _Reader(custom)
    properties = reader.properties(schema, raw, (path,) if isinstance(path, str) else path)
    known = {name: value for name, value in properties.items() if is_known(value)}
    return known, reader.mistakes


def known_properties(schema: TypeSchema, raw: Mapping[str, Json]) -> dict[str, Json]:
    """Resolve properties, leaving out unknown and invalid values."""
    return validate_properties(schema, raw)[0]


def assigned_property_names(schema: TypeSchema, raw: Mapping[str, Json]) -> frozenset[str]:
    """Return the names of properties that have a value, old names as the new ones.

    An empty text is none.
    """
    renamed = _renamed(schema.properties, raw)
    return frozenset(name for name, value in renamed.items() if value not in (None, ""))


def property_error(mistakes: Sequence[PropertyMistake]) -> StackValidationFailed:
    """Return the error with the first mistake in the form clients expect, then the others."""
    lines = (error_text("Property error", mistake.path, mistake.message) for mistake in mistakes)
    return StackValidationFailed("\n".join(lines))


def changed_property_names(
    before: Mapping[str, Json], after: Mapping[str, Json]
) -> frozenset[str]:
    """Return the names of properties that differ; null and absent are the same."""
    return frozenset(
        name for name in before.keys() | after.keys() if _differ(before.get(name), after.get(name))
    )


def _differ(before: Json, after: Json) -> bool:
    """Return whether values differ; scalars of the same type, which most are, without JSON."""
    if type(before) in _SCALAR_TYPES and type(before) is type(after):
        return bool(before != after)
    return _canonical(before) != _canonical(after)


def properties_hash(properties: Mapping[str, Json]) -> str:
    """Return the SHA-256 of properties, hexadecimal, independent of their order."""
    assigned = {name: value for name, value in properties.items() if value is not None}
    return hashlib.sha256(_canonical(assigned).encode()).hexdigest()


class _Reader:
    """One pass over properties, collecting mistakes."""

    def __init__(self, custom: CustomChecks | None, *, leaves_nulls_out: bool = False) -> None:
        self.mistakes: list[PropertyMistake] = []
        self._custom = custom
        self._leaves_nulls_out = leaves_nulls_out

    def properties(
        self, schema: TypeSchema, raw: Mapping[str, Json], path: SourcePath
    ) -> dict[str, Json]:
        """Convert properties; mistakes are added to ``mistakes``."""
        if schema.ignores_properties:
            return {}
        assigned = {
            name: value for name, value in raw.items() if value is not None or schema.keeps_nulls
        }
        declared = self._names(schema.properties, raw, path, not schema.accepts_any_property)
        return {**assigned, **declared} if schema.accepts_any_property else declared

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
                    self._add_mistake(
                        path, f"Unknown Property {name}{did_you_mean(name, declared)}", name
                    )
        raw = _renamed(declared, raw)
        result = {}
        for name, schema in declared.items():
            value = self._assigned_or_default(schema, name, raw, path)
            if value is not None:
                result[name] = self._value(schema, value, (*path, name))
        return {name: value for name, value in result.items() if value is not _UNSET}

    def _assigned_or_default(
        self, schema: PropertySchema, name: str, raw: Mapping[str, Json], path: SourcePath
    ) -> Json:
        value = raw.get(name)
        if value is not None:
            if not schema.implemented:
                self._add_mistake(path, f"Property {name} not implemented yet")
            return value
        if schema.default is not None:
            return schema.default
        if name in raw:
            return self._value_of_null(schema)
        if schema.required:
            self._add_mistake(path, f"Property {name} not assigned", name, absent=True)
        return None

    def _value(self, schema: PropertySchema, value: Json, path: SourcePath) -> Json:
        if isinstance(value, Expression):
            return value  # its value is not known yet
        try:
            converted = CONVERTERS[schema.type](value)
        except ConversionError as error:
            self._add_mistake(path, str(error))
            return _UNSET
        if schema.type is PropertyType.MAP and schema.schema is not None:
            converted = self._names(schema.schema, converted, path)
        elif schema.type is PropertyType.LIST and schema.item is not None:
            converted = self._items(schema.item, converted, path)
        self._check(schema, converted, path)
        return converted

    def _items(self, item: PropertySchema, values: list[Json], path: SourcePath) -> list[Json]:
        if values and not item.implemented:
            self._add_mistake(path, f"Property {path[-1]} not implemented yet")
        empty = None if self._leaves_nulls_out else EMPTY_VALUES.get(item.type)
        assigned = ((index, empty if each is None else each) for index, each in enumerate(values))
        read = [
            self._value(item, value, (*path, index))
            for index, value in assigned
            if value is not None
        ]
        return [value for value in read if value is not _UNSET]

    def _value_of_null(self, schema: PropertySchema) -> Json:
        """Return what an assigned null stands for; None leaves the property out."""
        if schema.empty_value is not None:
            return schema.empty_value
        is_kept = schema.required or not self._leaves_nulls_out
        return EMPTY_VALUES.get(schema.type) if is_kept else None

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
                self._add_mistake(path, problem)

    def _add_mistake(
        self, path: SourcePath, message: str, name: str | None = None, *, absent: bool = False
    ) -> None:
        self.mistakes.append(PropertyMistake(path, message, name, absent))


def _has_null(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(map(_has_null, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_null, value))
    return value is None


def _renamed(
    declared: Mapping[str, PropertySchema], raw: Mapping[str, Json]
) -> Mapping[str, Json]:
    """Move values of old property names to the new names."""
    old: dict[str, str] = {}
    for name, value in raw.items():
        new_name = declared[name].alias_of if name in declared else None
        if new_name is not None and value is not None:
            old[name] = new_name
    if not old:
        return raw
    kept = {name: value for name, value in raw.items() if name not in old}
    return {**kept, **{new: raw[name] for name, new in old.items()}}


_SCALAR_TYPES = frozenset({str, int, bool, type(None)})


def _canonical(value: Json) -> str:
    return json.dumps(_normal(value), sort_keys=True, separators=(",", ":"))


def _normal(value: Json) -> Json:
    """Return equal values in one form: 1.0 as 1, tuples as lists, keys as text."""
    if type(value) in _SCALAR_TYPES:
        return value
    if isinstance(value, dict | Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
