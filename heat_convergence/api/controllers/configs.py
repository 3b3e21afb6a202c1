"""Software configurations: immutable texts that deployments put on servers.

Called by the root controller.  Decides whose configurations are seen, and that one
in use is not deleted.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api import quotas
from heat_convergence.api.controllers.base import Controller, writing
from heat_convergence.api.policies.enforcer import Enforcer
from heat_convergence.api.requests.software import config_body
from heat_convergence.api.requests.words import Query
from heat_convergence.api.services import ApiServices
from heat_convergence.api.views import software as view
from heat_convergence.api.wire import ApiRequest, empty_answer, json_answer
from heat_convergence.common import errors
from heat_convergence.db import software
from heat_convergence.db.software import Config


class ConfigsController(Controller):
    def __init__(self, services: ApiServices, enforcer: Enforcer) -> None:
        super().__init__(services)
        self._enforcer = enforcer

    def index(self, request: ApiRequest) -> webob.Response:
        query = Query(request.GET)
        everywhere = query.boolean("global_tenant")
        if everywhere:
            self._enforcer.check(request, "software_configs:global_index")
        project_id = None if everywhere else request.project_id
        limit, marker = query.whole("limit"), query.one("marker")
        with self.database.read() as conn:
            found = software.list_configs(conn, project_id, limit, marker)
        admin = request.caller.is_cloud_admin
        return json_answer(
            {"software_configs": [view.config_item(c, with_project=admin) for c in found]}
        )

    def create(self, request: ApiRequest) -> webob.Response:
        body = config_body(request.required_document())
        new = Config(
            id=self.given.ids(),
            project_id=request.project_id,
            name=body.name,
            tool=body.tool,
            body=body.content,
            created_at=self.given.clock(),
        )

        def insert(conn: Any) -> None:
            quotas.check_software(
                software.count_configs(conn, new.project_id),
                self.options.max_software_configs_per_tenant,
                "software configs",
                request.caller,
            )
            software.insert_config(conn, new)

        writing(self.given, insert)
        return json_answer({"software_config": view.config(new)})

    def show(self, request: ApiRequest, config_id: str) -> webob.Response:
        with self.database.read() as conn:
            found = config_of(conn, request.project_id, config_id)
        return json_answer({"software_config": view.config(found)})

    def delete(self, request: ApiRequest, config_id: str) -> webob.Response:
        def delete(conn: Any) -> None:
            config_of(conn, request.project_id, config_id)
            if software.in_use(conn, config_id):
                raise errors.InvalidRestrictedAction(
                    f"The software config {config_id} is used by a deployment."
                )
            software.delete_config(conn, config_id)

        writing(self.given, delete)
        return empty_answer()


def config_of(conn: Any, project_id: str, config_id: str) -> Config:
    """Another project's does not exist: ``NotFound``."""
    found = software.get_config(conn, config_id)
    if found is None or found.project_id != project_id:
        raise errors.NotFound(f"Software config with id {config_id} not found")
    return found
