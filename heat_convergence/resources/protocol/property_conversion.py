"""Conversion of one scalar, list or map to the type that a property declares.

Decides how a written value converts and which values do not. Called by ``properties``, and by
types that convert values themselves. It must not know schemas, constraints or paths: its input is
plain, known values.

Source: docs/reference/validation.rst, table "Properties".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Json = Any


class ConversionError(ValueError):
    """The value cannot be converted to the declared type; the text names both."""


def to_string(value: Json) -> str:
    """Convert to text; only text, integers and booleans convert."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    raise ConversionError(f"Value must be a string; got {_short(repr(value))}")


def to_integer(value: Json) -> int:
    """Convert integers, booleans and text of an integer; a float loses its fraction."""
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            pass
    raise ConversionError(f"Value '{_short(value)}' is not an integer")


def to_number(value: Json) -> int | float:
    """Convert to a number; integers stay integers, text becomes whichever it spells."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str):
        parsed = _number_in(value)
        if parsed is not None:
            return parsed
    raise ConversionError(f"could not convert string to float: {_short(repr(value))}")


def to_boolean(value: Json) -> bool:
    """Convert booleans and the words true and false in any case; numbers do not convert."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.lower()
        if word in ("true", "false"):
            return word == "true"
    raise ConversionError(f'"{_short(value)}" is not a valid boolean')


def to_list(value: Json) -> list[Json]:
    """Convert a list or tuple to a list."""
    if isinstance(value, list | tuple):
        return list(value)
    raise ConversionError(f'"{_short(repr(value))}" is not a list')


def to_map(value: Json) -> dict[str, Json]:
    """Convert a map to a dict with text keys."""
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    raise ConversionError(f'"{_short(value)}" is not a map')


def pass_through(value: Json) -> Json:
    """Return the value unchanged."""
    return value


CONVERTERS: Mapping[str, Callable[[Json], Json]] = {
    "string": to_string,
    "integer": to_integer,
    "number": to_number,
    "boolean": to_boolean,
    "list": to_list,
    "map": to_map,
    "any": pass_through,
}


def _number_in(text: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _short(value: Json, limit: int = 80) -> str:
    text = str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"
