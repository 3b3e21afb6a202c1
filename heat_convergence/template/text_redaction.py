"""Redaction of secret values in messages, because errors quote the values they refuse.

Called where errors become API responses, status reasons and events.  Must not decide
which values are secret.

A text that is unusual is masked wherever it occurs.  A word occurs in any message by
chance: it is masked where it stands alone, and a word of this service's own messages only
where it is quoted.  ADR 10 has the rule and its reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from heat_convergence.template.expression import Expression

MASK = "******"
_MIN_LENGTH = 4  # Shorter texts occur in any message by chance.
_PREFIX_LENGTH = 16  # Messages may truncate quoted values, but never before this length.
# Letters or digits, perhaps joined by hyphens and underscores: a word, a name or a number.
_ORDINARY = re.compile(r"(?:[A-Za-z]+|[0-9]+)(?:[_-](?:[A-Za-z]+|[0-9]+))*", re.ASCII)
_MESSAGE_WORDS = frozenset(
    "attribute boolean create created data Data default delete Error error Errors errors"
    " failed false False float format function integer invalid Invalid list message name Name"
    " None null number object output outputs parameter parameters Property properties reason"
    " resource Resource resources server service Stack stack state status string template text"
    " true True type update Value value values valid Validation version YAQL yaql".split()
)
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
        return _mask_longest_first(value, secrets, _mask_everywhere)
    is_secret_number = isinstance(value, int | float) and str(value) in secrets
    return MASK if is_secret_number else value


def redact(message: str, secrets: Iterable[str]) -> str:
    """Return the message with each secret, or its beginning, replaced by ``MASK``.

    A list must be sorted already, from the longest secret to the shortest.
    """
    return _mask_longest_first(message, secrets, _mask_recognizable)


def _mask_longest_first(
    message: str, secrets: Iterable[str], mask: Callable[[str, str], str]
) -> str:
    if not isinstance(secrets, list):
        secrets = sorted(set(secrets), key=len, reverse=True)
    for secret in secrets:
        if secret[:_PREFIX_LENGTH] in message:
            message = mask(message, secret)
    return message


def _mask_recognizable(message: str, secret: str) -> str:
    """Mask an unusual text everywhere, a word only where it stands alone."""
    if len(secret) >= _PREFIX_LENGTH or not _ORDINARY.fullmatch(secret):
        return _mask_everywhere(message, secret)
    alone = rf"(?<![A-Za-z0-9_]){secret}(?![A-Za-z0-9_])"
    if secret in _MESSAGE_WORDS:
        alone = rf"(?<=['\"]){secret}(?=['\"])"
    return re.sub(alone, MASK, message)


def _mask_everywhere(message: str, secret: str) -> str:
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
