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
from heat_convergence.resources.nesting.template import TemplateResource
from heat_convergence.resources.plugin import ResourceType
from heat_convergence.resources.schema import to_api, to_template
from heat_convergence.template import patterns
from heat_convergence.template.limits import Limits
from heat_convergence.template.problems import nearest
from heat_convergence.template.registry import is_template

Json = Any
GROUP = "heat_convergence.resource_types"
CATALOGS = "heat_convergence.resource_catalogs"
_LISTING = Limits(regex_slow_matches=1)  # a pattern that is slow once is refused
_TEMPLATE = TemplateResource()  # stands behind every template's name

Defaults = Mapping[tuple[str, str], Json]  # type and property → the property's default
Traits = Mapping[tuple[str, str], Json]  # type and attribute of it → the attribute's value
_NOTHING: Mapping[tuple[str, str], Json] = {}

_log = logging.getLogger(__name__)


class Registry:
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
    def load(cls, defaults: Defaults = _NOTHING, traits: Traits = _NOTHING) -> Registry:
        """All types that installed packages declare.  One that cannot be imported
        is logged and left out: it must not take the service down with it.  ``defaults``
        of properties and ``traits`` go over what the types say."""
        single, catalogs = _loaded(GROUP), _loaded(CATALOGS)
        types = [*single, *(item for catalog in catalogs for item in catalog)]
        for kind in types:
            _choose(kind, {name: value for (of, name), value in defaults.items()
                           if of == kind.name})  # fmt: skip
            for (of, trait), value in traits.items():
                if of == kind.name:
                    setattr(kind, trait, value)
        return cls(types)

    @classmethod
    def of(cls, *types: ResourceType | type[ResourceType]) -> Registry:
        """These types and no others."""
        return cls(item() if isinstance(item, type) else item for item in types)

    def __iter__(self) -> Iterator[ResourceType]:
        return iter(self._types.values())

    def __contains__(self, name: object) -> bool:
        return name in self._types

    def find(self, name: str) -> ResourceType | None:
        return _TEMPLATE if is_template(name) else self._types.get(name)

    def get(self, name: str) -> ResourceType:
        """For requests about the type itself: unknown is a 404."""
        found = self.find(name)
        if found is None:
            raise EntityNotFound("Resource Type", name)
        return found

    def in_template(self, name: str) -> ResourceType:
        """For a type that a template names: unknown makes the template invalid."""
        found = self._types.get(name)
        if found is None:
            hint = nearest(name, self._types)
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

    def listing(self, *, with_description: bool = False, **filters: str | None) -> list[Json]:
        """The view ``resource_types``."""
        types = self.list_types(**filters)
        if not with_description:
            return [item.name for item in types]
        return [
            {"resource_type": item.name, "description": item.schema.description} for item in types
        ]

    def view(self, name: str) -> dict[str, Json]:
        """The view ``resource_schema``; a hidden type is NotSupported."""
        shown = self._shown(name)
        return to_api(shown.name, shown.schema)

    def template(self, name: str, kind: str = "cfn") -> dict[str, Json]:
        """A template to start from; ``kind`` is hot or cfn, in any case."""
        if kind.lower() not in ("hot", "cfn"):
            raise HTTPBadRequest(f"Template type is not supported: {kind}")
        shown = self._shown(name)
        return to_template(shown.name, shown.schema, kind.lower())

    def _shown(self, name: str) -> ResourceType:
        found = self.get(name)
        if found.schema.support_status.hidden:
            raise NotSupported(f"The resource type {name} is hidden: it is not to be used anew.")
        return found


def _choose(kind: ResourceType, defaults: Mapping[str, Json]) -> None:
    """Gives this object of the type a schema of its own."""
    properties = dict(kind.schema.properties)
    for name, value in defaults.items():
        if properties[name].default != value:
            properties[name] = replace(properties[name], default=value)
            kind.schema = replace(kind.schema, properties=properties)  # type: ignore[misc]


def _status_fits(resource_type: ResourceType, wanted: str | None) -> bool:
    status = resource_type.schema.support_status
    return not status.hidden if wanted is None else status.status == wanted.upper()


def _named(types: list[ResourceType], pattern: str) -> list[ResourceType]:
    try:
        compiled = patterns.compiled(pattern)
        with patterns.patience(_LISTING):
            return [item for item in types if patterns.in_time(compiled.match, item.name)]
    except (patterns.PatternError, patterns.PatternTimeout):
        return []


def _origin(resource_type: ResourceType) -> str:
    kind = type(resource_type)
    return f"{kind.__module__}.{kind.__qualname__}"


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
