"""The format of messages: ids and numbers, and the context of the request.

Decides what is sent and what is accepted. Used by ``bus`` and ``server``. A change of the
format raises ``FORMAT_VERSION``; a receiver drops unknown formats, since messages are hints
and the sweep repeats them. Nothing in a message grants anything: a receiver reads what the
ids name from the database, and the ids of the request serve log lines alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_context.context import RequestContext
from oslo_messaging import Serializer

from heat_convergence.common.telemetry.request_contexts import LOGGED_FIELDS, logged_ids
from heat_convergence.convergence.ports.bus import ResourceHint

FORMAT_VERSION = 1
RPC_VERSION = "1.1"
FIRST_RPC_VERSION = "1.0"  # of the methods for one stack
ENGINE_TOPIC = "heat-convergence-engine"
OBSERVER_TOPIC = "heat-convergence-observer"

MAX_RESOURCE_IDS = 1_000  # of one stack in a message; a sender splits longer lists
MAX_STACKS = 100  # in a message
_MAX_VERSION = 2**63 - 1
_MAX_SHOWN = 60
_ID = re.compile(r"[!-~]{1,64}")  # printable, so that no id forges a log line


class MalformedMessage(ValueError):
    """A message of another format; the text names the mistake."""


def encode_hint(hint: ResourceHint) -> dict[str, Any]:
    """Return the payload of a message about one stack."""
    return {"format": FORMAT_VERSION, **_encode(hint)}


def encode_hints(hints: Sequence[ResourceHint]) -> dict[str, Any]:
    """Return the payload of a message about several stacks."""
    return {"format": FORMAT_VERSION, "hints": [_encode(hint) for hint in hints]}


def _encode(hint: ResourceHint) -> dict[str, Any]:
    return {
        "stack_id": hint.stack_id,
        "version": hint.version,
        "resource_ids": list(hint.resource_ids),
    }


def decode_hint(message: Mapping[str, Any]) -> ResourceHint:
    """Return the hint of a message about one stack.

    Raises:
        MalformedMessage: The payload has another format or exceeds its limits.
    """
    _check_format(message)
    return _decode(message)


def decode_hints(message: Mapping[str, Any]) -> list[ResourceHint]:
    """Return the hints of a message about several stacks.

    Raises:
        MalformedMessage: The payload has another format or exceeds its limits, or names a stack
            twice.
    """
    _check_format(message)
    hints = message.get("hints")
    if not isinstance(hints, list) or not 0 < len(hints) <= MAX_STACKS:
        raise MalformedMessage(f"hints is no list of 1 to {MAX_STACKS} hints")
    found = []
    for hint in hints:
        if not isinstance(hint, Mapping):
            raise MalformedMessage(f"a hint is no map but {_shown(hint)}")
        found.append(_decode(hint))
    if len({hint.stack_id for hint in found}) < len(found):
        raise MalformedMessage("a stack is named twice")
    return found


def _check_format(message: Mapping[str, Any]) -> None:
    if not isinstance(message, Mapping):
        raise MalformedMessage(f"payload is no map but {_shown(message)}")
    if message.get("format") != FORMAT_VERSION:
        raise MalformedMessage(f"format {_shown(message.get('format'))}, this is {FORMAT_VERSION}")


def _decode(message: Mapping[str, Any]) -> ResourceHint:
    stack_id, version = message.get("stack_id"), message.get("version")
    ids = message.get("resource_ids")
    if not _is_id(stack_id):
        raise MalformedMessage(f"stack_id is {_shown(stack_id)}")
    if type(version) is not int or not 0 <= version <= _MAX_VERSION:
        raise MalformedMessage(f"version is {_shown(version)}")
    if not isinstance(ids, list) or len(ids) > MAX_RESOURCE_IDS or not all(map(_is_id, ids)):
        raise MalformedMessage(f"resource_ids is no list of at most {MAX_RESOURCE_IDS} ids")
    return ResourceHint(str(stack_id), version, tuple(ids))


def _is_id(value: object) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def _shown(value: object) -> str:
    """Return a short text about a value of any size."""
    if isinstance(value, str):
        return repr(value[:_MAX_SHOWN])
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int) and abs(value) <= _MAX_VERSION:
        return repr(value)
    return f"of type {type(value).__name__}"


class ContextSerializer(Serializer):  # type: ignore[misc]
    """A serializer that leaves payloads unchanged and sends the ids of the request."""

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        """Return the payload unchanged."""
        return entity

    def deserialize_entity(self, ctxt: Any, entity: Any) -> Any:
        """Return the payload unchanged."""
        return entity

    def serialize_context(self, ctxt: RequestContext | None) -> dict[str, str]:
        """Return the ids of the request that log lines name."""
        if ctxt is None:
            return {}
        return logged_ids(ctxt)

    def deserialize_context(self, ctxt: Mapping[str, Any]) -> RequestContext:
        """Return a new context, current in the receiving thread.

        Its log lines carry the request id of the API request that caused the message.
        """
        known = {key: ctxt[key] for key in LOGGED_FIELDS if _is_id(ctxt.get(key))}
        return RequestContext(**known)
