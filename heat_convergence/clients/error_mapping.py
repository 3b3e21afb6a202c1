"""What a service's answer means: gone, conflict, quota, throttled, temporary, for good.

Decides from status, headers and the services' error documents, nothing else.
Called by ``rest`` for every answer that is not a success.  Must not retry: the
error's class says what a worker does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from heat_convergence.common.errors import (
    Conflict,
    Error,
    Forbidden,
    OverQuota,
    ResourceFailure,
    ResourceGone,
    TemporaryFailure,
    Throttled,
)

Json = Any
MAX_MESSAGE_CHARACTERS = 500
# A create that is answered so can be asked for again; every other 409 to a create
# says that what is asked for can't be.
TEMPORARY_CONFLICT_TYPES = frozenset({"RetryRequest", "NetworkNotReady", "StateInvalid"})
# What Octavia says while a parent is being changed.
IMMUTABLE_MARKER = "is immutable"
# Ends of paths below which a POST changes something that is there.
MODIFYING_POST_PATHS = re.compile(r"/(action|actions/\w+|restore|import|os-[\w-]+)$")

_TEXT_KEYS = ("message", "detail", "faultstring", "description")
_TEMPORARY = frozenset({408, 425, 500, 502, 503, 504})


def error_from_response(
    method: str, path: str, status: int, headers: Mapping[str, str], text: str
) -> Error:
    """The error for an answer to ``method`` and ``path``; ``text`` is its body."""
    kind, message = _told(text)
    said = f"{message or text[:MAX_MESSAGE_CHARACTERS] or 'no reason given'} (HTTP {status})"
    if _is_quota(status, kind, message):
        return OverQuota(said)
    if status == 404:
        return ResourceGone(said)
    if status == 429 or (status == 413 and "retry-after" in _lower(headers)):
        return Throttled(said, retry_after_s=_after_s(headers))
    if status == 409:
        creating = method == "POST" and not MODIFYING_POST_PATHS.search(path)
        passing = not creating or kind in TEMPORARY_CONFLICT_TYPES or IMMUTABLE_MARKER in message
        return Conflict(said) if passing else ResourceFailure(said)
    if status in _TEMPORARY:
        return TemporaryFailure(said, retry_after_s=_after_s(headers))
    if status in (401, 403):
        return Forbidden(said)
    return ResourceFailure(said)


def _is_quota(status: int, kind: str, message: str) -> bool:
    """Neutron says 409, Nova 403, Cinder and Octavia 413 or 403."""
    if "OverQuota" in kind:
        return True
    words = message.lower()
    told = "quota" in words or "limitexceeded" in kind.lower() or "exceeds allowed" in words
    return status in (403, 409, 413) and told


def _told(text: str) -> tuple[str, str]:
    """The error's name, where there is one, and its message."""
    try:
        document = json.loads(text)
    except ValueError:
        return "", ""
    if not isinstance(document, Mapping):
        return "", ""
    for key, value in document.items():
        if isinstance(value, Mapping) and any(name in value for name in _TEXT_KEYS):
            return str(value.get("type") or value.get("title") or key), _text_of(value)
    return str(document.get("faultcode") or ""), _text_of(document)


def _text_of(document: Mapping[str, Json]) -> str:
    for key in _TEXT_KEYS:
        if isinstance(document.get(key), str):
            return str(document[key])[:MAX_MESSAGE_CHARACTERS]
    return ""


def _after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks for; a date instead is left to our own pace."""
    try:
        return max(0.0, float(_lower(headers).get("retry-after", "")))
    except ValueError:
        return None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
