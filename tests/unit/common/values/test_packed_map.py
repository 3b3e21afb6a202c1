"""Maps that are packed from some number of values on."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import pytest

from heat_convergence.common.values import packed_map
from heat_convergence.common.values.packed_map import (
    JSON,
    JsonTexts,
    PackedMap,
    pack_if_large,
    pickled_by_constructor,
)


@pickled_by_constructor
@dataclass(frozen=True, slots=True)
class Sample:
    first: int
    second: str = ""


@pytest.fixture(autouse=True)
def _packed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_map, "PACKED_FROM", 10)
    monkeypatch.setattr(packed_map, "_PART_SIZE", 3)


def packed(values: dict[str, Any]) -> PackedMap[Any]:
    found = pack_if_large(values.items(), JSON)
    assert isinstance(found, PackedMap)
    return found


def test_few_values_stay_a_dictionary() -> None:
    values = {f"k{number}": [number] for number in range(9)}
    found = pack_if_large(values.items())
    assert type(found) is dict
    assert all(found[key] is value for key, value in values.items())


@pytest.mark.parametrize("size", [10, 11, 12, 13, 50])
def test_packed_map_reads_as_the_dictionary_does(size: int) -> None:
    values = {f"k{number}": Sample(number, str(number)) for number in reversed(range(size))}
    found = pack_if_large(values.items())
    assert isinstance(found, PackedMap)
    assert found == values
    assert [*found] == [*found.keys()] == [*values]
    assert [*found.items()] == [*values.items()]
    assert [*found.values()] == [*values.values()]
    assert len(found) == len(found.items()) == size
    assert "k0" in found
    assert "other" not in found
    assert found.get("other") is None
    assert [found[key] for key in sorted(values)] == [values[key] for key in sorted(values)]


def test_missing_key_is_an_error() -> None:
    with pytest.raises(KeyError):
        packed({f"k{number}": number for number in range(10)})["other"]


def test_last_value_of_a_key_counts_at_the_place_of_the_first() -> None:
    items = [(f"k{number}", number) for number in range(20)]
    again = [("k0", 100), ("k15", 115), ("k0", 200)]
    found = pack_if_large([*items, *again], JSON)
    assert [*found.items()] == [*dict([*items, *again]).items()]
    assert found["k0"] == 200


@pytest.mark.parametrize(
    "value",
    [2**70, -(2**63), 1.5, -0.0, "é\U0001f600", None, True, {"a": [{}]}, {"deep": [[[[1]]]]}],
    ids=str,
)
def test_json_values_keep_their_types(value: Any) -> None:
    (found, *_others) = packed({f"k{number}": value for number in range(12)}).values()
    assert (found, type(found)) == (value, type(value))


def test_parts_of_json_are_texts_unless_json_is_too_small_for_them() -> None:
    texts = [*packed({f"k{number}": {"n": number} for number in range(11)}).json_parts()]
    assert texts[0] == b'{"k0":{"n":0},"k1":{"n":1},"k2":{"n":2}}'
    large = [*packed({f"k{number}": 2**70 for number in range(11)}).json_parts()]
    assert large[0] == {"k0": 2**70, "k1": 2**70, "k2": 2**70}


def test_going_through_a_map_unpacks_each_part_once() -> None:
    unpacked: list[bytes] = []

    class Noted(JsonTexts):
        def decode(self, text: bytes) -> dict[str, Any]:
            unpacked.append(text)
            return super().decode(text)

    values = {f"k{number}": number for number in range(30)}
    found = pack_if_large(values.items(), Noted())
    assert dict(found.items()) == values
    assert len(unpacked) == len(set(unpacked)) >= 10


def test_reading_at_random_keeps_few_parts_unpacked() -> None:
    values = {f"k{number}": number for number in range(300)}
    found = packed(values)
    assert [found[key] for key in reversed(values)] == [*reversed(values.values())]
    assert len(found._open) == packed_map._OPEN_PARTS


def test_long_text_is_kept_once_for_all_parts() -> None:
    text = "".join(chr(ord("a") + number * number % 26 + number % 3) for number in range(50_000))
    values = {f"k{number}": Sample(number, text) for number in range(40)}
    values["other"] = Sample(0, text[:-1])
    found = pack_if_large(values.items())
    assert isinstance(found, PackedMap)
    assert [*found.items()] == [*values.items()]
    assert found["k3"].second is found["k30"].second is text
    assert max(map(len, found._parts)) < 200


def test_values_are_taken_one_at_a_time() -> None:
    def items() -> Iterator[tuple[str, list[int]]]:
        for number in range(30):
            value = [number]
            yield f"k{number}", value
            del value

    assert pack_if_large(items())["k29"] == [29]


def test_dataclass_is_pickled_by_its_constructor() -> None:
    assert Sample(1, "a").__reduce__() == (Sample, (1, "a"))
    assert copy(Sample(1, "a")) == Sample(1, "a")
