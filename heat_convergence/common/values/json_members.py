"""Reading of large JSON objects member by member, so that few of them are whole at a time.

Called by ``strict_json`` for texts with an object of very many members.  Must not say what is
wrong with a text: the reader of whole texts does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from heat_convergence.common.values.packed_map import JSON, pack_if_large

Json = Any
PackedPaths = Mapping[str, Any]
"""Key → key → … → ``PACKED``: the places of objects that are packed if they are large."""
PACKED: PackedPaths = {}

_SPACES = re.compile(r"[ \t\n\r]*")
_SEPARATOR = re.compile(r"[ \t\n\r]*([,}])[ \t\n\r]*")
_PLAIN_KEY = re.compile(r'"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')


def read_object(text: str, decoder: json.JSONDecoder, paths: PackedPaths) -> dict[str, Json]:
    """Return the object that the text is.

    Args:
        text: The text.
        decoder: Reads what is not at the paths.
        paths: The places of objects that may have very many members.

    Raises:
        ValueError: The text is no JSON object, or a value of it cannot be used.
    """
    reader = _Reader(text, decoder)
    found = dict(reader.members(paths))
    if reader.next_character():
        raise ValueError("there is more after the object")
    return found


class _Reader:
    """A place in a text, which is before a space only where a value has ended."""

    def __init__(self, text: str, decoder: json.JSONDecoder) -> None:
        self._text = text
        self._decoder = decoder
        self._at = 0
        self._go_to(0)

    def next_character(self) -> str:
        """Return the character at the place, an empty string at the end."""
        return self._text[self._at : self._at + 1]

    def members(self, paths: PackedPaths) -> Iterator[tuple[str, Json]]:
        """Yield the members of the object that begins here, and go behind it."""
        self._pass("{")
        if self.next_character() == "}":
            self._pass("}")
            return
        while True:
            key = self._key()
            yield key, self._value(paths.get(key))
            separator = _SEPARATOR.match(self._text, self._at)
            if separator is None:
                raise ValueError("a member is followed by neither a comma nor a brace")
            self._at = separator.end()
            if separator[1] == "}":
                break

    def _key(self) -> str:
        plain = _PLAIN_KEY.match(self._text, self._at)
        if plain is not None:  # nearly all of them
            self._at = plain.end()
            return plain[1]
        key = self._value(None)
        if type(key) is not str:
            raise ValueError("a key is no string")
        self._go_to(self._at)
        self._pass(":")
        return key

    def _value(self, paths: PackedPaths | None) -> Json:
        if paths is not None and self.next_character() == "{":
            members = self.members(paths)
            return dict(members) if paths else pack_if_large(members, JSON)
        value, self._at = self._decoder.raw_decode(self._text, self._at)
        return value

    def _pass(self, character: str) -> None:
        if self.next_character() != character:
            raise ValueError(f"{character} is missing")
        self._go_to(self._at + 1)

    def _go_to(self, place: int) -> None:
        """Go to a place, or behind the spaces there."""
        spaces = _SPACES.match(self._text, place)
        self._at = place if spaces is None else spaces.end()
