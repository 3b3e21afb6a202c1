"""Parsers of query strings and small values.

Used by every request parser.  Raises ``HTTPBadRequest``, or a subclass that clients know
under the name of a plain Python error; each message names the place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from webob.multidict import MultiDict

from heat_convergence.common import errors
from heat_convergence.common.errors import InvalidRequestType, InvalidRequestValue

MAX_TAG_LENGTH = 80
_LARGEST = 2**31 - 1


def parse_boolean(
    name: str, value: Any, error: type[errors.HTTPBadRequest] = InvalidRequestValue
) -> bool:
    """Return ``true`` or ``false`` in any case, or a JSON boolean, as a boolean."""
    text = str(value).lower()
    if text not in ("true", "false"):
        raise error(
            f'Unrecognized value "{value}" for "{name}", acceptable values are: true, false.'
        )
    return text == "true"


def parse_non_negative_int(name: str, value: Any) -> int:
    """Return an integer between zero and the largest that the database can store."""
    try:
        number = int(str(value))
    except ValueError as error:
        raise errors.HTTPBadRequest(
            f"Only integer is acceptable by '{name}'. It is \"{value}\"."
        ) from error
    if number < 0:
        raise errors.HTTPBadRequest(
            f"Value '{number}' is invalid for '{name}' which only accepts non-negative integer."
        )
    if number > _LARGEST:
        raise errors.HTTPBadRequest(f'"{name}" must be at most {_LARGEST}, but is {number}.')
    return number


def parse_tags(value: Any) -> tuple[str, ...]:
    """Return the tags of a comma-separated string; a tag between two commas is empty."""
    if value is None or value == "":
        return ()
    if not isinstance(value, str):
        raise InvalidRequestType('"tags" must be a string with commas between the tags.')
    tags = tuple(tag.strip() for tag in value.split(","))
    for tag in tags:
        if len(tag) > MAX_TAG_LENGTH:
            raise errors.HTTPBadRequest(
                f'Invalid tag "{tag}": a tag has at most {MAX_TAG_LENGTH} characters.'
            )
    return tags


class QueryParams:
    """The query string; empty values count as absent."""

    def __init__(self, query: MultiDict[str, str]) -> None:
        self._items = [(name, value) for name, value in query.items() if value != ""]

    @property
    def names(self) -> frozenset[str]:
        """The names that have a value."""
        return frozenset(name for name, _value in self._items)

    def values(self, name: str) -> tuple[str, ...]:
        """Return all values of a name, in their order."""
        return tuple(value for key, value in self._items if key == name)

    def last(self, name: str) -> str | None:
        """Return the last value of a name, None without any."""
        values = self.values(name)
        return values[-1] if values else None

    def boolean(self, name: str, *, default: bool = False) -> bool:
        """Return a value as a boolean.

        Raises:
            HTTPBadRequest: It is none.
        """
        value = self.last(name)
        return default if value is None else parse_boolean(name, value, errors.HTTPBadRequest)

    def non_negative_int(self, name: str) -> int | None:
        """Return a value as a number, None if absent."""
        value = self.last(name)
        return None if value is None else parse_non_negative_int(name, value)

    def tags(self, name: str) -> tuple[str, ...]:
        """Return the parts of a comma-separated value."""
        value = self.last(name)
        return () if value is None else tuple(tag.strip() for tag in value.split(","))

    def sort_descending(self) -> bool | None:
        """Return whether ``sort_dir`` is ``desc``, None if absent."""
        value = self.last("sort_dir")
        if value is None:
            return None
        if value not in ("asc", "desc"):
            raise InvalidRequestValue(f'"sort_dir" must be "asc" or "desc", not "{value}".')
        return value == "desc"

    def sort_keys(self) -> tuple[str, ...]:
        """Return ``sort_keys``, or ``sort_key`` as older clients send it."""
        return self.values("sort_keys") or self.values("sort_key")

    def reject_unknown(self, known: Collection[str]) -> None:
        """Raise ``HTTPBadRequest`` for a name that is not known."""
        unknown = sorted(self.names - set(known))
        if unknown:
            raise errors.HTTPBadRequest(f"Invalid filter parameters {unknown}")


def collect_filters(query: QueryParams, names: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the values of each filter; ``names`` maps query names to filter names."""
    found: dict[str, tuple[str, ...]] = {}
    for name, column in names.items():
        values = query.values(name)
        if values:
            found[column] = (*found.get(column, ()), *values)
    return found
