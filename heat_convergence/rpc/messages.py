"""The form of a message: a few names and numbers, and who asked.

Decides what is sent and what is accepted.  Used by ``bus`` and ``server``;
changes in form raise ``FORMAT``, and a receiver drops what it does not know,
since messages are hints and the sweep repeats them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oslo_context.context import RequestContext, get_current
from oslo_messaging import Serializer

FORMAT_VERSION = 1
RPC_VERSION = "1.0"
ENGINE_TOPIC = "heat-convergence-engine"
OBSERVER_TOPIC = "heat-convergence-observer"

# What of a request's context is worth carrying: enough to find it in the logs.
_CONTEXT_KEYS = ("request_id", "global_request_id", "project_id", "user_id")


class MalformedMessage(ValueError):
    """Not a message of this form; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ResourceHint:
    """Look at these resources of this traversal."""

    stack_id: str
    version: int
    resource_ids: tuple[str, ...]


def encode_hint(stack_id: str, version: int, resource_ids: Sequence[str]) -> dict[str, Any]:
    return {
        "format": FORMAT_VERSION,
        "stack_id": stack_id,
        "version": version,
        "resource_ids": list(resource_ids),
    }


def decode_hint(message: Mapping[str, Any]) -> ResourceHint:
    """Raises ``MalformedMessage``."""
    if message.get("format") != FORMAT_VERSION:
        raise MalformedMessage(f"format {message.get('format')!r}, this is {FORMAT_VERSION}")
    stack_id, version = message.get("stack_id"), message.get("version")
    ids = message.get("resource_ids")
    if not isinstance(stack_id, str):
        raise MalformedMessage(f"stack_id is {stack_id!r}")
    if not isinstance(version, int) or isinstance(version, bool):
        raise MalformedMessage(f"version is {version!r}")
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise MalformedMessage("resource_ids is no list of strings")
    return ResourceHint(stack_id, version, tuple(ids))


class ContextSerializer(Serializer):  # type: ignore[misc]
    """Payloads travel as they are; of the context only what identifies the request."""

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return entity

    def deserialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return entity

    def serialize_context(self, ctxt: RequestContext | None) -> dict[str, str]:
        if ctxt is None:
            return {}
        return {key: value for key in _CONTEXT_KEYS if (value := getattr(ctxt, key, None))}

    def deserialize_context(self, ctxt: Mapping[str, Any]) -> RequestContext:
        """A new context, current in the receiving thread, so that its log lines name it."""
        known = {key: ctxt[key] for key in _CONTEXT_KEYS if isinstance(ctxt.get(key), str)}
        return RequestContext(**known)


def current_context() -> RequestContext | None:
    """The context of the request that this thread works for, if any."""
    return get_current()
