"""Base of the controllers: the services, and the stack that a path names.

Decides when a stack does not exist for a caller: another project's does for the cloud's
administrator alone.  Holds no handler.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from heat_convergence.api.http import ApiRequest
from heat_convergence.api.policies.enforcer import PolicyEnforcer
from heat_convergence.api.services import ApiServices
from heat_convergence.common import errors
from heat_convergence.common.failures import Unavailable
from heat_convergence.common.transactions import retry_transaction
from heat_convergence.convergence.lifecycle.context import TraversalContext
from heat_convergence.convergence.lifecycle.dispatch import dispatch_next
from heat_convergence.convergence.lifecycle.outgoing_messages import send_messages
from heat_convergence.convergence.lifecycle.plan_storage import StartedTraversal
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.convergence.ports.store import Transaction
from heat_convergence.db.reads import stacks
from heat_convergence.resources.reference_scope import Sender, is_visible
from heat_convergence.stacks.event_log import log_report

T = TypeVar("T")


class Controller:
    """The handlers of one noun; one object per application."""

    def __init__(self, services: ApiServices) -> None:
        self.services = services
        self.database = services.database
        self.options = services.options

    def traversal_context(self) -> TraversalContext:
        """Return what starting a traversal now takes."""
        return new_traversal_context(self.services)


def new_traversal_context(services: ApiServices) -> TraversalContext:
    """Return what starting a traversal now takes."""
    return TraversalContext(services.clock(), services.ids, services.settings, report=log_report)


def get_stack(conn: Any, request: ApiRequest, name: str, stack_id: str) -> Stack:
    """Return the stack, deleted or not, if name, id and project fit together.

    The users that a stack tree created find its stacks in their own project, too, and the
    cloud's administrator those of all projects; policy decides what they may do there.

    Raises:
        EntityNotFound: the caller has no such stack.
    """
    stack = stacks.get(conn, stack_id)
    if stack is None or stack.name != name or not is_visible(sender_of(request), stack):
        raise errors.EntityNotFound("Stack", name)
    return stack


def sender_of(request: ApiRequest) -> Sender:
    """Return the sender whose reach bounds the ids in the request."""
    caller = request.caller
    return Sender(
        request.project_id,
        caller.user_id,
        caller.stack_user_tree_id,
        is_cloud_admin=caller.is_cloud_admin,
    )


def may_read_secrets(request: ApiRequest, enforcer: PolicyEnforcer) -> bool:
    """Return whether views show secrets: to who may export, and to a user about its resource."""
    return sender_of(request).is_stack_user or enforcer.allows(request, "stacks:export")


def get_undeleted_stack(conn: Any, request: ApiRequest, name: str, stack_id: str) -> Stack:
    """Return the stack as ``get_stack`` does, but do not find a deleted one."""
    stack = get_stack(conn, request, name, stack_id)
    if stack.deleted_at is not None:
        raise errors.EntityNotFound("Stack", name)
    return stack


def write_with_retry(services: ApiServices, work: Callable[[Any], T]) -> T:
    """Run statements that concern no traversal in one transaction, a few times if need be.

    Raises:
        Unavailable: no try helped; the client gets 503.
    """

    def attempt() -> T:
        with services.database.write() as conn:
            return work(conn)

    return retry_transaction(attempt, wait=services.wait, tries=services.options.transaction_tries)


def send_started(services: ApiServices, started: StartedTraversal) -> None:
    """Send the messages of a traversal after its commit.

    Jobs of a project whose bus was full are posted once more, as workers may have emptied it
    before the commit.  If that fails, the sweep does so.
    """
    send_messages(services.bus, started.outgoing_messages, services.settings)
    if started.waits_for_bus:
        context = new_traversal_context(services)
        with suppress(Unavailable):
            messages = run_in_transaction(
                services, lambda tx: dispatch_next(tx, started.stack, context)
            )
            send_messages(services.bus, messages, services.settings)


def run_in_transaction(services: ApiServices, work: Callable[[Transaction], T]) -> T:
    """Run ``work`` in one transaction of the store, a few times if need be.

    Raises:
        Unavailable: no try helped; the client gets 503.
    """

    def attempt() -> T:
        with services.store.transaction() as tx:
            return work(tx)

    return retry_transaction(attempt, wait=services.wait, tries=services.options.transaction_tries)
