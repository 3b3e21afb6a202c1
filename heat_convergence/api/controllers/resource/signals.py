"""A signal to a resource, from a server, an alarm or a user.

Called by the root controller.  Decides what is a signal and what clears a hook; what
a signal does is its resource type's affair.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import breakpoints
from heat_convergence.convergence.lifecycle.traversal import (
    TraversalContext,
    batches,
    send_messages,
)
from heat_convergence.db.reads import resources
from heat_convergence.stacks import signal_delivery
from heat_convergence.stacks.group_scaling import GroupScaler


class SignalsController(Controller):
    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._children = services.nested_stack_builder()

    def signal(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        details = request.json_object
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            row = resources.get_by_name(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        row_id, given = row.id, self.services
        hook = signal_delivery.hook_to_unset(details)
        if hook is not None:
            step = bool(details.get("step"))
            self._clear(stack.id, row_id, hook, step=step)
            return json_response(None)
        kind = given.registry.find(row.implementation)
        group_id = None if kind is None else kind.scaled_group_id(row.properties)
        means = TraversalContext(given.clock(), given.ids, given.settings)
        delivered = run_in_transaction(
            given,
            lambda tx: signal_delivery.deliver_signal(
                tx,
                stack,
                row_id,
                details,
                registry=given.registry,
                context=means,
                scaler=None if group_id is None else self._scaler(group_id),
            ),
        )
        send_messages(given.bus, delivered.messages, given.settings)
        for ids in batches(delivered.resources_to_poll, given.settings.batch_size):
            given.bus.observe(stack.id, delivered.version, ids)
        if delivered.rejection is not None:
            raise delivered.rejection
        return json_response(None)

    def _scaler(self, group_id: str) -> GroupScaler:
        return GroupScaler(group_id, self._children, self.options.max_resources_per_stack)

    def _clear(self, stack_id: str, row_id: str, hook: str, *, step: bool) -> None:
        """Lets the resource go on from a breakpoint; ``step``: to the next one."""
        given = self.services
        outgoing_messages = run_in_transaction(
            given,
            lambda tx: breakpoints.clear_hook(
                tx,
                stack_id,
                row_id,
                hook,
                given.settings,
                given.clock(),
                given.ids,
                single_step=step,
            ),
        )
        send_messages(given.bus, outgoing_messages, given.settings)
