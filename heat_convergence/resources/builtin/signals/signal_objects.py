"""Signals that senders store as objects, at URLs that need no credentials.

Decides the container and the names of the objects, and which texts are signals. The container
belongs to a stack, and several of its resources may share it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from heat_convergence.clients.rest_client import RequestLimiter
from heat_convergence.common.errors import Error
from heat_convergence.resources.builtin.signals.signal_log import (
    MAX_SIGNALS_LENGTH,
    NATIVE_FORMAT,
    SignalLog,
    check_room,
    merge_signal,
)
from heat_convergence.resources.driver.declarative_steps import require_cloud
from heat_convergence.resources.protocol.verb_values import ResourceContext
from heat_convergence.resources.transports.stored_objects import StoredObject

Json = Any
INITIAL_TEXT = "in progress"  # of an object that nobody has signalled yet
_SLOTS = RequestLimiter(16)


class SignalObjects(StoredObject):
    """The objects with the signals to one resource."""

    def __init__(self, context: ResourceContext, name: str | None = None) -> None:
        """Bind to the cloud of a resource; the object has its physical name, or another one."""
        cloud = require_cloud(context, _SLOTS)
        super().__init__(cloud, context.stack_id, name or context.physical_name)

    def create_object(self) -> None:
        """Create the object with the text that is no signal, unless it exists."""
        if not self.exists():
            self.write(INITIAL_TEXT)

    def texts(self) -> list[str]:
        """Return the texts of the object's versions and of the object that are signals."""
        return [text for text in self.read_versions() if text != INITIAL_TEXT]


def parse_signals(texts: Sequence[str]) -> tuple[SignalLog, str]:
    """Return the signals that texts are, and the reason why one of them cannot be read."""
    if sum(map(len, texts)) > MAX_SIGNALS_LENGTH:
        return {}, f"more than {MAX_SIGNALS_LENGTH} characters of signals are stored"
    documents = []
    for text in texts:
        try:
            documents.append(json.loads(text) if text.strip() else {})
        except (ValueError, RecursionError):
            return read_signals({}, documents)[0], "a signal is no JSON document"
    return read_signals({}, documents)


def read_signals(before: SignalLog, documents: Sequence[Json]) -> tuple[SignalLog, str]:
    """Return the signals with further ones, and the reason why one of them cannot be read."""
    log = before
    try:
        for details in documents:
            log, _reason = merge_signal(log, details, NATIVE_FORMAT)
        check_room(log)
    except Error as error:
        return log, error.message
    return log, ""
