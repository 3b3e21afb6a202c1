"""Marking of resources as unhealthy, or healthy again, by users.

Called by the root controller; ``lifecycle.stack_actions`` decides what the mark changes.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.requests.actions import parse_health_body
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import stack_actions
from heat_convergence.convergence.model.action import Status
from heat_convergence.db.reads import resources


class ResourceHealthController(Controller):
    """The handler that marks resources unhealthy, or healthy again."""

    def mark_unhealthy(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        """Mark a resource, named by its name or physical id."""
        body = parse_health_body(request.require_json_object())
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            row = resources.get_by_name(conn, stack.id, resource_name)
            row = row or resources.get_by_physical_id(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        resource_id, status = row.id, Status.FAILED if body.unhealthy else Status.COMPLETE
        context = self.traversal_context()
        run_in_transaction(
            self.services,
            lambda tx: stack_actions.mark_unhealthy(tx, resource_id, status, body.reason, context),
        )
        return json_response(None)
