"""Which resource types there are.

Decides what a type's name means and which types are shown.  Made once per process
by ``cli`` (entry points) or by tests (explicit), asked by api, engine and
observer.  Must not know environments: a name is resolved by the template's
environment before it is looked up here.

Source: heat-facts ``rest_api.json``, the ``resource_types`` routes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import EntryPoint
from typing import Any

from stevedore import ExtensionManager

from heat_convergence.common.errors import (
    EntityNotFound,
    HTTPBadRequest,
    NotSupported,
    StackValidationFailed,
)
from heat_convergence.resources.nested.template_resource import TemplateResource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import generate_template, render_schema
from heat_convergence.template import bounded_regex
from heat_convergence.template.diagnostics import did_you_mean
from heat_convergence.template.environment.resource_registry import is_template_name
from heat_convergence.template.limits import TemplateLimits

Json = Any
ENTRY_POINT_GROUP = "heat_convergence.resource_types"
CATALOG_ENTRY_POINT_GROUP = "heat_convergence.resource_catalogs"
_LISTING = TemplateLimits(regex_max_slow_matches=1)  # a pattern that is slow once is refused
_TEMPLATE = TemplateResource()  # stands behind every template's name

PropertyDefaults = Mapping[tuple[str, str], Json]  # type and property → the property's default
TypeOverrides = Mapping[tuple[str, str], Json]  # type and attribute of it → the attribute's value
_NOTHING: Mapping[tuple[str, str], Json] = {}

_log = logging.getLogger(__name__)


class ResourceTypeRegistry:
    """Resource types by name; does not change once it is made."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        by_name: dict[str, ResourceType] = {}
        for resource_type in types:
            other = by_name.setdefault(resource_type.name, resource_type)
            if other is not resource_type:
                raise ValueError(
                    f"Two resource types are called {resource_type.name}:"
                    f" {_origin(other)} and {_origin(resource_type)}"
                )
        self._types: Mapping[str, ResourceType] = dict(sorted(by_name.items()))

    @classmethod
    def load(
        cls, defaults: PropertyDefaults = _NOTHING, overrides: TypeOverrides = _NOTHING
    ) -> ResourceTypeRegistry:
        """All types that installed packages declare.  One that cannot be imported
        is logged and left out: it must not take the service down with it.  ``rule_defaults``
        of properties and ``traits`` go over what the types say."""
        single, catalogs = _loaded(ENTRY_POINT_GROUP), _loaded(CATALOG_ENTRY_POINT_GROUP)
        types = [*single, *(item for catalog in catalogs for item in catalog)]
        for resource_type in types:
            _choose(resource_type, {name: value for (of, name), value in defaults.items()
                           if of == resource_type.name})  # fmt: skip
            for (of, trait), value in overrides.items():
                if of == resource_type.name:
                    setattr(resource_type, trait, value)
        return cls(types)

    @classmethod
    def from_types(cls, *types: ResourceType | type[ResourceType]) -> ResourceTypeRegistry:
        """These types and no others."""
        return cls(item() if isinstance(item, type) else item for item in types)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def find(self, name: str) -> ResourceType | None:
        return _TEMPLATE if is_template_name(name) else self._types.get(name)

    def get(self, name: str) -> ResourceType:
        """For requests about the type itself: unknown is a 404."""
        found = self.find(name)
        if found is None:
            raise EntityNotFound("Resource Type", name)
        return found

    def get_for_template(self, name: str) -> ResourceType:
        """For a type that a template names: unknown makes the template invalid."""
        found = self._types.get(name)
        if found is None:
            hint = did_you_mean(name, self._types)
            raise StackValidationFailed(f"Unknown resource Type : {name}{hint}")
        return found

    def list_types(
        self,
        *,
        support_status: str | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> list[ResourceType]:
        """The shown types in order of name.  Hidden ones are only listed when asked
        for; ``name`` is a pattern, matched from the start, and a malformed or a
        too costly one matches nothing."""
        chosen = [
            item
            for item in self
            if _status_fits(item, support_status)
            and (version is None or item.schema.support_status.version == version)
        ]
        return chosen if name is None else _named(chosen, name)

    def list_view(self, *, with_description: bool = False, **filters: str | None) -> list[Json]:
        """The view ``resource_types``."""
        types = self.list_types(**filters)
        if not with_description:
            return [item.name for item in types]
        return [
            {"resource_type": item.name, "description": item.schema.description} for item in types
        ]

    def schema_view(self, name: str) -> dict[str, Json]:
        """The view ``resource_schema``; a hidden type is NotSupported."""
        shown = self._shown(name)
        return render_schema(shown.name, shown.schema)

    def generate_template(self, name: str, template_type: str = "cfn") -> dict[str, Json]:
        """A template to start from; ``kind`` is hot or cfn, in any case."""
        if template_type.lower() not in ("hot", "cfn"):
            raise HTTPBadRequest(f"Template type is not supported: {template_type}")
        shown = self._shown(name)
        return generate_template(shown.name, shown.schema, template_type.lower())

    def _shown(self, name: str) -> ResourceType:
        found = self.get(name)
        if found.schema.support_status.hidden:
            raise NotSupported(f"The resource type {name} is hidden: it is not to be used anew.")
        return found


def _choose(resource_type: ResourceType, defaults: Mapping[str, Json]) -> None:
    """Gives this object of the type a schema of its own."""
    properties = dict(resource_type.schema.properties)
    for name, value in defaults.items():
        if properties[name].default != value:
            properties[name] = replace(properties[name], default=value)
            resource_type.schema = replace(resource_type.schema, properties=properties)  # type: ignore[misc]


def _status_fits(resource_type: ResourceType, wanted: str | None) -> bool:
    status = resource_type.schema.support_status
    return not status.hidden if wanted is None else status.status == wanted.upper()


def _named(types: list[ResourceType], pattern: str) -> list[ResourceType]:
    try:
        compiled = bounded_regex.compile_pattern(pattern)
        with bounded_regex.regex_budget(_LISTING):
            return [
                item for item in types if bounded_regex.run_with_timeout(compiled.match, item.name)
            ]
    except (bounded_regex.PatternError, bounded_regex.PatternTimeout):
        return []


def _origin(resource_type: ResourceType) -> str:
    implementation = type(resource_type)
    return f"{implementation.__module__}.{implementation.__qualname__}"


def _loaded(group: str) -> list[Any]:
    manager: ExtensionManager[Any] = ExtensionManager(
        group,
        invoke_on_load=True,
        on_load_failure_callback=_log_failure,
    )
    return [extension.obj for extension in manager]


def _log_failure(
    manager: ExtensionManager[Any], entry_point: EntryPoint, error: BaseException
) -> None:
    _log.error(
        "Resource type plug-in cannot be loaded: %(plugin)s: %(error)s",
        {"plugin": entry_point.value, "error": error},
    )
