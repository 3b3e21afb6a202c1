"""A user's word on a resource's health: CHECK_FAILED, or healthy again.

Called by the root controller; what the word changes is ``convergence.commands``' affair.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.requests.action import health
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence import commands
from heat_convergence.convergence.model import Status
from heat_convergence.convergence.traversal import Means
from heat_convergence.db.reads import resources


class HealthController(Controller):
    def mark(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        said = health(request.required_document())
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            row = resources.by_name(conn, stack.id, resource_name)
            row = row or resources.by_physical_id(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        resource_id, status = row.id, Status.FAILED if said.unhealthy else Status.COMPLETE
        means = Means(self.given.clock(), self.given.ids, self.given.settings)
        in_transaction(
            self.given, lambda tx: commands.mark(tx, resource_id, status, said.reason, means)
        )
        return json_answer(None)
