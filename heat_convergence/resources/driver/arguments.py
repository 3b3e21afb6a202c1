"""Conversion of properties to the arguments of a call, by a type's specification.

Decides names and shapes; names of objects become ids. Called by ``declarative``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from heat_convergence.common.errors import EntityNotFound, PhysicalResourceNameAmbiguity
from heat_convergence.resources.driver.id_lookup import IdLookup
from heat_convergence.resources.driver.ownership_marks import VALUE_SPECS
from heat_convergence.resources.driver.type_spec import ArgumentMapping, TypeSpec
from heat_convergence.resources.protocol.type_schema import PropertyType, TypeSchema

Json = Any
_EMPTY_VALUES: Mapping[PropertyType, Callable[[], Json]] = {
    PropertyType.LIST: list,
    PropertyType.MAP: dict,
    PropertyType.STRING: str,
}


class ArgumentBuilder:
    """Builds the arguments of one resource."""

    def __init__(
        self, spec: TypeSpec, schema: TypeSchema, lookups: IdLookup, resource: str
    ) -> None:
        """Bind the builder to a type and a resource.

        Args:
            spec: The specification of the type.
            schema: The schema of the type.
            lookups: The lookup of ids at the resource's cloud.
            resource: The resource's name, for errors.
        """
        self._spec = spec
        self._schema = schema
        self._lookups = lookups
        self._resource = resource

    def build(self, properties: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
        """Return the arguments of the properties ``names``.

        A property without a value is sent as the empty value of its type, or not at all where
        there is none.
        """
        requested = set(names)
        values = {
            name: properties.get(name) if self.is_set(name, properties.get(name)) else None
            for name in sorted(requested - {VALUE_SPECS})
        }
        assigned = {name: value for name, value in values.items() if value is not None}
        found = {**self._cleared(values.keys() - assigned.keys()), **self._mapped(assigned, "")}
        if VALUE_SPECS in requested:
            found.update(properties.get(VALUE_SPECS) or {})
        return found

    def is_set(self, path: str, value: Json) -> bool:
        """Return whether a value assigns the property; an empty text may not."""
        if value != "":
            return value is not None
        arg = self._spec.arguments.get(path)
        return path not in self._spec.unset_when_blank and (arg is None or arg.entity is None)

    def resolve_id(self, entity: str, value: Json, path: str) -> str:
        """Return the id of the entity that ``value`` names; errors show the property's path.

        Raises:
            EntityNotFound: There is none.
            PhysicalResourceNameAmbiguity: Several have the name.
        """
        try:
            return self._lookups.resolve_id(entity, value)
        except (EntityNotFound, PhysicalResourceNameAmbiguity) as error:
            error.path = f"resources.{self._resource}.properties.{path}"
            raise

    def _cleared(self, names: Iterable[str]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name in names:
            arg = self._spec.arguments.get(name, ArgumentMapping(name))
            declared = self._schema.properties.get(name)
            if arg.argument is None or declared is None or name in self._spec.kept_when_unset:
                continue
            one = arg.entity is not None and declared.type is not PropertyType.LIST
            if one or name in self._spec.null_when_unset or name in self._spec.null_when_blank:
                found[arg.argument] = None
            elif declared.type in _EMPTY_VALUES:
                found[arg.argument] = _EMPTY_VALUES[declared.type]()
        return found

    def _mapped(self, values: Mapping[str, Json], under: str) -> dict[str, Json]:
        found = {}
        for name, value in values.items():
            path = f"{under}.{name}" if under else name
            arg = self._spec.arguments.get(path, ArgumentMapping(name))
            if arg.argument is not None and (not under or self.is_set(path, value)):
                found[arg.argument] = self._valued(arg, value, path)
        return found

    def _valued(self, arg: ArgumentMapping, value: Json, path: str) -> Json:
        if value == "" and path in self._spec.null_when_blank:
            return None
        if isinstance(value, Mapping):
            return self._mapped(value, path) if self._inside(path) else dict(value)
        if isinstance(value, list | tuple):
            return [self._valued(arg, item, path) for item in value]
        if arg.entity is not None and value is not None and value != "":
            return self.resolve_id(arg.entity, value, path)
        return value

    def _inside(self, path: str) -> bool:
        return any(known.startswith(f"{path}.") for known in self._spec.arguments)
