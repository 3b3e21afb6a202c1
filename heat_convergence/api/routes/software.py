"""The routes of software configurations and deployments."""

from __future__ import annotations

from heat_convergence.api.routes.route import Route

_CONFIG = "/software_configs/{config_id}"
_DEPLOYMENT = "/software_deployments/{deployment_id}"
SOFTWARE_ROUTES = [
    Route(
        "GET",
        "/software_configs",
        "software_configs.index",
        "software_configs:index",
        query_schema="software_configs",
        response_schema="software_configs",
    ),
    Route(
        "POST",
        "/software_configs",
        "software_configs.create",
        "software_configs:create",
        body_schema="software_config",
        response_schema="software_config",
    ),
    Route(
        "GET",
        _CONFIG,
        "software_configs.show",
        "software_configs:show",
        response_schema="software_config",
    ),
    Route(
        "DELETE",
        _CONFIG,
        "software_configs.delete",
        "software_configs:delete",
        204,
        response_schema="empty",
    ),
    Route(
        "GET",
        "/software_deployments",
        "software_deployments.index",
        "software_deployments:index",
        query_schema="software_deployments",
        response_schema="software_deployments",
    ),
    Route(
        "POST",
        "/software_deployments",
        "software_deployments.create",
        "software_deployments:create",
        body_schema="software_deployment",
        response_schema="software_deployment",
    ),
    Route(
        "GET",
        "/software_deployments/metadata/{server_id}",
        "software_deployments.metadata",
        "software_deployments:metadata",
        response_schema="deployment_metadata",
    ),
    Route(
        "GET",
        _DEPLOYMENT,
        "software_deployments.show",
        "software_deployments:show",
        response_schema="software_deployment",
    ),
    Route(
        "PUT",
        _DEPLOYMENT,
        "software_deployments.update",
        "software_deployments:update",
        body_schema="deployment_update",
        response_schema="software_deployment",
    ),
    Route(
        "DELETE",
        _DEPLOYMENT,
        "software_deployments.delete",
        "software_deployments:delete",
        204,
        response_schema="empty",
    ),
]
