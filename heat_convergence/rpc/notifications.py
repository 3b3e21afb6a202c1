"""What other services are told of stacks and of groups that scale: oslo.messaging
notifications.

Called by the store after a commit that changed a stack's state.  Decides the event's type
and body; a notification that cannot be sent, or a process that dies before it, loses it:
the events in the database are the record.  Source: heat-facts ``events_and_states.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import oslo_messaging
from kombu.exceptions import OperationalError
from oslo_config import cfg

from heat_convergence.common import errors
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.notification_events import (
    NotificationEvent,
    ParentResource,
)
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.rpc.transport import create_notification_transport

Json = Any
LOG = logging.getLogger(__name__)
PUBLISHER_PREFIX = "orchestration"
_SUFFIXES = {Status.IN_PROGRESS: "start", Status.COMPLETE: "end", Status.FAILED: "error"}
_FAILURES = (errors.Error, oslo_messaging.MessagingException, OperationalError, OSError)
_SCALING = "scaling"  # in a group's data, while a policy's wish is being done


@dataclass(frozen=True, slots=True)
class NotifiedStack:
    """A stack with its tags, its template's description, and the id of the user that is
    acted for: None where there is no Keystone, or nothing to act with any more."""

    stack: Stack
    description: str = ""
    user_id: str | None = None


FindNotifiedStack = Callable[[str], NotifiedStack | None]
"""By its id."""


def create_notifier(conf: cfg.ConfigOpts) -> oslo_messaging.Notifier | None:
    """None where no driver is configured, so that nothing is read for nobody."""
    transport = create_notification_transport(conf)
    if not conf.oslo_messaging_notifications.driver:
        return None
    publisher = conf.default_publisher_id or f"{PUBLISHER_PREFIX}.{conf.host}"
    return oslo_messaging.Notifier(transport, publisher_id=publisher, retry=conf.rpc.send_retries)


class StackNotifier:
    """``level`` names a method of the notifier: info, warn, error and so on."""

    def __init__(
        self, notifier: oslo_messaging.Notifier, level: str, find_stack: FindNotifiedStack
    ) -> None:
        self._send = getattr(notifier, level.lower())
        self._stack_of = find_stack

    def __call__(self, notices: Sequence[NotificationEvent]) -> None:
        """One notification for each event of a stack's own, and one of the group whose
        scaling the event begins or ends."""
        for notice in notices:
            event, owner = notice.event, notice.parent
            suffix = _SUFFIXES[Status(event.status)]
            kind = f"stack.{str(event.action).lower()}.{suffix}"
            self._tell(kind, event.stack_id, lambda it, e=event: stack_notification(e, it))
            if owner is not None and owner.data.get(_SCALING):
                group = self._group(event.stack_id)
                self._tell(
                    f"autoscaling.{suffix}", owner.stack_id,
                    lambda it, e=event, o=owner, g=group: scaling_notification(e, o, g, it),
                )  # fmt: skip

    def _group(self, stack_id: str) -> str:
        try:
            found = self._stack_of(stack_id)
        except _FAILURES:
            found = None
        return stack_id if found is None else found.stack.name

    def _tell(
        self, kind: str, stack_id: str, body_of: Callable[[NotifiedStack], dict[str, Json]]
    ) -> None:
        try:
            found = self._stack_of(stack_id)
            if found is not None:
                self._send({}, kind, body_of(found))
        except _FAILURES as error:
            LOG.warning(
                "stack %(stack)s: %(kind)s is not notified: %(error)s",
                {"stack": stack_id, "kind": kind, "error": error},
            )


def stack_notification(event: Event, notified: NotifiedStack) -> dict[str, Json]:
    """The state is the event's, for the stack may be further by now.  ``user_id`` has the
    name for old listeners' sake: ``user_identity`` is the id."""
    state = f"{event.action}_{event.status}"
    return _told(notified, state, event.reason)


def scaling_notification(
    event: Event, owner: ParentResource, group_name: str, notified: NotifiedStack
) -> dict[str, Json]:
    """Of the stack that has the group, which is in the state that it is in; ``event`` is
    of the stack behind the group."""
    what: Mapping[str, Json] = owner.data[_SCALING]
    stack = notified.stack
    messages = {
        Status.IN_PROGRESS: (what.get("from"), f"Start resizing the group {group_name}"),
        Status.COMPLETE: (what.get("to"), f"End resizing the group {group_name}"),
        Status.FAILED: (owner.healthy_members, event.reason),
    }
    capacity, message = messages[Status(event.status)]
    return {
        **_told(notified, f"{stack.action}_{stack.status}", stack.status_reason),
        "adjustment": what.get("adjustment"),
        "adjustment_type": what.get("adjustment_type"),
        "capacity": capacity,
        "groupname": group_name,
        "message": message,
    }


def _told(known: NotifiedStack, state: str, reason: str) -> dict[str, Json]:
    stack = known.stack
    return {
        "tenant_id": stack.project_id,
        "user_id": stack.username,
        "user_identity": known.user_id,
        "username": stack.username,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "state": state,
        "state_reason": reason,
        "create_at": _iso(stack.created_at),
        "updated_at": _iso(stack.updated_at),
        "tags": list(stack.tags),
        "description": known.description,
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")
