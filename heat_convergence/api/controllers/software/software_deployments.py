"""Software deployments: configurations on servers, and their outcome.

Called by the root controller.  Decides which deployments a caller sees: those of the
project, and those that its users on servers carry out.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import Controller, write_with_retry
from heat_convergence.api.controllers.software.software_configs import get_project_config
from heat_convergence.api.http import ApiRequest, empty_response, json_response
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.software import parse_deployment_body, parse_deployment_update
from heat_convergence.api.views import software as view
from heat_convergence.common import errors
from heat_convergence.db.statements import software
from heat_convergence.db.statements.software import SoftwareDeploymentRow
from heat_convergence.stacks import quotas


class SoftwareDeploymentsController(Controller):
    """The handlers of ``/software_deployments``."""

    def index(self, request: ApiRequest) -> webob.Response:
        """List the deployments of a project, or of one server."""
        server_id = QueryParams(request.GET).last("server_id")
        with self.database.read() as conn:
            found = software.list_deployments(conn, request.project_id, server_id)
        return json_response({"software_deployments": [view.format_deployment(d) for d in found]})

    def metadata(self, request: ApiRequest, server_id: str) -> webob.Response:
        """List the configurations for a server, as its agent polls them."""
        with self.database.read() as conn:
            found = software.list_server_configs(conn, request.project_id, server_id)
        return json_response({"metadata": [view.format_config(config) for config in found]})

    def create(self, request: ApiRequest) -> webob.Response:
        """Create a deployment."""
        new = SoftwareDeploymentRow(
            id=self.services.ids(),
            project_id=request.project_id,
            created_at=self.services.clock(),
            **parse_deployment_body(request.require_json_object()),
        )

        def insert(conn: Any) -> None:
            quotas.check_software_quota(
                software.count_deployments(conn, new.project_id),
                self.options.max_software_deployments_per_tenant,
                "software deployments",
                unlimited=request.caller.is_cloud_admin,
            )
            get_project_config(conn, request.project_id, new.config_id)
            _require_own_user_project(conn, new)
            software.insert_deployment(conn, new)

        write_with_retry(self.services, insert)
        return json_response({"software_deployment": view.format_deployment(new)})

    def show(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Show a deployment."""
        with self.database.read() as conn:
            found = _get_deployment(conn, request.project_id, deployment_id)
        return json_response({"software_deployment": view.format_deployment(found)})

    def update(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Change a deployment, as agents report its outcome."""
        changes = parse_deployment_update(request.require_json_object())

        def update(conn: Any) -> SoftwareDeploymentRow:
            found = _get_deployment(conn, request.project_id, deployment_id)
            if "config_id" in changes:
                get_project_config(conn, found.project_id, changes["config_id"])
            if changes:
                now = self.services.clock()
                software.update_deployment(conn, found.id, changes | {"updated_at": now})
            return _get_deployment(conn, request.project_id, deployment_id)

        return json_response(
            {
                "software_deployment": view.format_deployment(
                    write_with_retry(self.services, update)
                )
            }
        )

    def delete(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        """Delete a deployment."""

        def delete(conn: Any) -> None:
            _get_deployment(conn, request.project_id, deployment_id)
            software.delete_deployment(conn, deployment_id)

        write_with_retry(self.services, delete)
        return empty_response()


def _require_own_user_project(conn: Any, new: SoftwareDeploymentRow) -> None:
    """Refuse a project whose users would be handed the configuration of a stranger.

    RULE 12: a project is named by its own members, or where a stack of theirs has created
    it for its users; any other answers as if it did not exist.
    """
    named = new.stack_user_project_id
    if named is None or named == new.project_id:
        return
    if not software.is_stack_user_project(conn, new.project_id, named):
        raise errors.NotFound(f"Stack user project with id {named} not found")


def _get_deployment(conn: Any, project_id: str, deployment_id: str) -> SoftwareDeploymentRow:
    found = software.get_deployment(conn, deployment_id)
    if found is None or project_id not in (found.project_id, found.stack_user_project_id):
        raise errors.NotFound(f"Software deployment with id {deployment_id} not found")
    return found
