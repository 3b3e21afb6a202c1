"""Regular expressions of users, matched within a bounded time.

Called by the constraints and by YAQL.  Decides how long a match may take, and how
many of one evaluation's matches may take long; must not be bypassed with ``re``,
which a pattern such as ``(a+)+$`` can keep busy for years.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import regex

from heat_convergence.template.limits import DEFAULT, Limits

PatternError = regex.error
T = TypeVar("T")


class PatternTimeout(Exception):
    """The match took longer than it may."""


class _Patience:
    """What one evaluation may still spend on slow matches."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.slow_left = limits.regex_slow_matches


_PATIENCE: ContextVar[_Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patience(limits: Limits) -> Iterator[None]:
    """The bounds of all matches in the block together; a block within it has the
    outer one's."""
    if _PATIENCE.get() is not None:
        yield
        return
    token = _PATIENCE.set(_Patience(limits))
    try:
        yield
    finally:
        _PATIENCE.reset(token)


@functools.lru_cache(maxsize=512)
def compiled(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The compiled pattern; raises ``PatternError``."""
    try:
        return regex.compile(pattern, flags)
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error) or "too complex") from error


def matches_whole(pattern: str, value: str) -> bool:
    """Whether the pattern matches all of the value; raises ``PatternTimeout``."""
    return in_time(compiled(pattern).fullmatch, value) is not None


def in_time(use: Callable[..., T], *args: Any) -> T:
    """What the method of a compiled pattern gives; raises ``PatternTimeout``.

    Tried briefly first: a template may have ten thousand patterns, each of which
    takes a little less than is allowed to one.
    """
    spent = _PATIENCE.get() or _Patience(DEFAULT)
    try:
        return use(*args, timeout=spent.limits.regex_quick_s)
    except TimeoutError:
        spent.slow_left -= 1
    if spent.slow_left < 0:
        raise PatternTimeout
    try:
        return use(*args, timeout=spent.limits.regex_timeout_s)
    except TimeoutError as error:
        raise PatternTimeout from error
