"""A signal to a resource, from a server, an alarm or a user.

Called by the root controller.  Decides what is a signal and what clears a hook; what
a signal does is its resource type's affair.
"""

from __future__ import annotations

import webob

from heat_convergence.api.controllers.base import Controller, in_transaction, live_stack
from heat_convergence.api.wire import ApiRequest, json_answer
from heat_convergence.common import errors
from heat_convergence.convergence.traversal import Means, batches
from heat_convergence.db.reads import resources
from heat_convergence.resources import signalling


class SignalsController(Controller):
    def signal(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        details = request.document
        with self.database.read() as conn:
            stack = live_stack(conn, request, stack_name, stack_id)
            row = resources.by_name(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        hook = signalling.hook_to_clear(details)
        if hook is not None:
            raise errors.InvalidBreakPointHook(
                f'The hook "{hook}" is not set at resource {resource_name}.'
            )
        row_id, given = row.id, self.given
        means = Means(given.clock(), given.ids, given.settings)
        delivered = in_transaction(
            given,
            lambda tx: signalling.deliver(
                tx, stack, row_id, details, registry=given.registry, means=means
            ),
        )
        for ids in batches(delivered.woken, given.settings.batch_size):
            given.bus.observe(stack.id, delivered.version, ids)
        if delivered.refused is not None:
            raise delivered.refused
        return json_answer(None)
