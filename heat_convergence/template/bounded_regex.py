"""Regular expressions of users, matched within a bounded time.

Called by the constraints and by YAQL.  Decides how long a match may take, and how many
matches of one evaluation may be slow.  Must not be bypassed with ``re``, which a pattern
such as ``(a+)+$`` can keep busy for years.
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
_MAX_EXPANDED_SIZE = 1_000_000
# An escape, a repeat count, or any other character; and the rest of a character set.
_TOKEN = re.compile(r"\\.|\{(?P<times>\d+)(?:,\d*)?\}|.", re.DOTALL)
_SET = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
T = TypeVar("T")


class PatternTimeout(Exception):
    """The match took longer than allowed."""


class _RegexBudget:
    """The slow matches that one evaluation may still make."""

    def __init__(self, limits: TemplateLimits) -> None:
        self.limits = limits
        self.slow_left = limits.regex_max_slow_matches


_BUDGET: ContextVar[_RegexBudget | None] = ContextVar("regex_budget", default=None)


@contextmanager
def regex_budget(limits: TemplateLimits) -> Iterator[None]:
    """Share one budget among all matches in the block; a nested block uses the outer one's."""
    if _BUDGET.get() is not None:
        yield
        return
    token = _BUDGET.set(_RegexBudget(limits))
    try:
        yield
    finally:
        _BUDGET.reset(token)


@functools.lru_cache(maxsize=512)
def compile_pattern(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Return the compiled pattern.

    Raises:
        PatternError: The pattern is malformed, or its nested repeats expand to more than a
            million items: the compiler writes them out and has no time limit.
    """
    try:
        if _expanded_size(pattern) > _MAX_EXPANDED_SIZE:
            raise PatternError("it repeats too much")
        return regex.compile(pattern, flags)
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error) or "too complex") from error


def _expanded_size(pattern: str) -> int:
    """Estimate the length of the pattern with its counted repeats written out."""
    open_groups, last, position = [0], 0, 0
    may_be_set = True  # False once a set has no closing bracket: then none has
    while position < len(pattern) and max(open_groups[-1], last) <= _MAX_EXPANDED_SIZE:
        token = _TOKEN.match(pattern, position)
        assert token is not None  # The last alternative matches any character.
        position = token.end()
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
                rest = _SET.match(pattern, position)
                position, may_be_set = (rest.end(), True) if rest else (position, False)
            last = 1
            open_groups[-1] += last
    return sum(open_groups)


def full_match(pattern: str, value: str) -> bool:
    """Return whether the pattern matches the whole value; raises ``PatternTimeout``."""
    return run_with_timeout(compile_pattern(pattern).fullmatch, value) is not None


def run_with_timeout(method: Callable[..., T], *args: Any) -> T:
    """Return the result of a compiled pattern's method; raises ``PatternTimeout``.

    Starts with a short time-out: a template may hold ten thousand patterns, each of which
    takes a little less than the time allowed to one.
    """
    budget = _BUDGET.get() or _RegexBudget(DEFAULT_LIMITS)
    try:
        return method(*args, timeout=budget.limits.regex_first_timeout_s)
    except TimeoutError:
        budget.slow_left -= 1
    if budget.slow_left < 0:
        raise PatternTimeout
    try:
        return method(*args, timeout=budget.limits.regex_timeout_s)
    except TimeoutError as error:
        raise PatternTimeout from error
