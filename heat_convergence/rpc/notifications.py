"""What other services are told of stacks: oslo.messaging notifications.

Called by the store after a commit that changed a stack's state.  Decides the event's type
and body; a notification that cannot be sent, or a process that dies before it, loses it:
the events in the database are the record.  Source: heat-facts ``events_and_states.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import oslo_messaging
from kombu.exceptions import OperationalError
from oslo_config import cfg

from heat_convergence.common import errors
from heat_convergence.convergence.model import Event, Stack, Status
from heat_convergence.rpc.transport import create_notification_transport

Json = Any
LOG = logging.getLogger(__name__)
PUBLISHER = "orchestration"
_SUFFIXES = {Status.IN_PROGRESS: "start", Status.COMPLETE: "end", Status.FAILED: "error"}
_FAILURES = (errors.Error, oslo_messaging.MessagingException, OperationalError, OSError)
StackOf = Callable[[str], tuple[Stack, str] | None]
"""Id → the stack with its tags, and its template's description."""


def notifier(conf: cfg.ConfigOpts) -> oslo_messaging.Notifier | None:
    """None where no driver is configured, so that nothing is read for nobody."""
    transport = create_notification_transport(conf)
    if not conf.oslo_messaging_notifications.driver:
        return None
    publisher = conf.default_publisher_id or f"{PUBLISHER}.{conf.host}"
    return oslo_messaging.Notifier(
        transport, publisher_id=publisher, retry=conf.rpc.send_retries
    )


class StackNotifications:
    """``level`` names a method of the notifier: info, warn, error and so on."""

    def __init__(self, notifier: oslo_messaging.Notifier, level: str, stack_of: StackOf) -> None:
        self._send = getattr(notifier, level.lower())
        self._stack_of = stack_of

    def __call__(self, events: Sequence[Event]) -> None:
        """One notification for each event of a stack's own."""
        for event in events:
            kind = f"stack.{str(event.action).lower()}.{_SUFFIXES[Status(event.status)]}"
            try:
                found = self._stack_of(event.stack_id)
                if found is not None:
                    self._send({}, kind, body(event, *found))
            except _FAILURES as error:
                LOG.warning("stack %(stack)s: %(kind)s is not notified: %(error)s",
                            {"stack": event.stack_id, "kind": kind, "error": error})


def body(event: Event, stack: Stack, description: str) -> dict[str, Json]:
    """The state is the event's, for the stack may be further by now."""
    return {
        "tenant_id": stack.project_id,
        "user_id": stack.username,
        "user_identity": stack.username,
        "username": stack.username,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "state": f"{event.action}_{event.status}",
        "state_reason": event.reason,
        "create_at": _iso(stack.created_at),
        "updated_at": _iso(stack.updated_at),
        "tags": list(stack.tags),
        "description": description,
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")
