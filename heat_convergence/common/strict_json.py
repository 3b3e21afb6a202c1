"""Reading of JSON that users wrote, without what no other part of the service could use.

Called for request bodies, templates, environments and JSON texts in parameters, and to write JSON
quickly.  Decides which numbers and strings are refused.  Must not bound the size of a text: its
callers do.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import orjson

from heat_convergence.common.values.json_members import PackedPaths, read_object
from heat_convergence.common.values.packed_map import PackedMap

Json = Any
MAX_NUMBER_BITS = 1023  # beyond it, a number is no floating-point number
_MAX_DIGITS = 308
_DIGITS_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * (_MAX_DIGITS + 1)
_PIECE = 65536  # characters
_LARGE = 8 * _PIECE
_ESCAPES = re.compile(r"\\u(0000|[dD][89a-fA-F])")


def parse_json(text: str, packed: PackedPaths | None = None) -> Json:
    """Return the data of a JSON text.

    Args:
        text: The text.
        packed: The places of objects that are a ``PackedMap`` if they have very many members.

    Raises:
        ValueError: The text is not JSON, or a number is too large, or a string cannot be stored.
        RecursionError: The text is nested too deeply.
    """
    # Long digits are rare, and a call for each number is slow.
    decoder = json.JSONDecoder(
        parse_constant=_refuse_constant,
        parse_int=_parse_int if _has_long_number(text) else None,
        parse_float=_parse_float,
    )
    has_escapes = bool(_ESCAPES.search(text))
    if packed and len(text) > _LARGE and not has_escapes:
        with suppress(ValueError):  # reported by the reader of the whole
            return read_object(text, decoder, packed)
    data = decoder.decode(text)
    if has_escapes:
        # Two backslashes are one of the string; what is left before "u0000" is an escape.
        dumped = json.dumps(data, ensure_ascii=False).replace("\\\\", "")
        check_text(dumped.replace("\\u0000", "\0"))
    return data


def encode_json(document: Json) -> bytes:
    """Return the document as UTF-8 text without spaces.

    The quick library refuses integers of more than 64 bits, keys that are no texts, and documents
    that are nested deeply.
    """
    try:
        return orjson.dumps(document, _encode_packed)
    except orjson.JSONEncodeError:
        return _ENCODER.encode(document).encode()


def _encode_packed(value: Any) -> orjson.Fragment:
    """Return the text of a packed map, of which a part at a time becomes objects."""
    parts = _packed(value).json_parts()
    objects = (part if isinstance(part, bytes) else encode_json(part) for part in parts)
    return orjson.Fragment(b"{%s}" % b",".join(text[1:-1] for text in objects))


def _packed(value: Any) -> PackedMap[Json]:
    if not isinstance(value, PackedMap):
        raise TypeError(f"{type(value).__name__} is not of JSON")
    return value


_ENCODER = json.JSONEncoder(
    separators=(",", ":"), ensure_ascii=False, default=lambda value: dict(_packed(value))
)


def check_text(text: str) -> None:
    """Raise ``ValueError`` if a string cannot be stored by every database."""
    if "\0" in text:
        raise ValueError("a string holds the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("a string holds half of a surrogate pair") from error


def check_number(number: float) -> None:
    """Raise ``ValueError`` if a number is too large to be used as one."""
    if isinstance(number, int):
        if number.bit_length() > MAX_NUMBER_BITS:
            raise ValueError(f"a number has more than {MAX_NUMBER_BITS} bits")
    elif number - number != 0:  # infinite, or not a number
        raise ValueError("a number is larger than JSON numbers can be")


def _has_long_number(text: str) -> bool:
    """Return whether the text has so many digits in a row.

    A regular expression is slow, and copies of a large text leave holes in the memory of the
    process.
    """
    pieces = (text[at : at + _PIECE + _MAX_DIGITS] for at in range(0, len(text), _PIECE))
    return any(
        _LONG_NUMBER in piece.encode(errors="replace").translate(_DIGITS_AS_ZEROS)
        for piece in pieces
    )


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS + 1:
        raise ValueError(f"a number has more than {_MAX_DIGITS} digits")
    return int(text)


def _parse_float(text: str) -> float:
    number = float(text)
    check_number(number)
    return number


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")
