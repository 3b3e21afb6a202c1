"""Software deployments: which configuration is on which server, and how it went.

Called by the root controller.  Decides whose deployments are seen: a project's own,
and those that its users on servers carry out.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller, writing
from heat_convergence.api.controllers.configs import config_of
from heat_convergence.api.requests.software import deployment_body, deployment_changes
from heat_convergence.api.requests.words import Query
from heat_convergence.api.views import software as view
from heat_convergence.api.wire import ApiRequest, empty_answer, json_answer
from heat_convergence.common import errors
from heat_convergence.db import software
from heat_convergence.db.software import Deployment


class DeploymentsController(Controller):
    def index(self, request: ApiRequest) -> webob.Response:
        server_id = Query(request.GET).one("server_id")
        with self.database.read() as conn:
            found = software.list_deployments(conn, request.project_id, server_id)
        return json_answer({"software_deployments": [view.deployment(d) for d in found]})

    def metadata(self, request: ApiRequest, server_id: str) -> webob.Response:
        """What an agent on the server asks for."""
        with self.database.read() as conn:
            found = software.metadata(conn, request.project_id, server_id)
        return json_answer({"metadata": [view.config(config) for config in found]})

    def create(self, request: ApiRequest) -> webob.Response:
        new = Deployment(
            id=self.given.ids(),
            project_id=request.project_id,
            created_at=self.given.clock(),
            **deployment_body(request.required_document()),
        )

        def insert(conn: Any) -> None:
            quotas.check_software(
                software.count_deployments(conn, new.project_id),
                self.options.max_software_deployments_per_tenant,
                "software deployments",
                request.caller,
            )
            config_of(conn, request.project_id, new.config_id)
            software.insert_deployment(conn, new)

        writing(self.given, insert)
        return json_answer({"software_deployment": view.deployment(new)})

    def show(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        with self.database.read() as conn:
            found = _deployment_of(conn, request.project_id, deployment_id)
        return json_answer({"software_deployment": view.deployment(found)})

    def update(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        changes = deployment_changes(request.required_document())

        def update(conn: Any) -> Deployment:
            found = _deployment_of(conn, request.project_id, deployment_id)
            if "config_id" in changes:
                config_of(conn, found.project_id, changes["config_id"])
            if changes:
                now = self.given.clock()
                software.update_deployment(conn, found.id, changes | {"updated_at": now})
            return _deployment_of(conn, request.project_id, deployment_id)

        return json_answer({"software_deployment": view.deployment(writing(self.given, update))})

    def delete(self, request: ApiRequest, deployment_id: str) -> webob.Response:
        def delete(conn: Any) -> None:
            _deployment_of(conn, request.project_id, deployment_id)
            software.delete_deployment(conn, deployment_id)

        writing(self.given, delete)
        return empty_answer()


def _deployment_of(conn: Any, project_id: str, deployment_id: str) -> Deployment:
    found = software.get_deployment(conn, deployment_id)
    if found is None or project_id not in (found.project_id, found.stack_user_project_id):
        raise errors.NotFound(f"Software deployment with id {deployment_id} not found")
    return found
