"""JSON texts of users, and quick writing of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heat_convergence.common.strict_json import encode_json, parse_json

DEEP: Any = 1
for _ in range(500):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "document",
    [
        {"text": 'é "\n\u2028\U0001f600', "list": [1, 0.5, -1e300, True, None], "map": {}},
        {"integer": 2**70},
        DEEP,
    ],
    ids=["usual", "large integer", "deep"],
)
def test_documents_are_json_whatever_is_in_them(document: Any) -> None:
    assert json.loads(encode_json(document)) == document
    assert parse_json(encode_json(document).decode()) == document


def test_keys_of_documents_are_texts() -> None:
    assert encode_json({1: 2}) == b'{"1":2}'


@pytest.mark.parametrize("digits", [308, 309, 310, 5000])
@pytest.mark.parametrize("around", ["{}", '["é", {}]', '{{"\U0001f600": {}}}'])
def test_numbers_are_read_up_to_a_length(digits: int, around: str) -> None:
    text = around.format("1" + "9" * (digits - 1))
    if digits < 310:
        assert parse_json(text) == json.loads(text)
    else:
        with pytest.raises(ValueError, match="more than 308 digits"):
            parse_json(text)


def test_long_digits_in_a_string_are_text() -> None:
    assert parse_json('"{}"'.format("7" * 5000)) == "7" * 5000


@pytest.mark.parametrize("before", [65_000, 65_200, 65_535, 65_536])
def test_long_number_is_found_at_any_place(before: int) -> None:
    with pytest.raises(ValueError, match="more than 308 digits"):
        parse_json(" " * before + "7" * 310)
