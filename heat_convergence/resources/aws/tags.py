"""Lists of keys and values, the form in which AWS types have tags and scheduler hints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Json = Any
KEY, VALUE = "Key", "Value"


def tags_as_map(tags: Sequence[Mapping[str, Json]] | None) -> dict[str, Json]:
    """Return key → value; the last one of a key counts."""
    return {str(tag[KEY]): tag.get(VALUE) for tag in tags or ()}


def hints_as_map(hints: Sequence[Mapping[str, Json]] | None) -> dict[str, Json]:
    """Return key → value, or the list of values of a key that is repeated."""
    found: dict[str, list[Json]] = {}
    for hint in hints or ():
        found.setdefault(str(hint[KEY]), []).append(hint.get(VALUE))
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def tag(key: str, value: Json) -> dict[str, Json]:
    """Return one tag."""
    return {KEY: key, VALUE: value}
