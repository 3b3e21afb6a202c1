"""Regular expressions of users, matched within a bounded time.

Called by the constraints and by YAQL.  Decides how long a match may take; the budget of the
evaluation bounds all matches together.  Must not be bypassed with ``re``, which a pattern
such as ``(a+)+$`` can keep busy for years.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from heat_convergence.template.evaluation_budget import (
    STEPS_PER_SECOND,
    charge_if_bounded,
    current_budget,
)

CompiledPattern = Any  # a ``regex.Pattern[str]``, whose module is not loaded here

_FIRST_TIMEOUTS_S = (0.0002, 0.005)
# The compiler has no time limit.  It takes about 30 microseconds for a character, and 2 for an
# item of counted repeats, which it writes out.
_MAX_PATTERN_CHARS = 4_096
_MAX_EXPANDED_SIZE = 20_000
_GROUP_SIZE = 20
_STEPS_PER_CHAR = 2
_MAX_CACHED_SIZE = 500  # an item takes 400 bytes
# An escape, a repeat count, the beginning of a group, or any other character; and the rest of a
# character set.  Whatever else a "(?" begins, such as verbose patterns, comments and recursion,
# would make the estimate of the size wrong, and is refused.
_TOKEN = re.compile(
    r"\\[pPNL][{<][^{}<>]*[}>]|\\.|\{(?P<times>\d+)(?:,\d*)?\}"
    r"|(?P<flags>\(\?[aimsu]+\)|\(\?P=\w+\))"
    r"|(?P<group>\((?:\?(?:[:=!>]|<[=!]|P?<\w+>|[aimsu]+:))?)(?P<unknown>\?)?"
    r"|.",
    re.DOTALL,
)
_SET = re.compile(r"\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
T = TypeVar("T")


class PatternError(Exception):
    """The pattern cannot be used."""


class PatternTimeout(Exception):
    """The match took longer than allowed."""


def compile_pattern(pattern: str, flags: int = 0) -> CompiledPattern:
    """Return the compiled pattern.

    Raises:
        PatternError: The pattern is malformed, too long, or uses what is not supported, or its
            nested repeats expand to too many items.
        RequestLimitExceeded: The evaluation or the request has no time left for it.
    """
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise PatternError(f"it has more than {_MAX_PATTERN_CHARS} characters")
    size = _expanded_size(pattern)
    if size > _MAX_EXPANDED_SIZE:
        raise PatternError("it repeats too much")
    charge_if_bounded(size + len(pattern) * _STEPS_PER_CHAR)
    if size > _MAX_CACHED_SIZE:
        return _compile(pattern, flags)
    return _compile_cached(pattern, flags)


@functools.lru_cache(maxsize=256)
def _compile_cached(pattern: str, flags: int) -> CompiledPattern:
    return _compile(pattern, flags)


def _compile(pattern: str, flags: int) -> CompiledPattern:
    library = load_library()
    try:
        # The library has a cache of its own, which would keep megabytes of large patterns.
        compiled = library.compile(pattern, flags, cache_pattern=False)
    except (library.error, RecursionError, OverflowError, ValueError) as error:
        raise PatternError(str(error) or "too complex") from error
    return compiled


@functools.cache
def load_library() -> Any:
    """Return the library, which takes 3 MB, when the first pattern of a process is compiled."""
    return import_module("regex")


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
        elif token["unknown"]:
            raise PatternError(f"what begins with (? at position {token.start()} is not supported")
        elif token["group"]:
            open_groups.append(0)
        elif token[0] == ")" and len(open_groups) > 1:
            last = open_groups.pop() + _GROUP_SIZE
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
    """Return the result of a compiled pattern's method.

    Starts with a short time-out: a template may hold ten thousand patterns.  What a try may
    take is charged to the evaluation before it starts.

    Raises:
        PatternTimeout: The match takes longer than one match may.
        RequestLimitExceeded: The evaluation has no time left for it.
    """
    budget = current_budget()
    for timeout_s in (*_FIRST_TIMEOUTS_S, budget.limits.regex_timeout_s):
        budget.charge(round(timeout_s * STEPS_PER_SECOND))
        try:
            return method(*args, timeout=timeout_s)
        except TimeoutError:
            continue
    raise PatternTimeout
