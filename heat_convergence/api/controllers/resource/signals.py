"""Signals to a resource, from a server, an alarm or a user.

Called by the root controller.  Decides what is a signal and what clears a hook; the
resource type decides what a signal does.
"""

from __future__ import annotations

from typing import Any

import webob

from heat_convergence.api.controllers.base import (
    Controller,
    get_undeleted_stack,
    run_in_transaction,
    sender_of,
)
from heat_convergence.api.http import ApiRequest, json_response
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.convergence.lifecycle import breakpoints
from heat_convergence.convergence.lifecycle.outgoing_messages import batches, send_messages
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.bus import ResourceHint
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import resources
from heat_convergence.resources.protocol.resource_context import VerbInputs, build_context
from heat_convergence.resources.protocol.resource_type import ResourceType
from heat_convergence.resources.reference_scope import require_own_resource
from heat_convergence.stacks.goal.nested_builder import NestedStackBuilder
from heat_convergence.stacks.group_scaling import GroupScaler
from heat_convergence.stacks.signal_delivery import (
    Signal,
    SignalDelivery,
    deliver_signal,
    hook_to_unset,
)

Json = Any


class SignalsController(Controller):
    """The handler of ``…/signal``."""

    def __init__(self, services: ApiServices) -> None:
        super().__init__(services)
        self._nested_builder = NestedStackBuilder(services)

    def signal(
        self, request: ApiRequest, stack_name: str, stack_id: str, resource_name: str
    ) -> webob.Response:
        """Deliver a signal, or clear the hook that its details name."""
        details = request.plain_json_object
        with self.database.read() as conn:
            stack = get_undeleted_stack(conn, request, stack_name, stack_id)
            row = resources.get_by_name(conn, stack.id, resource_name)
        if row is None:
            raise errors.ResourceNotFound(resource_name, stack.name)
        require_own_resource(sender_of(request), row.data)
        hook = hook_to_unset(details)
        if hook is not None and details is not None:
            self._clear_hook(stack.id, row.id, hook, single_step=bool(details.get("step")))
            return json_response(None)
        resource_type = self.services.registry.find(row.implementation)
        if resource_type is not None and resource_type.acts_on_signals:
            details = self._act(stack, row.id, resource_type, details)
        group_id = None if resource_type is None else resource_type.scaled_group_id(row.properties)
        self._deliver(stack, Signal(row.id, details), group_id)
        return json_response(None)

    def _act(
        self, stack: Stack, resource_id: str, resource_type: ResourceType, details: Json
    ) -> Json:
        """Let the type do what the signal asks for; return the details to record.

        Actions during which there are no signals are left to the delivery, which refuses them.
        """
        services = self.services
        (row,) = run_in_transaction(services, lambda tx: tx.resources.get([resource_id]))
        if row.state.action in {Action.INIT, *resource_type.no_signal_actions}:
            return details
        inputs = VerbInputs(cloud=services.cloud_of(stack.tree_id))
        context = build_context(row, stack, row.state.action, services.clock(), inputs)
        return resource_type.act_on_signal(context, details)

    def _deliver(self, stack: Stack, signal: Signal, group_id: str | None) -> None:
        services, context = self.services, self.traversal_context()

        def deliver_in(tx: Transaction) -> SignalDelivery:
            scaler = None if group_id is None else self._scaler(group_id)
            return deliver_signal(
                tx, stack, signal, registry=services.registry, context=context, scaler=scaler
            )

        delivery = run_in_transaction(services, deliver_in)
        send_messages(services.bus, delivery.messages, services.settings)
        for ids in batches(delivery.resources_to_poll, services.settings.batch_size):
            services.bus.observe([ResourceHint(stack.id, delivery.version, ids)])
        if delivery.rejection is not None:
            raise delivery.rejection

    def _scaler(self, group_id: str) -> GroupScaler:
        return GroupScaler(
            group_id,
            self._nested_builder,
            self.services.store,
            self.options.max_resources_per_stack,
        )

    def _clear_hook(
        self, stack_id: str, resource_id: str, hook: str, *, single_step: bool
    ) -> None:
        """Resume the resource at a breakpoint; ``single_step``: up to the next one."""
        services, context = self.services, self.traversal_context()
        cleared = breakpoints.HookToClear(stack_id, resource_id, hook, single_step)
        messages = run_in_transaction(
            services, lambda tx: breakpoints.clear_hook(tx, cleared, context)
        )
        send_messages(services.bus, messages, services.settings)
