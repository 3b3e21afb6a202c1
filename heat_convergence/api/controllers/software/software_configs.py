"""Software configurations: immutable texts that deployments put on servers.

Called by the root controller.  Decides which configurations a caller sees, and that one
in use is not deleted.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    may_read_secrets,
    write_with_retry,
)
from heat_convergence.api.http import ApiRequest, empty_response, json_response
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.requests.params import QueryParams
from heat_convergence.api.requests.software import parse_config_body
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import software as view
from heat_convergence.common import errors
from heat_convergence.db.statements import software
from heat_convergence.db.statements.quota_locks import lock_quotas
from heat_convergence.db.statements.software import SoftwareConfigRow
from heat_convergence.resources.protocol.software_config_store import format_config
from heat_convergence.resources.reference_scope import require_config
from heat_convergence.stacks import quotas


class SoftwareConfigsController(Controller):
    """The handlers of ``/software_configs``."""

    def __init__(self, services: ApiServices, enforcer: PolicyEnforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(self, request: ApiRequest) -> webob.Response:
        """List the configurations of a project, or of all."""
        query = QueryParams(request.GET)
        all_projects = query.boolean("global_tenant")
        if all_projects:
            self._enforcer.enforce(request, "software_configs:global_index")
        project_id = None if all_projects else request.project_id
        limit, marker = query.non_negative_int("limit"), query.last("marker")
        with self.database.read() as conn:
            found = software.list_configs(conn, project_id, limit, marker)
        admin = request.caller.is_cloud_admin
        return json_response(
            {
                "software_configs": [
                    view.format_config_summary(c, with_project=admin) for c in found
                ]
            }
        )

    def create(self, request: ApiRequest) -> webob.Response:
        """Create a configuration."""
        body = parse_config_body(request.require_json_object())
        new = SoftwareConfigRow(
            id=self.services.ids(),
            project_id=request.project_id,
            name=body.name,
            group=body.tool,
            body=body.content,
            created_at=self.services.clock(),
        )

        def insert(conn: Any) -> None:
            lock_quotas(conn, new.project_id)
            quotas.check_software_quota(
                software.count_configs(conn, new.project_id),
                self.options.max_software_configs_per_tenant,
                "software configs",
                unlimited=request.caller.is_cloud_admin,
            )
            software.insert_config(conn, new)

        write_with_retry(self.services, insert)
        return json_response({"software_config": format_config(new)})

    def show(self, request: ApiRequest, config_id: str) -> webob.Response:
        """Show a configuration with its content."""
        with self.database.read() as conn:
            found = require_config(conn, request.project_id, config_id)
        shown = format_config(found)
        if not may_read_secrets(request, self._enforcer):
            shown = view.mask_config(shown)
        return json_response({"software_config": shown})

    def delete(self, request: ApiRequest, config_id: str) -> webob.Response:
        """Delete a configuration that no deployment uses."""

        def delete(conn: Any) -> None:
            require_config(conn, request.project_id, config_id)
            if software.is_config_in_use(conn, config_id):
                raise errors.InvalidRestrictedAction(
                    f"The software config {config_id} is used by a deployment."
                )
            software.delete_config(conn, config_id)

        write_with_retry(self.services, delete)
        return empty_response()
