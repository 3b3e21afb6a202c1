"""Regular expressions of users, matched within a bounded time.

Called by the constraints and by YAQL.  Decides how long a match may take, and how
many of one evaluation's matches may take long; must not be bypassed with ``re``,
which a pattern such as ``(a+)+$`` can keep busy for years.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import regex

from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits

PatternError = regex.error
_MOST_WRITTEN_OUT = 1_000_000
# An escape, at least so many times, or any other character; and the rest of a set.
_TOKEN = re.compile(r"\\.|\{(?P<times>\d+)(?:,\d*)?\}|.", re.DOTALL)
_SET = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
T = TypeVar("T")


class PatternTimeout(Exception):
    """The match took longer than it may."""


class _Patience:
    """What one evaluation may still spend on slow matches."""

    def __init__(self, limits: TemplateLimits) -> None:
        self.limits = limits
        self.slow_left = limits.regex_max_slow_matches


_PATIENCE: ContextVar[_Patience | None] = ContextVar("patience", default=None)


@contextmanager
def regex_budget(limits: TemplateLimits) -> Iterator[None]:
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
def compile_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """The compiled pattern; raises ``PatternError``, also for repeats within repeats that
    come to more than a million: the compiler writes them out, and knows no clock."""
    try:
        if _written_out(pattern) > _MOST_WRITTEN_OUT:
            raise PatternError("it repeats too much")
        return regex.compile(pattern, flags)
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error) or "too complex") from error


def _written_out(pattern: str) -> int:
    """About how long the pattern is with what it repeats so many times written out."""
    open_groups, last, at = [0], 0, 0
    may_be_set = True  # not again once one is without an end
    while at < len(pattern) and max(open_groups[-1], last) <= _MOST_WRITTEN_OUT:
        token = _TOKEN.match(pattern, at)
        assert token is not None  # the last alternative takes anything
        at = token.end()
        if token["times"] is not None:
            times = max(1, int(token["times"]))
            open_groups[-1] += last * (times - 1)
            last *= times
        elif token[0] == "(":
            open_groups.append(0)
        elif token[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop()
            open_groups[-1] += last
        else:
            if token[0] == "[" and may_be_set:
                rest = _SET.match(pattern, at)
                at, may_be_set = (rest.end(), True) if rest else (at, False)
            last = 1
            open_groups[-1] += last
    return sum(open_groups)


def full_match(pattern: str, value: str) -> bool:
    """Whether the pattern matches all of the value; raises ``PatternTimeout``."""
    return run_with_timeout(compile_pattern(pattern).fullmatch, value) is not None


def run_with_timeout(use: Callable[..., T], *args: Any) -> T:
    """What the method of a compiled pattern gives; raises ``PatternTimeout``.

    Tried briefly first: a template may have ten thousand patterns, each of which
    takes a little less than is allowed to one.
    """
    spent = _PATIENCE.get() or _Patience(DEFAULT_LIMITS)
    try:
        return use(*args, timeout=spent.limits.regex_first_timeout_s)
    except TimeoutError:
        spent.slow_left -= 1
    if spent.slow_left < 0:
        raise PatternTimeout
    try:
        return use(*args, timeout=spent.limits.regex_timeout_s)
    except TimeoutError as error:
        raise PatternTimeout from error
