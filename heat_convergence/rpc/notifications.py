"""Notifications of stack actions, scaling and drift, sent over oslo.messaging.

Called by the store after a commit that changed the state of a stack, and by the observer.
Decides the type and the body of a notification. One that cannot be sent is lost, for instance
when a process dies before it: the events in the database are the record.

Source: "Notifications" in the documentation of Heat.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import oslo_messaging
from kombu.exceptions import OperationalError
from oslo_config import cfg

from heat_convergence.common import errors
from heat_convergence.convergence.drift.announcements import Announcement
from heat_convergence.convergence.model.action import Status
from heat_convergence.convergence.model.event import Event
from heat_convergence.convergence.model.notification_events import (
    NestedStackOwner,
    NotificationEvent,
)
from heat_convergence.convergence.model.stack import Stack
from heat_convergence.rpc.transport import create_notification_transport

Json = Any
LOG = logging.getLogger(__name__)
PUBLISHER_PREFIX = "orchestration"
_SUFFIXES = {Status.IN_PROGRESS: "start", Status.COMPLETE: "end", Status.FAILED: "error"}
_FAILURES = (errors.Error, oslo_messaging.MessagingException, OperationalError, OSError)
_SCALING = "scaling"  # key in the data of a group while a policy scales it


@dataclass(frozen=True, slots=True)
class NotifiedStack:
    """A stack with the data that notifications add to its state.

    Attributes:
        stack: The stack with its tags.
        description: Description of its template.
        user_id: The user on whose behalf the service acts; None without Keystone or
            credential.
    """

    stack: Stack
    description: str = ""
    user_id: str | None = None


FindNotifiedStack = Callable[[str], NotifiedStack | None]
"""Function that reads a stack by its id."""


def create_notifier(conf: cfg.ConfigOpts) -> oslo_messaging.Notifier | None:
    """Return a notifier; None when no driver is configured, so that nothing is read."""
    transport = create_notification_transport(conf)
    if not conf.oslo_messaging_notifications.driver:
        return None
    publisher = conf.default_publisher_id or f"{PUBLISHER_PREFIX}.{conf.host}"
    return oslo_messaging.Notifier(transport, publisher_id=publisher, retry=conf.rpc.send_retries)


class StackNotifier:
    """Sender of the notifications of committed events.

    Args:
        notifier: oslo.messaging's notifier.
        level: Name of a method of the notifier: info, warn, error and so on.
        find_stack: Function that reads a stack by its id.
    """

    def __init__(
        self, notifier: oslo_messaging.Notifier, level: str, find_stack: FindNotifiedStack
    ) -> None:
        self._send = getattr(notifier, level.lower())
        self._find_stack = find_stack

    def __call__(self, notification_events: Sequence[NotificationEvent]) -> None:
        """Send a notification for each stack event and each scaling that it starts or ends."""
        for notification_event in notification_events:
            event, parent = notification_event.event, notification_event.parent
            suffix = _SUFFIXES[Status(event.status)]
            event_type = f"{PUBLISHER_PREFIX}.stack.{str(event.action).lower()}.{suffix}"
            self._notify(event_type, event.stack_id, partial(stack_notification, event))
            if parent is not None and parent.data.get(_SCALING):
                body_of = partial(
                    scaling_notification, event, parent, self._group_name(event.stack_id)
                )
                event_type = f"{PUBLISHER_PREFIX}.autoscaling.{suffix}"
                self._notify(event_type, parent.stack_id, body_of)

    def _group_name(self, stack_id: str) -> str:
        try:
            found = self._find_stack(stack_id)
        except _FAILURES:
            found = None
        return stack_id if found is None else found.stack.name

    def _notify(
        self, event_type: str, stack_id: str, body_of: Callable[[NotifiedStack], dict[str, Json]]
    ) -> None:
        try:
            found = self._find_stack(stack_id)
            if found is not None:
                self._send({}, event_type, body_of(found))
        except _FAILURES as error:
            LOG.warning(
                "notification not sent: type=%(type)s stack=%(stack)s error=%(error)s",
                {"type": event_type, "stack": stack_id, "error": error},
            )


class DriftNotifier:
    """Sender of announcements of drift.

    After a failure nothing is sent for a while, so that a dead broker does not keep the observer
    from its work.

    Args:
        notifier: oslo.messaging's notifier.
        level: Name of a method of the notifier: info, warn, error and so on.
        pause_s: Seconds without announcements after a failure.
        monotonic: Clock of the pause.
    """

    def __init__(
        self,
        notifier: oslo_messaging.Notifier,
        level: str,
        pause_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = getattr(notifier, level.lower())
        self._pause_s = pause_s
        self._monotonic = monotonic
        self._paused_until = float("-inf")

    def __call__(self, announcements: Sequence[Announcement]) -> None:
        """Send the announcements, unless a send has failed a short time ago."""
        for each in announcements:
            if self._monotonic() < self._paused_until:
                return
            event_type = f"{PUBLISHER_PREFIX}.{each.event_type}"
            try:
                self._send({}, event_type, dict(each.body))
            except _FAILURES as error:
                self._paused_until = self._monotonic() + self._pause_s
                LOG.warning(
                    "notification not sent, nor others for %(pause_s)s s:"
                    " type=%(type)s error=%(error)s",
                    {"pause_s": self._pause_s, "type": event_type, "error": error},
                )


def stack_notification(event: Event, notified: NotifiedStack) -> dict[str, Json]:
    """Return the body of the notification of a stack event.

    The state is that of the event, since the stack may have changed meanwhile. ``user_id``
    holds the user name for compatibility with old listeners; ``user_identity`` is the id.
    """
    state = f"{event.action}_{event.status}"
    return _stack_fields(notified, state, event.reason)


def scaling_notification(
    event: Event, parent: NestedStackOwner, group_name: str, notified: NotifiedStack
) -> dict[str, Json]:
    """Return the body of the notification of a scaling.

    Args:
        event: Event of the nested stack of the group.
        parent: The group in its stack.
        group_name: Name that the notification shows.
        notified: The stack of the group.
    """
    scaling: Mapping[str, Json] = parent.data[_SCALING]
    stack = notified.stack
    messages = {
        Status.IN_PROGRESS: (scaling.get("from"), f"Start resizing the group {group_name}"),
        Status.COMPLETE: (scaling.get("to"), f"End resizing the group {group_name}"),
        Status.FAILED: (parent.healthy_members, event.reason),
    }
    capacity, message = messages[Status(event.status)]
    return {
        **_stack_fields(notified, f"{stack.action}_{stack.status}", stack.status_reason),
        "adjustment": scaling.get("adjustment"),
        "adjustment_type": scaling.get("adjustment_type"),
        "capacity": capacity,
        "groupname": group_name,
        "message": message,
    }


def _stack_fields(notified: NotifiedStack, state: str, reason: str) -> dict[str, Json]:
    stack = notified.stack
    return {
        "tenant_id": stack.project_id,
        "user_id": stack.username,
        "user_identity": notified.user_id,
        "username": stack.username,
        "stack_identity": stack.id,
        "stack_name": stack.name,
        "state": state,
        "state_reason": reason,
        "create_at": _iso(stack.created_at),
        "updated_at": _iso(stack.updated_at),
        "tags": list(stack.tags),
        "description": notified.description,
    }


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")
