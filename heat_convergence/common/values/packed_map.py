"""Maps of many values that are kept as bytes and become objects when they are read.

Called for what a large template says of each resource: 100,000 small maps take a multiple of the
text that they come from.  Decides from how many values on a map is packed.  Must not leave the
process: where the bytes are pickles, nothing but the map that they belong to may read them.
"""

from __future__ import annotations

import pickle  # nosec B403  # only bytes of this process are read
import zlib
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from dataclasses import fields
from io import BytesIO
from itertools import islice
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

import orjson

Value = TypeVar("Value")

PACKED_FROM = 5_000
"""The number of values from which on a map is packed; for fewer it is not worth the time."""

_PART_SIZE = 64  # A value that is read at random unpacks as many.
_OPEN_PARTS = 16
_LONG_TEXT = 500  # characters
_FASTEST = 1


class Codec(Protocol):
    """The form in which the values of a part are kept."""

    def encode(self, part: dict[str, Any]) -> bytes:
        """Return the bytes of a part."""

    def decode(self, text: bytes) -> dict[str, Any]:
        """Return the part of the bytes."""


class Pickles:
    """The form of any objects of one map. Long texts are kept once for all of its parts."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def encode(self, part: dict[str, Any]) -> bytes:
        """Return the pickle of a part, with numbers in the place of long texts."""
        file = BytesIO()
        pickler = pickle.Pickler(file, pickle.HIGHEST_PROTOCOL)
        pickler.persistent_id = self._number  # type: ignore[method-assign]
        pickler.dump(part)
        return file.getvalue()

    def decode(self, text: bytes) -> dict[str, Any]:
        """Return the part of a pickle that this object has written."""
        unpickler = pickle.Unpickler(BytesIO(text))  # nosec B301  # noqa: S301
        unpickler.persistent_load = self._texts.__getitem__  # type: ignore[method-assign]
        part: dict[str, Any] = unpickler.load()
        return part

    def _number(self, value: Any) -> int | None:
        if type(value) is not str or len(value) < _LONG_TEXT:
            return None
        number = self._numbers.setdefault(value, len(self._texts))
        if number == len(self._texts):
            self._texts.append(value)
        return number


class JsonTexts:
    """The form of plain JSON, which is quick, and has texts for ``PackedMap.json_parts``."""

    def encode(self, part: dict[str, Any]) -> bytes:
        """Return the text of a part, or its pickle where JSON would not keep it."""
        try:
            return orjson.dumps(part)
        except orjson.JSONEncodeError:  # integers of more than 64 bits, for one
            return pickle.dumps(part)

    def decode(self, text: bytes) -> dict[str, Any]:
        """Return the part of what this class has written."""
        read = orjson.loads if _is_json(text) else pickle.loads
        part: dict[str, Any] = read(text)
        return part


def _is_json(text: bytes) -> bool:
    """Return whether the bytes of a part are JSON: no pickle begins like an object."""
    return text.startswith(b"{")


JSON = JsonTexts()


def pack_if_large(
    items: Iterable[tuple[str, Value]], codec: Codec | None = None
) -> Mapping[str, Value]:
    """Return a map of the items, a ``PackedMap`` if they are many."""
    packer = MapPacker[Value](codec)
    for key, value in items:
        packer[key] = value
    return packer.finish()


class MapPacker(Generic[Value]):
    """A map that is being filled, and packed as soon as it is large."""

    __slots__ = ("_codec", "_parts", "_places", "_unpacked")

    def __init__(self, codec: Codec | None = None) -> None:
        """Pack in the form of the codec, by default ``Pickles``."""
        self._codec = codec or Pickles()
        self._unpacked: dict[str, Value] = {}
        self._parts: list[bytes] = []
        self._places: dict[str, int] = {}

    def __setitem__(self, key: str, value: Value) -> None:
        """Add a value; of those with the same key the last one counts."""
        self._unpacked[key] = value
        if len(self._unpacked) >= (_PART_SIZE if self._parts else PACKED_FROM):
            self._pack()

    def finish(self) -> Mapping[str, Value]:
        """Return the map, which must not be filled any further."""
        if not self._parts:
            return self._unpacked
        self._pack()
        return PackedMap(self._parts, self._places, self._codec)

    def _pack(self) -> None:
        left = iter(self._unpacked.items())
        while part := dict(islice(left, _PART_SIZE)):
            self._places.update(dict.fromkeys(part, len(self._parts)))
            self._parts.append(zlib.compress(self._codec.encode(part), _FASTEST))
        self._unpacked = {}


class PackedMap(Mapping[str, Value]):
    """An immutable map, in the order in which its keys were first given.

    A value that is read is a copy, so that a change of it is lost.
    """

    __slots__ = ("_codec", "_open", "_parts", "_places")

    def __init__(self, parts: list[bytes], places: dict[str, int], codec: Codec) -> None:
        """Use what ``MapPacker`` has packed: parts, and the number of the part of each key."""
        self._codec = codec
        self._parts = parts
        self._places = places
        self._open: dict[int, dict[str, Value]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Value:
        return self._part(self._places[key])[key]

    def keys(self) -> KeysView[str]:
        """Return the keys."""
        return self._places.keys()

    def items(self) -> ItemsView[str, Value]:
        """Return the items; going through them keeps no more than one part unpacked."""
        return _PackedItems(self)

    def values(self) -> ValuesView[Value]:
        """Return the values; going through them keeps no more than one part unpacked."""
        return _PackedValues(self)

    def iterate(self) -> Iterator[tuple[str, Value]]:
        """Yield the items."""
        opened, part = -1, dict[str, Value]()
        for key, place in self._places.items():
            if place != opened:
                opened, part = place, self._unpacked(place)
            yield key, part[key]

    def json_parts(self) -> Iterator[bytes | dict[str, Value]]:
        """Yield some members at a time: the text of a JSON object, or the members themselves.

        A key can be in several parts, as it can be several times in a JSON object.
        """
        for place, packed in enumerate(self._parts):
            text = zlib.decompress(packed)
            yield text if _is_json(text) else self._unpacked(place)

    def value_parts(self) -> Iterator[list[Value]]:
        """Yield some values at a time, also those that another one of the key replaces."""
        for place in range(len(self._parts)):
            yield [*self._unpacked(place).values()]

    def _part(self, place: int) -> dict[str, Value]:
        part = self._open.get(place)
        if part is None:
            if len(self._open) >= _OPEN_PARTS:
                self._open.pop(next(iter(self._open)), None)
            part = self._open[place] = self._unpacked(place)
        return part

    def _unpacked(self, place: int) -> dict[str, Value]:
        return self._codec.decode(zlib.decompress(self._parts[place]))


class _PackedItems(ItemsView[str, Value]):
    _mapping: PackedMap[Value]

    def __iter__(self) -> Iterator[tuple[str, Value]]:
        return self._mapping.iterate()


class _PackedValues(ValuesView[Value]):
    _mapping: PackedMap[Value]

    def __iter__(self) -> Iterator[Value]:
        return (value for _key, value in self._mapping.iterate())


def pickled_by_constructor(cls: type[Value]) -> type[Value]:
    """Have the instances of a frozen dataclass pickled with the arguments of its constructor.

    The state that dataclasses with slots have takes twice the time to be read.
    """
    arguments = attrgetter(*(each.name for each in fields(cls)))  # type: ignore[arg-type]
    cls.__reduce__ = lambda self: (cls, arguments(self))  # type: ignore[method-assign]
    return cls
