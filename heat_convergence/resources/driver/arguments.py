"""From properties to a call's arguments, by a row's mapping.

Decides names and shapes; values that name things become ids.  Called by ``declared``.
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
_NONE_OF: Mapping[PropertyType, Callable[[], Json]] = {
    PropertyType.LIST: list,
    PropertyType.MAP: dict,
    PropertyType.STRING: str,
}


class ArgumentBuilder:
    """Arguments for one resource; its name in errors is the view's."""

    def __init__(
        self, row: TypeSpec, schema: TypeSchema, lookups: IdLookup, resource: str
    ) -> None:
        self._row = row
        self._schema = schema
        self._lookups = lookups
        self._resource = resource

    def build(self, properties: Mapping[str, Json], names: Iterable[str]) -> dict[str, Json]:
        """Of the properties ``names``; one without a value is sent as what stands for
        none in its type, or left alone where nothing does."""
        wanted = set(names)
        values = {name: properties.get(name) for name in sorted(wanted - {VALUE_SPECS})}
        given = {name: value for name, value in values.items() if value is not None}
        found = {**self._cleared(values.keys() - given.keys()), **self._mapped(given, "")}
        if VALUE_SPECS in wanted:
            found.update(properties.get(VALUE_SPECS) or {})
        return found

    def build_scalars(self, properties: Mapping[str, Json]) -> dict[str, tuple[str, Json]]:
        """Property → name and value of its argument, where that is a single value and no
        name of another thing: what takes no question to know."""
        found = {}
        for name, value in properties.items():
            arg = self._row.arguments.get(name, ArgumentMapping(name))
            if (
                arg.argument is not None
                and arg.entity is None
                and isinstance(value, str | int | float)
            ):
                found[name] = (arg.argument, value)
        return found

    def resolve_id(self, noun: str, value: Json, path: str) -> str:
        """The id of what ``value`` names; errors tell the property's path."""
        try:
            return self._lookups.resolve_id(noun, value)
        except (EntityNotFound, PhysicalResourceNameAmbiguity) as error:
            error.path = f"resources.{self._resource}.properties.{path}"
            raise

    def _cleared(self, names: Iterable[str]) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for name in names:
            arg = self._row.arguments.get(name, ArgumentMapping(name))
            declared = self._schema.properties.get(name)
            if arg.argument is None or declared is None or name in self._row.kept_when_unset:
                continue
            one = arg.entity is not None and declared.type is not PropertyType.LIST
            if one or name in self._row.null_when_unset:
                found[arg.argument] = None
            elif declared.type in _NONE_OF:
                found[arg.argument] = _NONE_OF[declared.type]()
        return found

    def _mapped(self, values: Mapping[str, Json], under: str) -> dict[str, Json]:
        found = {}
        for name, value in values.items():
            path = f"{under}.{name}" if under else name
            arg = self._row.arguments.get(path, ArgumentMapping(name))
            if arg.argument is not None:
                found[arg.argument] = self._valued(arg, value, path)
        return found

    def _valued(self, arg: ArgumentMapping, value: Json, path: str) -> Json:
        if value == "" and path in self._row.null_when_blank:
            return None
        if isinstance(value, Mapping):
            return self._mapped(value, path) if self._inside(path) else dict(value)
        if isinstance(value, list | tuple):
            return [self._valued(arg, item, path) for item in value]
        if arg.entity is not None and value is not None and value != "":
            return self.resolve_id(arg.entity, value, path)
        return value

    def _inside(self, path: str) -> bool:
        return any(known.startswith(f"{path}.") for known in self._row.arguments)
