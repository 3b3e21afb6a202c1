"""The routes table: every method and path of the service, in order of matching.

Decides which handler and which policy rule a request meets.  Read by the root
controller, the OpenAPI document and the tests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

STACK_PATH = "/stacks/{stack_name}/{stack_id}"
RESOURCE_PATH = STACK_PATH + "/resources/{resource_name}"
_REDIRECTED_GET = "resources|events|template|actions|environment|files"
_REDIRECTED_POST = "resources|events|template|actions"
_FIVE = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PLACEHOLDER = re.compile(r"\{(\w+)(?::([^}]+))?\}")


@dataclass(frozen=True, slots=True)
class Route:
    """One method on one path below ``/v1/{tenant_id}``.

    Attributes:
        handler: ``controller.method``, by the names of ``app``.
        policy_rule: None where the handler enforces one that depends on the body.
        query_schema: a name in ``openapi_schemas``, as the other schemas are.
    """

    method: str
    path: str
    handler: str
    policy_rule: str | None
    success_status: int = 200
    query_schema: str = ""
    body_schema: str = ""
    response_schema: str = ""


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """A known path; ``route`` is None when its method is not known."""

    route: Route | None
    arguments: Mapping[str, str] = field(default_factory=dict)
    allowed_methods: tuple[str, ...] = ()


def _lookups(path: str, methods: Sequence[str], handler: str) -> list[Route]:
    return [Route(m, path, handler, "stacks:lookup", 302, response_schema="text") for m in methods]


_TYPES = [
    Route(
        "POST",
        "/validate",
        "templates.validate",
        "stacks:validate_template",
        query_schema="validate",
        body_schema="template",
        response_schema="validate",
    ),
    Route(
        "GET",
        "/resource_types",
        "types.index",
        "stacks:list_resource_types",
        query_schema="resource_types",
        response_schema="resource_types",
    ),
    Route(
        "GET",
        "/resource_types/{type_name}",
        "types.show",
        "stacks:resource_schema",
        query_schema="resource_schema",
        response_schema="resource_schema",
    ),
    Route(
        "GET",
        "/resource_types/{type_name}/template",
        "types.template",
        "stacks:generate_template",
        query_schema="generate_template",
        response_schema="map",
    ),
    Route(
        "GET",
        "/template_versions",
        "templates.versions",
        "stacks:list_template_versions",
        response_schema="template_versions",
    ),
    Route(
        "GET",
        "/template_versions/{template_version}/functions",
        "templates.functions",
        "stacks:list_template_functions",
        query_schema="functions",
        response_schema="template_functions",
    ),
]

_STACKS = [
    Route(
        "GET",
        "/stacks",
        "stacks.index",
        "stacks:index",
        query_schema="stacks",
        response_schema="stack_list",
    ),
    Route(
        "POST",
        "/stacks",
        "changes.create",
        "stacks:create",
        201,
        body_schema="create",
        response_schema="stack_create",
    ),
    Route(
        "POST",
        "/stacks/preview",
        "previews.create",
        "stacks:preview",
        body_schema="create",
        query_schema="preview",
        response_schema="stack_preview",
    ),
    Route(
        "GET", "/stacks/detail", "stacks.detail", "stacks:detail", response_schema="stack_detail"
    ),
    *_lookups("/stacks/{arn:arn:.*}", _FIVE, "lookup.by_arn"),
    *_lookups("/stacks/{stack_name}", _FIVE, "lookup.by_name"),
    *_lookups(
        "/stacks/{stack_name}/{subpath:" + _REDIRECTED_POST + "}",
        ("GET", "POST"),
        "lookup.by_name_with_subpath",
    ),
    *_lookups(
        "/stacks/{stack_name}/{subpath:" + _REDIRECTED_GET + "}",
        ("GET",),
        "lookup.by_name_with_subpath",
    ),
    Route(
        "GET",
        STACK_PATH,
        "stacks.show",
        "stacks:show",
        query_schema="show",
        response_schema="stack_show",
    ),
    Route(
        "PUT",
        STACK_PATH,
        "changes.update",
        "stacks:update",
        202,
        body_schema="update",
        response_schema="text",
    ),
    Route(
        "PATCH",
        STACK_PATH,
        "changes.patch",
        None,
        202,
        body_schema="patch",
        response_schema="text",
    ),
    Route(
        "DELETE",
        STACK_PATH,
        "changes.delete",
        "stacks:delete",
        204,
        query_schema="delete",
        response_schema="empty",
    ),
    Route(
        "GET",
        STACK_PATH + "/template",
        "stacks.template",
        "stacks:template",
        response_schema="map",
    ),
    Route(
        "GET",
        STACK_PATH + "/environment",
        "stacks.environment",
        "stacks:environment",
        response_schema="environment",
    ),
    Route("GET", STACK_PATH + "/files", "stacks.files", "stacks:files", response_schema="map"),
    Route(
        "PUT",
        STACK_PATH + "/preview",
        "previews.update",
        "stacks:preview_update",
        query_schema="preview_update",
        body_schema="update",
        response_schema="update_preview",
    ),
    Route(
        "PATCH",
        STACK_PATH + "/preview",
        "previews.patch",
        "stacks:preview_update_patch",
        query_schema="preview_update",
        body_schema="patch",
        response_schema="update_preview",
    ),
    Route(
        "DELETE",
        STACK_PATH + "/abandon",
        "handover.abandon",
        "stacks:abandon",
        response_schema="abandon",
    ),
    Route(
        "GET",
        STACK_PATH + "/export",
        "handover.export",
        "stacks:export",
        response_schema="abandon",
    ),
    Route(
        "POST",
        STACK_PATH + "/snapshots",
        "snapshots.create",
        "stacks:snapshot",
        body_schema="snapshot",
        response_schema="snapshot",
    ),
    Route(
        "GET",
        STACK_PATH + "/snapshots",
        "snapshots.index",
        "stacks:list_snapshots",
        response_schema="snapshots",
    ),
    Route(
        "GET",
        STACK_PATH + "/snapshots/{snapshot_id}",
        "snapshots.show",
        "stacks:show_snapshot",
        response_schema="snapshot_show",
    ),
    Route(
        "DELETE",
        STACK_PATH + "/snapshots/{snapshot_id}",
        "snapshots.delete",
        "stacks:delete_snapshot",
        204,
        response_schema="empty",
    ),
    Route(
        "POST",
        STACK_PATH + "/snapshots/{snapshot_id}/restore",
        "snapshots.restore",
        "stacks:restore_snapshot",
        202,
        response_schema="text",
    ),
    Route(
        "GET",
        STACK_PATH + "/outputs",
        "outputs.index",
        "stacks:list_outputs",
        response_schema="output_list",
    ),
    Route(
        "GET",
        STACK_PATH + "/outputs/{output_key}",
        "outputs.show",
        "stacks:show_output",
        response_schema="output_show",
    ),
    Route(
        "POST",
        STACK_PATH + "/actions",
        "actions.action",
        None,
        body_schema="action",
        response_schema="null",
    ),
]

_RESOURCES = [
    Route(
        "GET",
        STACK_PATH + "/resources",
        "resources.index",
        "resource:index",
        query_schema="resources",
        response_schema="resource_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH,
        "resources.show",
        "resource:show",
        query_schema="resource",
        response_schema="resource_show",
    ),
    Route(
        "PATCH",
        RESOURCE_PATH,
        "health.mark_unhealthy",
        "resource:mark_unhealthy",
        body_schema="mark_unhealthy",
        response_schema="null",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/metadata",
        "resources.metadata",
        "resource:metadata",
        response_schema="metadata",
    ),
    Route(
        "POST",
        RESOURCE_PATH + "/signal",
        "signals.signal",
        "resource:signal",
        body_schema="signal",
        response_schema="null",
    ),
    Route(
        "GET",
        STACK_PATH + "/events",
        "events.index",
        "events:index",
        query_schema="events",
        response_schema="event_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/events",
        "events.resource_index",
        "events:index",
        query_schema="events",
        response_schema="event_list",
    ),
    Route(
        "GET",
        RESOURCE_PATH + "/events/{event_id}",
        "events.show",
        "events:show",
        response_schema="event_show",
    ),
]

_INFO = [
    Route(
        "GET",
        "/build_info",
        "info.build_info",
        "build_info:build_info",
        response_schema="build_info",
    ),
    Route("GET", "/services", "info.service_list", "service:index", response_schema="services"),
]

_CONFIG = "/software_configs/{config_id}"
_DEPLOYMENT = "/software_deployments/{deployment_id}"
_SOFTWARE = [
    Route(
        "GET",
        "/software_configs",
        "configs.index",
        "software_configs:index",
        query_schema="software_configs",
        response_schema="software_configs",
    ),
    Route(
        "POST",
        "/software_configs",
        "configs.create",
        "software_configs:create",
        body_schema="software_config",
        response_schema="software_config",
    ),
    Route(
        "GET", _CONFIG, "configs.show", "software_configs:show", response_schema="software_config"
    ),
    Route(
        "DELETE",
        _CONFIG,
        "configs.delete",
        "software_configs:delete",
        204,
        response_schema="empty",
    ),
    Route(
        "GET",
        "/software_deployments",
        "deployments.index",
        "software_deployments:index",
        query_schema="software_deployments",
        response_schema="software_deployments",
    ),
    Route(
        "POST",
        "/software_deployments",
        "deployments.create",
        "software_deployments:create",
        body_schema="software_deployment",
        response_schema="software_deployment",
    ),
    Route(
        "GET",
        "/software_deployments/metadata/{server_id}",
        "deployments.metadata",
        "software_deployments:metadata",
        response_schema="deployment_metadata",
    ),
    Route(
        "GET",
        _DEPLOYMENT,
        "deployments.show",
        "software_deployments:show",
        response_schema="software_deployment",
    ),
    Route(
        "PUT",
        _DEPLOYMENT,
        "deployments.update",
        "software_deployments:update",
        body_schema="deployment_update",
        response_schema="software_deployment",
    ),
    Route(
        "DELETE",
        _DEPLOYMENT,
        "deployments.delete",
        "software_deployments:delete",
        204,
        response_schema="empty",
    ),
]

ROUTES: tuple[Route, ...] = (*_TYPES, *_STACKS, *_RESOURCES, *_SOFTWARE, *_INFO)

# Paths on which a wrong method is an unknown path, not a wrong method.
_NO_METHOD_ANSWERS = frozenset({"/services"})


class RouteTable:
    """The routes by path, first match first."""

    def __init__(self, routes: Sequence[Route] = ROUTES) -> None:
        by_path: dict[str, dict[str, Route]] = {}
        for route in routes:
            by_path.setdefault(route.path, {})[route.method] = route
        self._paths = [(_compile(path), path, methods) for path, methods in by_path.items()]

    def match(self, method: str, path: str) -> RouteMatch | None:
        """Return the first route whose pattern fits.

        Args:
            method: of the request.
            path: begins after the project.

        Returns:
            The match, None when no pattern fits.
        """
        for pattern, known, methods in self._paths:
            found = pattern.fullmatch(path)
            if found is None:
                continue
            route = methods.get(method)
            if route is None and known in _NO_METHOD_ANSWERS:
                return None
            return RouteMatch(route, found.groupdict(), tuple(sorted(methods)))
        return None


def path_parameters(path: str) -> tuple[str, ...]:
    """Return the names of the variable parts of a route's path, in order."""
    return tuple(match.group(1) for match in _PLACEHOLDER.finditer(path))


def openapi_path(path: str) -> str:
    """Return the path with ``{name}`` for every variable part, as OpenAPI writes it."""
    return _PLACEHOLDER.sub(r"{\1}", path)


def _compile(path: str) -> re.Pattern[str]:
    pattern, at = "", 0
    for part in _PLACEHOLDER.finditer(path):
        pattern += re.escape(path[at : part.start()])
        pattern += f"(?P<{part.group(1)}>{part.group(2) or '[^/]+'})"
        at = part.end()
    return re.compile(pattern + re.escape(path[at:]), re.DOTALL)
