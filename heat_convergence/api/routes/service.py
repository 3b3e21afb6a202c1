"""The routes of what the service offers: templates, resource types, build and engines."""

from __future__ import annotations

from heat_convergence.api.routes.route import Route

TEMPLATE_AND_TYPE_ROUTES = [
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
        "POST",
        "/lint",
        "template_lint.lint",
        "stacks:lint_template",
        body_schema="lint",
        response_schema="lint",
    ),
    Route(
        "GET",
        "/template_schema",
        "template_lint.schema",
        "stacks:template_schema",
        query_schema="template_schema",
        response_schema="template_schema",
    ),
    Route(
        "GET",
        "/resource_types",
        "resource_types.index",
        "stacks:list_resource_types",
        query_schema="resource_types",
        response_schema="resource_types",
    ),
    Route(
        "GET",
        "/resource_types/{type_name}",
        "resource_types.show",
        "stacks:resource_schema",
        query_schema="resource_schema",
        response_schema="resource_schema",
    ),
    Route(
        "GET",
        "/resource_types/{type_name}/template",
        "resource_types.template",
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

BUILD_AND_SERVICE_ROUTES = [
    Route(
        "GET",
        "/drift",
        "drift.index",
        "drift:index",
        query_schema="drift",
        response_schema="drift",
    ),
    Route(
        "GET",
        "/drift/breakers",
        "drift.list_breakers",
        "drift:list_breakers",
        response_schema="drift_breakers",
    ),
    Route(
        "PUT",
        "/drift/breakers",
        "drift.confirm_breakers",
        "drift:confirm_breakers",
        body_schema="drift_breakers",
        response_schema="drift_breakers",
    ),
    Route(
        "GET",
        "/inventory",
        "inventory.index",
        "inventory:index",
        query_schema="inventory",
        response_schema="inventory",
    ),
    Route(
        "GET",
        "/build_info",
        "build_info.build_info",
        "build_info:build_info",
        response_schema="build_info",
    ),
    Route("GET", "/overview", "overview.show", "service:overview", response_schema="overview"),
    Route(
        "GET", "/services", "build_info.service_list", "service:index", response_schema="services"
    ),
]
