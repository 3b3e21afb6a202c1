"""The routes table: every method and path of the service, in order of matching.

Decides which handler and which policy rule a request meets.  Read by the root
controller, the OpenAPI document and the tests; holds no code that runs per
request but ``match``.  Source: heat-facts/rest_api.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STACK = "/stacks/{stack_name}/{stack_id}"
RESOURCE = STACK + "/resources/{resource_name}"
_REDIRECTED_GET = "resources|events|template|actions|environment|files"
_REDIRECTED_POST = "resources|events|template|actions"
_FIVE = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::([^}]+))?\}")


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path below ``/v1/{tenant_id}``.

    ``handler`` is ``controller.method``; ``rule`` the policy rule, None where the
    handler asks for one that depends on the body; ``query``, ``body`` and ``view``
    name entries of ``openapi_schemas``.
    """

    method: str
    path: str
    handler: str
    rule: str | None
    success: int = 200
    query: str = ""
    body: str = ""
    view: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A path that is known; ``route`` is None when its method is not."""

    route: Route | None
    arguments: Mapping[str, str] = field(default_factory=dict)
    allowed: tuple[str, ...] = ()


def _lookups(path: str, methods: Sequence[str], handler: str) -> list[Route]:
    return [Route(m, path, handler, "stacks:lookup", 302, view="text") for m in methods]


_TYPES = [
    Route("POST", "/validate", "templates.validate", "stacks:validate_template",
          query="validate", body="template", view="validate"),
    Route("GET", "/resource_types", "types.index", "stacks:list_resource_types",
          query="resource_types", view="resource_types"),
    Route("GET", "/resource_types/{type_name}", "types.show", "stacks:resource_schema",
          query="resource_schema", view="resource_schema"),
    Route("GET", "/resource_types/{type_name}/template", "types.template",
          "stacks:generate_template", query="generate_template", view="map"),
    Route("GET", "/template_versions", "templates.versions",
          "stacks:list_template_versions", view="template_versions"),
    Route("GET", "/template_versions/{template_version}/functions", "templates.functions",
          "stacks:list_template_functions", query="functions", view="template_functions"),
]

_STACKS = [
    Route("GET", "/stacks", "stacks.index", "stacks:index", query="stacks",
          view="stack_list"),
    Route("POST", "/stacks", "changes.create", "stacks:create", 201, body="create",
          view="stack_create"),
    Route("POST", "/stacks/preview", "previews.create", "stacks:preview", body="create",
          query="preview", view="stack_preview"),
    Route("GET", "/stacks/detail", "stacks.detail", "stacks:detail", view="stack_detail"),
    *_lookups("/stacks/{arn:arn:.*}", _FIVE, "lookup.arn"),
    *_lookups("/stacks/{stack_name}", _FIVE, "lookup.stack"),
    *_lookups("/stacks/{stack_name}/{below:" + _REDIRECTED_POST + "}", ("GET", "POST"),
              "lookup.below"),
    *_lookups("/stacks/{stack_name}/{below:" + _REDIRECTED_GET + "}", ("GET",),
              "lookup.below"),
    Route("GET", STACK, "stacks.show", "stacks:show", query="show", view="stack_show"),
    Route("PUT", STACK, "changes.update", "stacks:update", 202, body="update", view="text"),
    Route("PATCH", STACK, "changes.patch", None, 202, body="patch", view="text"),
    Route("DELETE", STACK, "changes.delete", "stacks:delete", 204, query="delete",
          view="empty"),
    Route("GET", STACK + "/template", "stacks.template", "stacks:template", view="map"),
    Route("GET", STACK + "/environment", "stacks.environment", "stacks:environment",
          view="environment"),
    Route("GET", STACK + "/files", "stacks.files", "stacks:files", view="map"),
    Route("PUT", STACK + "/preview", "previews.update", "stacks:preview_update",
          query="preview_update", body="update", view="update_preview"),
    Route("PATCH", STACK + "/preview", "previews.patch", "stacks:preview_update_patch",
          query="preview_update", body="patch", view="update_preview"),
    Route("DELETE", STACK + "/abandon", "handover.abandon", "stacks:abandon", view="abandon"),
    Route("GET", STACK + "/export", "handover.export", "stacks:export", view="abandon"),
    Route("POST", STACK + "/snapshots", "snapshots.create", "stacks:snapshot",
          body="snapshot", view="snapshot"),
    Route("GET", STACK + "/snapshots", "snapshots.index", "stacks:list_snapshots",
          view="snapshots"),
    Route("GET", STACK + "/snapshots/{snapshot_id}", "snapshots.show",
          "stacks:show_snapshot", view="snapshot_show"),
    Route("DELETE", STACK + "/snapshots/{snapshot_id}", "snapshots.delete",
          "stacks:delete_snapshot", 204, view="empty"),
    Route("POST", STACK + "/snapshots/{snapshot_id}/restore", "snapshots.restore",
          "stacks:restore_snapshot", 202, view="text"),
    Route("GET", STACK + "/outputs", "outputs.index", "stacks:list_outputs",
          view="output_list"),
    Route("GET", STACK + "/outputs/{output_key}", "outputs.show", "stacks:show_output",
          view="output_show"),
    Route("POST", STACK + "/actions", "actions.act", None, body="action", view="null"),
]

_RESOURCES = [
    Route("GET", STACK + "/resources", "resources.index", "resource:index",
          query="resources", view="resource_list"),
    Route("GET", RESOURCE, "resources.show", "resource:show", query="resource",
          view="resource_show"),
    Route("PATCH", RESOURCE, "health.mark", "resource:mark_unhealthy", body="mark_unhealthy",
          view="null"),
    Route("GET", RESOURCE + "/metadata", "resources.metadata", "resource:metadata",
          view="metadata"),
    Route("POST", RESOURCE + "/signal", "signals.signal", "resource:signal", body="signal",
          view="null"),
    Route("GET", STACK + "/events", "events.index", "events:index", query="events",
          view="event_list"),
    Route("GET", RESOURCE + "/events", "events.of_resource", "events:index",
          query="events", view="event_list"),
    Route("GET", RESOURCE + "/events/{event_id}", "events.show", "events:show",
          view="event_show"),
]

_INFO = [
    Route("GET", "/build_info", "info.build_info", "build_info:build_info",
          view="build_info"),
    Route("GET", "/services", "info.services", "service:index", view="services"),
]

_CONFIG = "/software_configs/{config_id}"
_DEPLOYMENT = "/software_deployments/{deployment_id}"
_SOFTWARE = [
    Route("GET", "/software_configs", "configs.index", "software_configs:index",
          query="software_configs", view="software_configs"),
    Route("POST", "/software_configs", "configs.create", "software_configs:create",
          body="software_config", view="software_config"),
    Route("GET", _CONFIG, "configs.show", "software_configs:show", view="software_config"),
    Route("DELETE", _CONFIG, "configs.delete", "software_configs:delete", 204, view="empty"),
    Route("GET", "/software_deployments", "deployments.index", "software_deployments:index",
          query="software_deployments", view="software_deployments"),
    Route("POST", "/software_deployments", "deployments.create",
          "software_deployments:create", body="software_deployment",
          view="software_deployment"),
    Route("GET", "/software_deployments/metadata/{server_id}", "deployments.metadata",
          "software_deployments:metadata", view="deployment_metadata"),
    Route("GET", _DEPLOYMENT, "deployments.show", "software_deployments:show",
          view="software_deployment"),
    Route("PUT", _DEPLOYMENT, "deployments.update", "software_deployments:update",
          body="deployment_update", view="software_deployment"),
    Route("DELETE", _DEPLOYMENT, "deployments.delete", "software_deployments:delete", 204,
          view="empty"),
]

ROUTES: tuple[Route, ...] = (*_TYPES, *_STACKS, *_RESOURCES, *_SOFTWARE, *_INFO)

# Paths on which a wrong method is an unknown path, not a wrong method.
_NO_METHOD_ANSWERS = frozenset({"/services"})


class Table:
    """The routes by path, first match first."""

    def __init__(self, routes: Sequence[Route] = ROUTES) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        self._paths = [(_compile(path), path, methods) for path, methods in by_path.items()]

    def match(self, method: str, path: str) -> Match | None:
        """``path`` begins below the project; None when no pattern takes it."""
        for pattern, known, methods in self._paths:
            found = pattern.fullmatch(path)
            if found is None:
                continue
            route = methods.get(method)
            if route is None and known in _NO_METHOD_ANSWERS:
                return None
            return Match(route, found.groupdict(), tuple(sorted(methods)))
        return None


def placeholders(path: str) -> tuple[str, ...]:
    """Names of the variable parts of a route's path, in order."""
    return tuple(match.group(1) for match in _PLACEHOLDER.finditer(path))


def plain(path: str) -> str:
    """The path with ``{name}`` for every variable part, as OpenAPI writes it."""
    return _PLACEHOLDER.sub(r"{\1}", path)


def _compile(path: str) -> re.Pattern[str]:
    pattern, at = "", 0
    for part in _PLACEHOLDER.finditer(path):
        pattern += re.escape(path[at : part.start()])
        pattern += f"(?P<{part.group(1)}>{part.group(2) or '[^/]+'})"
        at = part.end()
    return re.compile(pattern + re.escape(path[at:]), re.DOTALL)
