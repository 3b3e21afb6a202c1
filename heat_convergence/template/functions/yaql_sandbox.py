"""YAQL's standard library without the functions that can consume without bound.

Called by ``yaql`` alone.  Counts function calls, and replaces the functions whose cost
the library's own quotas notice too late: powers, shifts, repeated lists, string
replacement and regular expressions.  Adds ``format``, which the library no longer has
(CVE-2024-29156), for positional fields only.
"""

# The library's decorators are untyped.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaql as yaql_library
from yaql.language import contexts, specs, utils, yaqltypes
from yaql.language.conventions import CamelCaseConvention
from yaql.standard_library import regex as std_regex

from heat_convergence.template import bounded_regex
from heat_convergence.template.functions.yaql_merge import merge_with

_MAX_BITS = 65_536
# Escaped braces, a field, a single brace, or text without braces.
_FORMAT_PARTS = re.compile(r"{{|}}|{[^{}]*}|[{}]|[^{}]+")
_FIELD = re.compile(r"{[0-9]{1,4}}", re.ASCII)
_ESCAPED_BRACES = {"{{": "{", "}}": "}"}


class YaqlLimitExceeded(Exception):
    """The expression consumes more than allowed."""


class _Counting(contexts.Context):  # type: ignore[misc]
    """The context of one evaluation, which counts every call of a function."""

    def __init__(self, parent: Any = None, steps: int = 0) -> None:
        super().__init__(parent)
        self.yaql_steps_left = steps

    def create_child_context(self) -> Any:
        """Return a context whose calls are counted here, too."""
        return contexts.Context(self)

    def get_functions(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Count a call and return the functions of that name."""
        self.yaql_steps_left -= _STEPS.get(name, 1)
        if self.yaql_steps_left < 0:
            raise YaqlLimitExceeded("the expression takes too many steps")
        return super().get_functions(name, *args, **kwargs)


def limited_context(max_steps: int) -> Any:
    """Return a new context with a number of steps to spend."""
    return _Counting(_standard(), max_steps)


@functools.cache
def _standard() -> Any:
    base = yaql_library.create_context(
        convention=CamelCaseConvention(), regex=False, yaqlized=False
    )
    child = base.create_child_context()
    for function in (
        _pow,
        _shift_left,
        _list_by_int,
        _int_by_list,
        _replace,
        _replace_each,
        _format,
        merge_with,
    ):
        child.register_function(function)
    for function in (
        _regex,
        _is_regex,
        _matches,
        _matches_by_method,
        _matches_not,
        std_regex.escape_regex,
    ):
        child.register_function(function)
    for function in _PATTERN_FUNCTIONS:
        child.register_function(_bounded(function, child.convention))
    return child


class BoundedPattern:
    """A compiled pattern with a time limit on every use."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._pattern = bounded_regex.compile_pattern(text, flags)

    def search(self, string: str) -> Any:
        """Return the first match, or None."""
        return self._in_time(self._pattern.search, string)

    def finditer(self, string: str) -> Iterator[Any]:
        """Return an iterator over all matches."""
        return iter(self._in_time(lambda *a, **k: list(self._pattern.finditer(*a, **k)), string))

    def split(self, string: str, maxsplit: int = 0) -> Any:
        """Split the string at every match."""
        return self._in_time(self._pattern.split, string, maxsplit)

    def sub(self, replacement: Any, string: str, count: int = 0) -> Any:
        """Replace the matches; raises ``YaqlLimitExceeded`` if the result would be too long."""
        if isinstance(replacement, str):
            _check_growth(len(string) + 1, len(replacement))
        return self._in_time(self._pattern.sub, replacement, string, count)

    @staticmethod
    def _in_time(method: Callable[..., Any], *args: Any) -> Any:
        try:
            return bounded_regex.run_with_timeout(method, *args)
        except bounded_regex.PatternTimeout as error:
            raise YaqlLimitExceeded("matching a regular expression takes too long") from error


# Functions whose calls take long or use much memory, most of all regular expressions.
_STEPS = {
    **dict.fromkeys("matches #operator_=~ #operator_!~ search searchAll replaceBy".split(), 200),
    **dict.fromkeys("replace split format #operator_*".split(), 50),
    # Each may build a text of maximum length, and all results are kept until the end.
    **dict.fromkeys("toUpper toLower substring trim trimLeft trimRight norm".split(), 25),
    **dict.fromkeys("join str concat".split(), 25),
    "#operator_+": 10,
}
_PATTERN_FUNCTIONS = (
    std_regex.matches,
    std_regex.matches_operator_regex,
    std_regex.not_matches_operator_regex,
    std_regex.search,
    std_regex.search_all,
    std_regex.split,
    std_regex.split_string,
    std_regex.replace,
    std_regex.replace_string,
    std_regex.replace_by,
    std_regex.replace_by_string,
)


def _bounded(function: Callable[..., Any], convention: Any) -> Any:
    """Return the library's function with bounded patterns as parameters."""
    definition = specs.get_function_definition(function, convention=convention).clone()
    for name, parameter in definition.parameters.items():
        if getattr(parameter.value_type, "python_type", None) is std_regex.REGEX_TYPE:
            definition.parameters[name] = _with_bounded_pattern(parameter)
    return definition


def _with_bounded_pattern(parameter: Any) -> Any:
    """Return the parameter with its type changed to a bounded pattern."""
    changed = parameter.clone()
    changed.value_type = yaqltypes.PythonType(BoundedPattern, False)
    return changed


def _check_growth(pieces: int, length: int) -> None:
    if pieces * length > 1_000_000:
        raise YaqlLimitExceeded("a text or list grows too long")


@specs.parameter("a", yaqltypes.Number())
@specs.parameter("b", yaqltypes.Number())
@specs.parameter("c", yaqltypes.Number(nullable=True))
@specs.name("pow")
def _pow(a: Any, b: Any, c: Any = None) -> Any:
    if isinstance(a, int) and isinstance(b, int) and abs(b) * a.bit_length() > _MAX_BITS:
        raise YaqlLimitExceeded("a power is too large")
    return pow(a, b, c)


@specs.parameter("value", int)
@specs.parameter("bits_number", int)
@specs.name("shiftBitsLeft")
def _shift_left(value: int, bits_number: int) -> int:
    if value.bit_length() + bits_number > _MAX_BITS:
        raise YaqlLimitExceeded("a shifted number is too large")
    return value << bits_number


@specs.parameter("left", yaqltypes.Sequence())
@specs.parameter("right", int)
@specs.name("#operator_*")
def _list_by_int(left: Any, right: int) -> Any:
    _check_growth(right, len(left))
    return left * right


@specs.parameter("left", int)
@specs.parameter("right", yaqltypes.Sequence())
@specs.name("#operator_*")
def _int_by_list(left: int, right: Any) -> Any:
    return _list_by_int(right, left)


@specs.parameter("string", yaqltypes.String())
@specs.parameter("old", yaqltypes.String())
@specs.parameter("new", yaqltypes.String())
@specs.parameter("count", int)
@specs.name("replace")
@specs.method
def _replace(string: str, old: str, new: str, count: int = -1) -> str:
    _check_growth(string.count(old), len(new))
    return string.replace(old, new, count)


@specs.parameter("string", yaqltypes.String())
@specs.parameter("replacements", utils.MappingType)
@specs.parameter("count", int)
@specs.inject("str_func", yaqltypes.Delegate("str"))
@specs.name("replace")
@specs.method
def _replace_each(
    string: str, str_func: Any, replacements: Mapping[Any, Any], count: int = -1
) -> str:
    for old, new in replacements.items():
        string = _replace(string, str_func(old), str_func(new), count)
    return string


@specs.parameter("template", yaqltypes.String())
@specs.name("format")
@specs.extension_method
def _format(template: str, *args: Any) -> str:
    """Return the text with ``{0}``, ``{1}`` … replaced by the arguments, as Python writes them.

    A field has a number and nothing else: an attribute, an index, a conversion or a width is
    refused, because Python's fields reach every attribute of an object.
    """
    length = 0
    parts = []
    for part in _FORMAT_PARTS.findall(template):
        text = _ESCAPED_BRACES.get(part) or (_field(part, args) if part[0] in "{}" else part)
        length += len(text)
        _check_growth(1, length)
        parts.append(text)
    return "".join(parts)


def _field(part: str, args: tuple[Any, ...]) -> str:
    if not _FIELD.fullmatch(part):
        raise ValueError(f"format() takes {{0}}, {{1}} and so on, not {part[:40]!r}")
    number = int(part[1:-1])
    if number >= len(args):
        raise ValueError(f"format() has no argument for {part}")
    value = args[number]
    if value is not None and not isinstance(value, str | int | float):
        raise ValueError(f"format() takes texts and numbers, not a {type(value).__name__}")
    return str(value)


@specs.parameter("pattern", yaqltypes.String())
@specs.name("regex")
def _regex(
    pattern: str, ignore_case: bool = False, multi_line: bool = False, dot_all: bool = False
) -> BoundedPattern:
    flags = (
        (re.IGNORECASE if ignore_case else 0)
        | (re.MULTILINE if multi_line else 0)
        | (re.DOTALL if dot_all else 0)
    )
    return BoundedPattern(pattern, int(flags))


@specs.name("isRegex")
def _is_regex(value: Any) -> bool:
    return isinstance(value, BoundedPattern)


@specs.parameter("string", yaqltypes.String())
@specs.parameter("pattern", yaqltypes.String())
@specs.name("#operator_=~")
def _matches(string: str, pattern: str) -> bool:
    return BoundedPattern(pattern).search(string) is not None


@specs.parameter("string", yaqltypes.String())
@specs.parameter("regexp", yaqltypes.String())
@specs.name("matches")
@specs.method
def _matches_by_method(string: str, regexp: str) -> bool:
    return BoundedPattern(regexp).search(string) is not None


@specs.parameter("string", yaqltypes.String())
@specs.parameter("pattern", yaqltypes.String())
@specs.name("#operator_!~")
def _matches_not(string: str, pattern: str) -> bool:
    return BoundedPattern(pattern).search(string) is None
