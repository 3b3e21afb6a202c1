"""The comparison of an observed property with the one that was applied last.

Decides whether two values are equal by the rule that the catalog declares for the property.
Called by resource types. It must not read anything: both values are passed in.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Json = Any


class Comparison(StrEnum):
    """The way in which a property's observed value is compared; only if the template sets it."""

    EXACT = "exact"  # apart from the type: "1" equals 1, and no value equals an empty one
    NORMALIZED = "normalized"  # also apart from case, order, and the notation of addresses
    SUBSET = "subset"  # the service may show more entries, or more keys of an entry
    SET_BY_SERVICE = "set_by_service"  # others change it legitimately: never compared
    NOT_READABLE = "not_readable"  # the service does not show it: never compared


COMPARED = frozenset({Comparison.EXACT, Comparison.NORMALIZED, Comparison.SUBSET})
"""Comparisons that read the observed value."""


@dataclass(frozen=True, slots=True)
class PropertyComparison:
    """The comparison of one property, as the catalog declares it.

    Attributes:
        key: Path of the value in the service's body, dots between nested keys; None for the
            name of the argument that the property is sent as.
        item_key: Key of the value in each entry of a list that shows objects.
        is_restorable: Whether an update can restore the value after others have changed it.
    """

    comparison: Comparison
    key: str | None = None
    item_key: str | None = None
    is_restorable: bool = True


def is_equal(comparison: Comparison, applied: Json, observed: Json) -> bool:
    """Return whether an observed value equals the applied one.

    Args:
        comparison: One of ``COMPARED``.
        applied: The value that the service was called with.
        observed: The value that it shows.
    """
    if comparison is Comparison.EXACT:
        return bool(_plain(applied) == _plain(observed))
    expected, shown = _normalized(applied), _normalized(observed)
    return bool(
        _contains(shown, expected) if comparison is Comparison.SUBSET else expected == shown
    )


def _plain(value: Json) -> Json:
    """Return texts for numbers and booleans, and None for what is empty."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        items = {str(key): _plain(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item is not None} or None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value] or None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = "" if value is None else str(value)
    return text.lower() if text in ("True", "False") else text or None


def _normalized(value: Json) -> Json:
    """Return a plain value in lower case, lists sorted, addresses in their short form."""
    plain = _plain(value)
    if isinstance(plain, Mapping):
        return {key: _normalized(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return sorted((_normalized(item) for item in plain), key=repr)
    return None if plain is None else _short_address(str(plain).lower())


def _short_address(text: str) -> str:
    if "." not in text and ":" not in text:
        return text
    try:
        if "/" in text:
            return str(ipaddress.ip_network(text, strict=False))
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def _contains(shown: Json, expected: Json) -> bool:
    if isinstance(expected, Mapping):
        return isinstance(shown, Mapping) and all(
            _contains(shown.get(key), item) for key, item in expected.items()
        )
    if isinstance(expected, list):
        return _contains_entries(shown if isinstance(shown, list) else [], expected)
    return bool(shown == expected)


def _contains_entries(shown: list[Json], expected: list[Json]) -> bool:
    """Return whether each expected entry has an entry of its own in the shown list."""
    left = list(shown)
    for entry in expected:
        found = next((one for one in left if _contains(one, entry)), None)
        if found is None:
            return False
        left.remove(found)
    return True
