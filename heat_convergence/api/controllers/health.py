"""A user's word on a resource's health: CHECK_FAILED, or healthy again.

Called by the root controller.  Decides which states the word can change; the
next update replaces what is CHECK_FAILED.
"""

from __future__ import annotations

from datetime import datetime

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.requests.action import Health, health
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence.ending import resource_event
from heat_convergence.convergence.model import Action, Resource, Status
from heat_convergence.convergence.ports import Transaction
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
        row_id, now = row.id, self.given.clock()
        in_transaction(self.given, lambda tx: self._mark(tx, row_id, said, now))
        return json_answer(None)

    def _mark(self, tx: Transaction, row_id: str, said: Health, now: datetime) -> None:
        locked = {row.id: row for row in tx.lock_jobs([row_id])}
        row = locked.get(row_id)
        if row is None:
            return
        if row.leased(now):
            raise errors.ActionInProgress(row.name, str(row.action))
        status = _status(row, said)
        if status is None:
            return
        tx.update_resources(
            [row_id], action=Action.CHECK, status=status, status_reason=said.reason
        )
        tx.insert_events(
            [resource_event(row, Action.CHECK, status, said.reason, now, self.given.ids)]
        )


def _status(row: Resource, said: Health) -> Status | None:
    """The status to set; None where the word changes nothing."""
    if said.unhealthy:
        return None if row.action is Action.DELETE else Status.FAILED
    failed_check = row.action is Action.CHECK and row.status is Status.FAILED
    return Status.COMPLETE if failed_check else None
