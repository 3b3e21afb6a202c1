"""The OpenAPI document of the service, generated from the routes table.

Called once per application.  Decides nothing: the schemas of requests and responses
stand in ``openapi_schemas`` under the names that the table uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from heat_convergence.api.openapi_schemas import BODIES, ERROR_ENVELOPE, QUERIES, RESPONSES
from heat_convergence.api.routes.route import Route
from heat_convergence.api.routes.table import openapi_path, path_parameters

Json = Any
_JSON = "application/json"
_FREE = re.compile(r"\{\w+:[^}|]*\*\}")
_OPTIONAL_BODIES = frozenset({"patch", "signal"})
# The tag is the name of the controller, except where several controllers serve one noun.
_TAGS = {
    "export": "stacks",
    "plan_creation": "plans",
    "plan_execution": "plans",
    "previews": "stacks",
    "progress": "stacks",
    "timeline": "stacks",
    "resource_health": "resources",
    "signals": "resources",
    "stack_actions": "stacks",
    "stack_lookup": "stacks",
    "stack_reads": "stacks",
    "stack_writes": "stacks",
    "template_lint": "templates",
}
_WORDS = re.compile(r"\{\w+:([\w|]+)\}")


def build_openapi_document(routes: Iterable[Route]) -> dict[str, Json]:
    """Return the OpenAPI 3.1 document of the routes."""
    paths: dict[str, dict[str, Json]] = {}
    for route in routes:
        for path in _paths(route):
            where = f"/v1/{{tenant_id}}{path}"
            paths.setdefault(where, {}).setdefault(route.method.lower(), _operation(route, path))
    return {
        "openapi": "3.1.0",
        "info": {"title": "Heat Convergence: Orchestration API", "version": "1.0"},
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR_ENVELOPE},
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "X-Auth-Token"}
            },
        },
        "security": [{"token": []}, {}],
    }


def _paths(route: Route) -> list[str]:
    """Return a path for each word that a part of the route's path may be.

    A full identifier in the place of a name is left out: OpenAPI cannot tell them apart.
    """
    if _FREE.search(route.path):
        return []
    words = _WORDS.search(route.path)
    if words is None:
        return [openapi_path(route.path)]
    return [
        openapi_path(route.path[: words.start()] + word + route.path[words.end() :])
        for word in words.group(1).split("|")
    ]


def _operation(route: Route, path: str) -> dict[str, Json]:
    operation: dict[str, Json] = {
        "operationId": f"{route.method.lower()}_{path[1:].replace('/', '_')}",
        "tags": [_tag(route)],
        "parameters": [*_path_parameters(path), *_query_parameters(route)],
        "responses": _responses(route),
    }
    if route.policy_rule is not None:
        operation["x-policy-rule"] = route.policy_rule
    if route.body_schema:
        operation["requestBody"] = {
            "required": route.body_schema not in _OPTIONAL_BODIES,
            "content": {_JSON: {"schema": BODIES[route.body_schema]}},
        }
    return operation


def _tag(route: Route) -> str:
    controller = route.handler.partition(".")[0]
    return _TAGS.get(controller, controller)


def _path_parameters(path: str) -> list[Json]:
    schema = {"type": "string", "minLength": 1}
    return [
        {"name": name, "in": "path", "required": True, "schema": schema}
        for name in ("tenant_id", *path_parameters(path))
    ]


def _query_parameters(route: Route) -> list[Json]:
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in QUERIES.get(route.query_schema, {}).items()
    ]


def _responses(route: Route) -> dict[str, Json]:
    response: dict[str, Json] = {"description": HTTPStatus(route.success_status).phrase}
    if route.response_schema == "text":
        response["content"] = {"text/plain": {"schema": {"type": "string"}}}
    elif route.response_schema != "empty":
        response["content"] = {_JSON: {"schema": RESPONSES[route.response_schema]}}
    if route.success_status == 302:
        response["headers"] = {"Location": {"required": True, "schema": {"type": "string"}}}
    wrong = {
        "description": "The error envelope",
        "content": {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    failures = {str(code): wrong for code in (400, 403, 404, 405, 409, 503)}
    return {
        str(route.success_status): response,
        "401": {"description": "No valid token"},
        **failures,
    }
