"""Stored values and texts that are missing or cannot be decoded (RULE 11).

They raise an error of this service, which names the remedy, when they are used, not when they are
read: a statement that reads many rows goes on with the others. Made by the column types and the
stores, told by the readers of rows where they are stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from heat_convergence.common.failures import RowsContradict


class ContentMap(dict[str, str]):
    """A mapping of content hash to text."""

    def __missing__(self, key: str) -> NoReturn:
        raise RowsContradict(f"The text {key} is not stored any more, or cannot be decrypted")


def parse_content(text: str) -> Any:
    """Return the value of a text that was stored as JSON; None of an empty one.

    Raises:
        RowsContradict: The text was changed or damaged.
    """
    try:
        return json.loads(text or "null")
    except (ValueError, RecursionError) as error:
        raise RowsContradict("A stored text is no valid JSON") from error


class StoredValueUnreadable(RowsContradict):
    """A stored value that cannot be decoded.

    It was changed by hand or damaged, encrypted with another key, or written by another release.
    """


class UnreadableValue:
    """A stored value that cannot be decoded.

    Attributes:
        cause: Why, without the value, which may be secret.
        stored: The value as it is stored, so that a row that is written again keeps it.
    """

    def __init__(self, cause: str, stored: Any) -> None:
        self.cause = cause
        self.stored = stored
        self._location = "value"

    def __repr__(self) -> str:
        return f"<unreadable {self._location}>"

    def locate(self, table: str, column: str, row_id: object) -> None:
        """Remember where the value is stored, for the error."""
        self._location = f"{column} of {table} {row_id}"

    @property
    def description(self) -> str:
        """The place of the value, and the cause."""
        return f"The stored {self._location} cannot be decoded ({self.cause})"

    def error(self) -> StoredValueUnreadable:
        """Return the error of everybody who needs the value."""
        return StoredValueUnreadable(self.description)

    def _raise_error(self, _other: object) -> NoReturn:
        raise self.error()

    __lt__ = __le__ = __gt__ = __ge__ = _raise_error  # a time that is compared
    __add__ = __radd__ = __sub__ = __rsub__ = _raise_error


class UnreadableMap(UnreadableValue, Mapping[str, Any]):
    """A stored map that cannot be decoded: a row with it is of use for all that is not in it."""

    def __getitem__(self, key: str) -> NoReturn:
        raise self.error()

    def __iter__(self) -> Iterator[str]:
        raise self.error()

    def __len__(self) -> int:
        raise self.error()

    def __contains__(self, key: object) -> bool:
        raise self.error()

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def readable_or_empty(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the map; an empty one if there is none or it cannot be decoded."""
    return {} if isinstance(value, UnreadableValue) else value or {}


def require_readable(*values: object) -> None:
    """Raise the error of the first of the values that cannot be decoded."""
    for value in values:
        if isinstance(value, UnreadableValue):
            raise value.error()


def is_readable(*values: object) -> bool:
    """Return whether all of the values can be decoded."""
    return not any(isinstance(value, UnreadableValue) for value in values)
