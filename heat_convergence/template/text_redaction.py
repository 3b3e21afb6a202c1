"""Redaction of secret values in messages, because errors quote the values they refuse.

Called where errors become API responses, status reasons and events.  Must not decide
which values are secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heat_convergence.template.expression import Expression

MASK = "******"
_MIN_LENGTH = 4  # Shorter texts occur in any message by chance.
_PREFIX_LENGTH = 16  # Messages may truncate quoted values, but never before this length.
# Their arguments are names of resources, not values.
_REFERENCE_FUNCTIONS = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})


def sensitive_texts(value: Any) -> Iterator[str]:
    """Yield the texts and numbers of a value in the forms that a message may quote.

    Names of functions and of the resources that the value reads are left out.
    """
    if isinstance(value, Expression):
        if value.function not in _REFERENCE_FUNCTIONS:
            yield from sensitive_texts(value.arguments)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from sensitive_texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from sensitive_texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= _MIN_LENGTH:
            yield text
            yield repr(text)[1:-1]  # the form in which messages quote it


def redact(message: str, secrets: Iterable[str]) -> str:
    """Return the message with each secret, or its beginning, replaced by ``MASK``."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        position = message.find(secret[:_PREFIX_LENGTH])
        while position >= 0:
            end = position + _common_length(message[position : position + len(secret)], secret)
            message = message[:position] + MASK + message[end:]
            position = message.find(secret[:_PREFIX_LENGTH], position + len(MASK))
    return message


def _common_length(text: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    for position, (one, two) in enumerate(zip(text, other, strict=False)):
        if one != two:
            return position
    return min(len(text), len(other))
