"""Secret values taken out of what is told: errors quote what they do not like.

Called where errors become answers, reasons of resources and events.  Must not decide
which values are secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heat_convergence.template.expression import Expression

MASK = "******"
_SHORTEST = 4  # what is shorter stands in any text
_HEAD = 16  # quoted texts are cut somewhere; nothing is cut before that
_NAMING = frozenset({"get_resource", "get_attr", "Ref", "Fn::GetAtt"})  # resources, no values


def sensitive_texts(value: Any) -> Iterator[str]:
    """The texts and numbers of a value, as a message may have them; names of functions and
    of resources that it reads are none."""
    if isinstance(value, Expression):
        if value.function not in _NAMING:
            yield from sensitive_texts(value.arguments)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from sensitive_texts(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from sensitive_texts(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value)
        if len(text) >= _SHORTEST:
            yield text
            yield repr(text)[1:-1]  # as it is quoted


def redact(message: str, secrets: Iterable[str]) -> str:
    """The message with ``MASK`` in the place of each secret, or of its beginning."""
    for secret in sorted(set(secrets), key=len, reverse=True):
        at = message.find(secret[:_HEAD])
        while at >= 0:
            end = at + _common(message[at : at + len(secret)], secret)
            message = message[:at] + MASK + message[end:]
            at = message.find(secret[:_HEAD], at + len(MASK))
    return message


def _common(text: str, other: str) -> int:
    """How long they are alike."""
    for at, (one, two) in enumerate(zip(text, other, strict=False)):
        if one != two:
            return at
    return min(len(text), len(other))
