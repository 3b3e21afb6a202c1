"""A signal to a resource, from a server, an alarm or a user.

Called by the root controller.  Decides what is a signal and what clears a hook; what
a signal does is its resource type's affair.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.services import ApiServices
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence import breakpoints
from heat_convergence.convergence.traversal import Means, batches, cast
from heat_convergence.db.reads import resources
from heat_convergence.resources import signalling
from heat_convergence.resources.nesting.scaling import Scaler


class SignalsController(Controller):
    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._children = services.children()

    def signal(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        details = request.document
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            row = resources.by_name(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        row_id, given = row.id, self.given
        hook = signalling.hook_to_clear(details)
        if hook is not None:
            step = bool(details.get("step"))
            self._clear(stack.id, row_id, hook, step=step)
            return json_answer(None)
        kind = given.registry.find(row.implementation)
        group_id = None if kind is None else kind.scales(row.properties)
        means = Means(given.clock(), given.ids, given.settings)
        delivered = in_transaction(
            given,
            lambda tx: signalling.deliver(
                tx,
                stack,
                row_id,
                details,
                registry=given.registry,
                means=means,
                scaler=None if group_id is None else self._scaler(group_id),
            ),
        )
        cast(given.bus, delivered.postings, given.settings)
        for ids in batches(delivered.woken, given.settings.batch_size):
            given.bus.observe(stack.id, delivered.version, ids)
        if delivered.refused is not None:
            raise delivered.refused
        return json_answer(None)

    def _scaler(self, group_id: str) -> Scaler:
        return Scaler(group_id, self._children, self.options.max_resources_per_stack)

    def _clear(self, stack_id: str, row_id: str, hook: str, *, step: bool) -> None:
        """Lets the resource go on from a breakpoint; ``step``: to the next one."""
        given = self.given
        postings = in_transaction(
            given,
            lambda tx: breakpoints.clear(
                tx, stack_id, row_id, hook, given.settings, given.clock(), given.ids, step=step
            ),
        )
        cast(given.bus, postings, given.settings)
