"""The registry of resource types.

Decides which type a name refers to and which types are listed. Built once per process by ``cli``
from entry points, or by tests; used by api, engine and observer. It must not know environments: a
name is resolved by the template's environment before it is looked up here.

Source: docs/reference/rest-api.rst, the ``resource_types`` routes.
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
    RequestLimitExceeded,
    StackValidationFailed,
)
from heat_convergence.common.failures import CallRefused
from heat_convergence.resources.nested.template_resource import TemplateResource
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.protocol.schema import generate_template, render_schema
from heat_convergence.template import bounded_regex
from heat_convergence.template.diagnostics import as_sentence, did_you_mean
from heat_convergence.template.environment.type_mappings import is_template_name
from heat_convergence.template.evaluation_budget import evaluation_budget
from heat_convergence.template.limits import TemplateLimits

Json = Any
ENTRY_POINT_GROUP = "heat_convergence.resource_types"
CATALOG_ENTRY_POINT_GROUP = "heat_convergence.resource_catalogs"
_LISTING_LIMITS = TemplateLimits(max_evaluation_steps=500_000)  # for the user's pattern
_TEMPLATE = TemplateResource()  # the type of every template's name

MISSING_TYPE_PAUSE_S = 5.0  # until another worker may take a job whose type this one lacks

PropertyDefaults = Mapping[tuple[str, str], Json]  # type and property → default
TypeOverrides = Mapping[tuple[str, str], Json]  # type and class attribute → value
_NOTHING: Mapping[tuple[str, str], Json] = {}

_log = logging.getLogger(__name__)


class IncompleteInstallation(Exception):
    """An installation without all the resource types of this package.

    A worker without them would fail the resources of these types.
    """


class ResourceTypeRegistry:
    """Resource types by name; immutable."""

    def __init__(self, types: Iterable[ResourceType]) -> None:
        """Index the types.

        Raises:
            ValueError: Two types have the same name.
        """
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
        """Load all types that installed packages declare by entry points.

        A plug-in that cannot be imported is logged and left out: it must not stop the service.

        Args:
            defaults: Defaults that replace those of the types' properties.
            overrides: Values that replace those of the types' class attributes.

        Raises:
            IncompleteInstallation: A type of this package is missing or cannot be imported.
        """
        single, catalogs = _loaded(ENTRY_POINT_GROUP), _loaded(CATALOG_ENTRY_POINT_GROUP)
        types = [*single, *(item for catalog in catalogs for item in catalog)]
        for resource_type in types:
            _set_defaults(resource_type, _of_type(defaults, resource_type))
            for name, value in _of_type(overrides, resource_type).items():
                setattr(resource_type, name, value)
        return cls(types)

    @classmethod
    def from_types(cls, *types: ResourceType | type[ResourceType]) -> ResourceTypeRegistry:
        """Return a registry of these types alone."""
        return cls(item() if isinstance(item, type) else item for item in types)

    def with_names(self, names: Mapping[str, str]) -> ResourceTypeRegistry:
        """Return a registry that shows types by further names, too.

        Args:
            names: name → type; what names no type here is left out.
        """
        return self.with_types(
            {
                name: self._types[target]
                for name, target in names.items()
                if target in self._types and name not in self._types
            }
        )

    def with_types(self, types: Mapping[str, ResourceType]) -> ResourceTypeRegistry:
        """Return a registry with these types by these names, in place of any of its own."""
        found = ResourceTypeRegistry(())
        found._types = dict(sorted({**self._types, **types}.items()))
        return found

    def __iter__(self) -> Iterator[ResourceType]:
        """Iterate over the types in order of their names."""
        return iter(self._types.values())

    def __contains__(self, name: object) -> bool:
        """Return whether there is a type of this name."""
        return name in self._types

    def find(self, name: str) -> ResourceType | None:
        """Return the type of this name, or None; a template's name is a type."""
        return _TEMPLATE if is_template_name(name) else self._types.get(name)

    def get(self, name: str) -> ResourceType:
        """Return a type that a request names.

        Raises:
            EntityNotFound: There is none, which is a 404.
        """
        found = self.find(name)
        if found is None:
            raise EntityNotFound("Resource Type", name)
        return found

    def get_for_job(self, name: str) -> ResourceType:
        """Return a type that a job needs.

        Raises:
            CallRefused: This worker lacks it: during an upgrade, or the installation of a
                plug-in, another worker may have it.
        """
        found = self.find(name)
        if found is None:
            raise CallRefused(
                f"This worker has no resource type {name}; the job is left to other workers.",
                retry_after_s=MISSING_TYPE_PAUSE_S,
            )
        return found

    def get_for_template(self, name: str) -> ResourceType:
        """Return a type that a template names.

        Raises:
            StackValidationFailed: There is none.
        """
        found = self._types.get(name)
        if found is None:
            hint = as_sentence(did_you_mean(name, self._types))
            raise StackValidationFailed(f"The Resource Type ({name}) could not be found.{hint}")
        return found

    def list_names(
        self,
        *,
        support_status: str | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> list[str]:
        """Return the names of the listed types, in order.

        Args:
            support_status: Only types of this status; hidden types are listed by no other filter.
            name: A regular expression, matched from the start; a malformed or slow one matches
                nothing.
            version: Only types that are in their status since this version.
        """
        chosen = [
            own_name
            for own_name, item in self._types.items()
            if _status_fits(item, support_status)
            and (version is None or item.schema.support_status.version == version)
        ]
        return chosen if name is None else _matching(chosen, name)

    def list_view(self, *, with_description: bool = False, **filters: str | None) -> list[Json]:
        """Return the view ``resource_types``; the filters are those of ``list_names``."""
        names: list[Json] = [*self.list_names(**filters)]
        if not with_description:
            return names
        return [
            {"resource_type": name, "description": self._types[name].schema.description}
            for name in names
        ]

    def schema_view(self, name: str) -> dict[str, Json]:
        """Return the view ``resource_schema``.

        Raises:
            EntityNotFound: There is no such type.
            NotSupported: The type is hidden.
        """
        return render_schema(name, self._shown(name).schema)

    def generate_template(self, name: str, template_type: str = "cfn") -> dict[str, Json]:
        """Return a template with one resource of the type.

        Args:
            name: The type's name.
            template_type: ``hot`` or ``cfn``, in any case.

        Raises:
            EntityNotFound: There is no such type.
            HTTPBadRequest: The template type is unknown.
            NotSupported: The type is hidden.
        """
        if template_type.lower() not in ("hot", "cfn"):
            raise HTTPBadRequest(f"Template type is not supported: {template_type}")
        return generate_template(name, self._shown(name).schema, template_type.lower())

    def _shown(self, name: str) -> ResourceType:
        found = self.get(name)
        if found.schema.support_status.hidden:
            hint = found.schema.support_status.message or ""
            raise NotSupported(f"The resource type {name} is hidden. {hint}".rstrip())
        return found


def _of_type(
    values: Mapping[tuple[str, str], Json], resource_type: ResourceType
) -> dict[str, Json]:
    return {name: value for (owner, name), value in values.items() if owner == resource_type.name}


def _set_defaults(resource_type: ResourceType, defaults: Mapping[str, Json]) -> None:
    """Give the object a schema of its own with these defaults."""
    properties = dict(resource_type.schema.properties)
    for name, value in defaults.items():
        if properties[name].default != value:
            properties[name] = replace(properties[name], default=value)
            resource_type.schema = replace(resource_type.schema, properties=properties)  # type: ignore[misc]


def _status_fits(resource_type: ResourceType, requested: str | None) -> bool:
    status = resource_type.schema.support_status
    return not status.hidden if requested is None else status.status == requested.upper()


def _matching(names: list[str], pattern: str) -> list[str]:
    try:
        compiled = bounded_regex.compile_pattern(pattern)
        with evaluation_budget(_LISTING_LIMITS):
            return [name for name in names if bounded_regex.run_with_timeout(compiled.match, name)]
    except (bounded_regex.PatternError, bounded_regex.PatternTimeout, RequestLimitExceeded):
        return []


def _origin(resource_type: ResourceType) -> str:
    implementation = type(resource_type)
    return f"{implementation.__module__}.{implementation.__qualname__}"


def _loaded(group: str) -> list[Any]:
    manager: ExtensionManager[Any] = ExtensionManager(
        group,
        invoke_on_load=True,
        on_load_failure_callback=_on_failure,
    )
    if not any(_is_own(extension.entry_point) for extension in manager):
        raise IncompleteInstallation(
            f"no entry point {group} of this package is installed: install the package again"
        )
    return [extension.obj for extension in manager]


def _is_own(entry_point: EntryPoint) -> bool:
    return entry_point.value.startswith("heat_convergence.")


def _on_failure(
    manager: ExtensionManager[Any], entry_point: EntryPoint, error: BaseException
) -> None:
    if _is_own(entry_point):
        raise IncompleteInstallation(
            f"the resource types of {entry_point.value} cannot be loaded: {error}"
        ) from error
    _log.error(
        "Resource type plug-in cannot be loaded: %(plugin)s: %(error)s",
        {"plugin": entry_point.value, "error": error},
    )
