"""Redaction of secret values in messages, because errors quote the values they refuse.

Called where errors become API responses, status reasons and events.  Must not decide
which values are secret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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


def mask_values(value: Any) -> Any:
    """Return a value with every text and number masked.

    Once the value of a hidden parameter is part of a value, it cannot be told from the rest.
    Kept are the structure, booleans, null, and references to resources.
    """
    if isinstance(value, Expression):
        if value.function in _REFERENCE_FUNCTIONS:
            return value
        return Expression(value.function, value.variant, mask_values(value.arguments))
    if isinstance(value, Mapping):
        return {key: mask_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_values(item) for item in value]
    return value if value is None or isinstance(value, bool) else MASK


def redact_values(value: Any, secrets: Collection[str]) -> Any:
    """Return plain JSON without the secrets in its texts and numbers."""
    if isinstance(value, Mapping):
        return {key: redact_values(item, secrets) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_values(item, secrets) for item in value]
    if isinstance(value, str):
        return redact(value, secrets)
    is_secret_number = isinstance(value, int | float) and str(value) in secrets
    return MASK if is_secret_number else value


def redact(message: str, secrets: Iterable[str]) -> str:
    """Return the message with each secret, or its beginning, replaced by ``MASK``.

    A list must be sorted already, from the longest secret to the shortest.
    """
    if not isinstance(secrets, list):
        secrets = sorted(set(secrets), key=len, reverse=True)
    for secret in secrets:
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
