"""JSON objects of very many members are read as others are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common import strict_json
from heat_convergence.common.strict_json import encode_json, parse_json
from heat_convergence.common.values import packed_map
from heat_convergence.common.values.json_members import PACKED, PackedPaths
from heat_convergence.common.values.packed_map import PackedMap

PATHS = {"template": {"resources": PACKED}}
MEMBERS = {f"r{number}": {"type": "T", "properties": {"n": number}} for number in range(20)}


@pytest.fixture(autouse=True)
def _packed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_map, "PACKED_FROM", 10)
    monkeypatch.setattr(strict_json, "_LARGE", 0)


def body(resources: Any) -> dict[str, Any]:
    return {"name": "s", "template": {"a": [1], "resources": resources, "z": {}}, "other": None}


@pytest.mark.parametrize("spaces", [{}, {"indent": "\t\n "}, {"separators": (" ,\r\n", " : ")}])
def test_object_at_the_path_is_packed(spaces: dict[str, Any]) -> None:
    text = "\n" + json.dumps(body(MEMBERS), **spaces) + " "
    found = parse_json(text, PATHS)
    assert isinstance(found["template"]["resources"], PackedMap)
    assert found == body(MEMBERS)
    assert [*found] == ["name", "template", "other"]
    assert json.loads(encode_json(found)) == body(MEMBERS)


@pytest.mark.parametrize(
    "resources", [{}, {"a": 1}, [], None, "text", 1.5], ids=lambda each: type(each).__name__
)
def test_small_and_other_values_at_the_path_stay_as_they_are(resources: Any) -> None:
    found = parse_json(json.dumps(body(resources)), PATHS)
    assert found == body(resources)
    assert type(found["template"]["resources"]) is type(resources)


def test_objects_at_other_places_are_not_packed() -> None:
    document = {"resources": MEMBERS, "template": {"other": MEMBERS}}
    found = parse_json(json.dumps(document), PATHS)
    assert (type(found["resources"]), type(found["template"]["other"])) == (dict, dict)


@pytest.mark.parametrize("key", ['a"b', "a\\b", "é\U0001f600", "\n", "", " "])
def test_keys_are_read_whatever_is_in_them(key: str) -> None:
    document = body({**MEMBERS, key: 1})
    assert parse_json(json.dumps(document), PATHS) == document
    assert parse_json(json.dumps(document, ensure_ascii=False), PATHS) == document


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"template"}',
        '{"template":}',
        '{"template":{"resources":{}}',
        '{"template":{"resources":{"a":1,}}}',
        '{"template":{"resources":{"a":1 "b":2}}}',
        '{"template":{"resources":{a:1}}}',
        '{"template":{"resources":{1:1}}}',
        '{"template":{"resources":{"a":NaN}}}',
        '{"template":{"resources":{"a":1e999}}}',
        '{"template":{"resources":{"a":' + "9" * 400 + "}}}",
        '{"template":{"resources":{"a":"\t"}}}',
        '{"template":{"resources":{"a\t":1}}}',
        '{"template":{"resources":{"a":"\\u0000"}}}',
        '{"template":{}} x',
        '{"template":{}}{}',
    ],
)
def test_mistakes_are_reported_as_they_are_for_other_texts(text: str) -> None:
    assert error_of(text, None) == error_of(text, PATHS) != ""


def error_of(text: str, paths: PackedPaths | None) -> str:
    try:
        parse_json(text, paths)
    except ValueError as error:
        return str(error)
    return ""


def test_other_documents_are_read() -> None:
    assert parse_json(" [1]", PATHS) == [1]


def test_large_integers_are_read_and_written() -> None:
    document = body({f"r{number}": 2**70 + number for number in range(12)})
    found = parse_json(json.dumps(document), PATHS)
    assert found == document
    assert json.loads(encode_json(found)) == document


def test_unusual_documents_with_a_packed_map_are_written() -> None:
    found = {"large": 2**70, "packed": parse_json(json.dumps(body(MEMBERS)), PATHS)}
    assert json.loads(encode_json(found)) == {"large": 2**70, "packed": body(MEMBERS)}


def test_no_more_than_a_part_is_whole_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Noted(packed_map.JsonTexts):
        def encode(self, part: dict[str, Any]) -> bytes:
            sizes.append(len(part))
            return super().encode(part)

    monkeypatch.setattr("heat_convergence.common.values.json_members.JSON", Noted())
    parse_json(json.dumps(body({f"r{number}": number for number in range(500)})), PATHS)
    assert sum(sizes) == 500
    assert max(sizes) <= packed_map._PART_SIZE


def test_values_that_are_not_of_json_are_refused() -> None:
    with pytest.raises(TypeError, match="set is not of JSON"):
        encode_json({"a": {1}})
