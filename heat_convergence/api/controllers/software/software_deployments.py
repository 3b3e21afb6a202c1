"""Software deployments: configurations on servers, and their outcome.

Called by the root controller.  Decides which deployments a caller sees: those of the
project, and those that its users on servers carry out.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    may_read_secrets,
    sender_of,
    write_with_retry,
)
from heat_convergence.api.controllers.software.agent_publication import (
    publish_changed_deployments,
)
from heat_convergence.api.http import ApiRequest, empty_response, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.software import parse_deployment_body, parse_deployment_update
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import software as view
from heat_convergence.db.statements import software
from heat_convergence.db.statements.quota_locks import lock_quotas
from heat_convergence.db.statements.software import SoftwareDeploymentRow
from heat_convergence.resources.protocol.software_config_store import format_config
from heat_convergence.resources.reference_scope import (
    list_server_configs,
    require_deployment,
    require_references,
)
from heat_convergence.stacks import quotas


class SoftwareDeploymentsController(Controller):
    """The handlers of ``/software_deployments``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(self, request: ApiRequest) -> webob.Response:
        """List the deployments of a project, or of one server."""
        server_id = QueryParams(request.GET).last("server_id")
        with self.database.read() as conn:
            found = software.list_deployments(conn, request.project_id, server_id)
        shown = [view.format_deployment(deployment) for deployment in found]
        if not may_read_secrets(request, self._enforcer):
            shown = [view.mask_deployment(each) for each in shown]
        return json_response({"software_deployments": shown})

    def metadata(self, request: ApiRequest, server_id: str) -> webob.Response:
        """List the configurations for a server, as its agent polls them."""
        with self.database.read() as conn:
            found = list_server_configs(conn, sender_of(request), server_id)
        shown = [format_config(config) for config in found]
        if not may_read_secrets(request, self._enforcer):
            shown = [view.mask_config(each) for each in shown]
        return json_response({"metadata": shown})

    def create(self, request: ApiRequest) -> webob.Response:
        """Create a deployment."""
        body = parse_deployment_body(request.require_json_object())
        new = SoftwareDeploymentRow(
            id=self.services.ids(),
            project_id=request.project_id,
            created_at=self.services.clock(),
            **body,
        )

        def insert(conn: Any) -> None:
            lock_quotas(conn, new.project_id)
            quotas.check_software_quota(
                software.count_deployments(conn, new.project_id),
                self.options.max_software_deployments_per_tenant,
                "software deployments",
                unlimited=request.caller.is_cloud_admin,
            )
            require_references(conn, request.project_id, "software_deployment", body)
            software.insert_deployment(conn, new)

        write_with_retry(self.services, insert)
        publish_changed_deployments(self.services, new.project_id, new.server_id)
        return json_response({"software_deployment": view.format_deployment(new)})

    def show(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Show a deployment."""
        with self.database.read() as conn:
            found = require_deployment(conn, request.project_id, deployment_id)
        shown = view.format_deployment(found)
        if not may_read_secrets(request, self._enforcer):
            shown = view.mask_deployment(shown)
        return json_response({"software_deployment": shown})

    def update(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Change a deployment, as agents report its outcome."""
        changes = parse_deployment_update(request.require_json_object())

        def update(conn: Any) -> SoftwareDeploymentRow:
            found = require_deployment(conn, request.project_id, deployment_id)
            require_references(conn, found.project_id, "deployment_update", changes)
            if changes:
                now = self.services.clock()
                software.update_deployment(conn, found.id, changes | {"updated_at": now})
            return require_deployment(conn, request.project_id, deployment_id)

        changed = write_with_retry(self.services, update)
        if "config_id" in changes:
            publish_changed_deployments(self.services, changed.project_id, changed.server_id)
        return json_response({"software_deployment": view.format_deployment(changed)})

    def delete(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Delete a deployment."""

        def delete(conn: Any) -> SoftwareDeploymentRow:
            found = require_deployment(conn, request.project_id, deployment_id)
            software.delete_deployment(conn, deployment_id)
            return found

        deleted = write_with_retry(self.services, delete)
        publish_changed_deployments(self.services, deleted.project_id, deleted.server_id)
        return empty_response()
