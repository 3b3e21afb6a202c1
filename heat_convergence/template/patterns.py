"""Regular expressions of users, matched within a bounded time.

Called by the constraints and by YAQL.  Decides how long a match may take; must
not be bypassed with ``re``, which a pattern such as ``(a+)+$`` can keep busy
for years.
"""

from __future__ import annotations

import functools

import regex

TIMEOUT_S = 0.5
PatternError = regex.error


class PatternTimeout(Exception):
    """The match took longer than it may."""


@functools.lru_cache(maxsize=512)
def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The compiled pattern; raises ``PatternError``."""
    try:
        return regex.compile(pattern, flags)
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error) or "too complex") from error


def matches_whole(pattern: str, value: str, *, timeout_s: float = TIMEOUT_S) -> bool:
    """Whether the pattern matches all of the value; raises ``PatternTimeout``."""
    try:
        return compiled(pattern).fullmatch(value, timeout=timeout_s) is not None
    except TimeoutError as error:
        raise PatternTimeout from error
