"""Mutations of JSON documents, of their text and of URLs.

Each takes the random generator of the case, so that a seed replays it.
"""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any
from urllib.parse import quote

Json = Any

_BIG_TEXT = 3_000
_DEEP = 150
ODD_TEXTS = (
    "", " ", "\x00", "a\x00b", "\ud800", "a\udfffb", "\U0001f600", "é" * 256, "x" * _BIG_TEXT,
    "\u202eabc", "\ufeff", "%s%n{0}${x}", "../../etc/passwd", "'; DROP TABLE stack; --",
    "a\r\nX-Injected: 1", "$call", "$data", "null", "true", "NaN", "-0", "1e999", "0x10", "1_000",
    "1:59:59", "2018-08-31", "None", "OS::Heat::Value", "OS::Heat::None", "arn:openstack:heat::",
    "file:///etc/passwd", "http://[::1]/", "(a+)+$", "*", "__class__", "٣", "²", "a" * 64,
    "a" * 256,
)  # fmt: skip
ODD_NUMBERS = (
    0, -1, 1, 255, 256, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53 + 1, 2**63 - 1, 2**63, -(2**63),
    2**64, 10**30, 10**400, 0.1, -0.0, 1e308, 5e-324, 1.5,
)  # fmt: skip


def odd_value(random: Random) -> Json:
    """Return a value that is rarely of the expected type, or at a limit."""
    choice = random.randrange(10)
    if choice < 4:
        return random.choice(ODD_TEXTS)
    if choice < 7:
        return random.choice(ODD_NUMBERS)
    if choice == 7:
        return random.choice([None, True, False, [], {}, [None], {"": None}, [[]], {"a": {}}])
    if choice == 8:
        return nested(random.choice([[], {}, None, "x"]), random.choice([3, 30, _DEEP]), random)
    return random.choice([
        ["x"] * 300, {str(number): number for number in range(300)}, ["\ud800"], {"\udc00": 1},
    ])  # fmt: skip


def nested(value: Json, depth: int, random: Random) -> Json:
    """Return the value inside that many lists, or maps."""
    in_lists = random.random() < 0.5
    for _ in range(depth):
        value = [value] if in_lists else {"a": value}
    return value


def slots(document: Json) -> list[tuple[Json, Json]]:
    """Return every list and map of a document with each of its keys."""
    found: list[tuple[Json, Json]] = []
    pending = [document]
    while pending:
        node = pending.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        found += [(node, key) for key in keys]
        pending += [node[key] for key in keys if isinstance(node[key], dict | list)]
    return found


def mutated(document: Json, random: Random) -> Json:
    """Return a copy with one to three changes."""
    changed = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 2, 3))):
        found = slots(changed) if isinstance(changed, dict | list) else []
        if not found or random.random() < 0.02:
            return odd_value(random)
        node, key = random.choice(found)
        _change(node, key, random.choice(found), random)
    return changed


def _change(node: Json, key: Json, other: tuple[Json, Json], random: Random) -> None:
    """Change one slot of a document; ``other`` is another one of it."""
    change = random.choice(
        ("replace", "replace", "delete", "rename", "wrap", "copy", "add", "repeat", "splice")
    )
    value = node[key]
    if change == "delete":
        del node[key]
    elif change == "rename" and isinstance(node, dict):
        node[random.choice([*ODD_TEXTS, str(other[1])])] = node.pop(key)
    elif change == "wrap":
        node[key] = {str(other[1]): value} if random.random() < 0.5 else [value]
    elif change == "copy":
        node[key] = copy.deepcopy(other[0][other[1]]) if other[1] in _keys(other[0]) else None
    elif change == "add" and isinstance(node, dict):
        node[random.choice(ODD_TEXTS)] = odd_value(random)
    elif change == "repeat" and isinstance(node, list):
        node.extend(copy.deepcopy(value) for _ in range(random.choice((1, 3, 60))))
    elif change == "splice" and isinstance(value, str):
        at = random.randint(0, len(value))
        node[key] = value[:at] + random.choice(ODD_TEXTS) + value[at:]
    else:
        node[key] = odd_value(random)


def _keys(node: Json) -> Any:
    return node if isinstance(node, dict) else range(len(node))


def encoded(document: Json, random: Random) -> bytes:
    """Return a document as JSON text, which is damaged in one case of eight."""
    text = json.dumps(document, ensure_ascii=True)
    if random.random() < 1 / 8:
        return damaged(text.encode(), random)
    return text.encode()


def damaged(text: bytes, random: Random) -> bytes:
    """Return the text with one change that JSON or UTF-8 may not allow."""
    at = random.randint(0, len(text))
    change = random.randrange(7)
    if change == 0:
        return text[:at]
    if change == 1:
        return (
            text[:at] + random.choice((b"\xff", b"\xed\xa0\x80", b"\x00", b"\\u0000")) + text[at:]
        )
    if change == 2:
        return text.decode().encode(random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig")))
    if change == 3 and text.startswith(b"{"):  # a key twice
        key = random.choice((b'"template"', b'"stack_name"', b'"parameters"', b'"a"'))
        return (
            b"{"
            + key
            + b": null, "
            + key
            + b": 1"
            + (text[1:] if text == b"{}" else b", " + text[1:])
        )
    if change == 4:
        number = random.choice((b"NaN", b"-Infinity", b"1e999", b"9" * 5_000, b"-0", b"01"))
        return text.replace(b"null", number, 1).replace(b'""', number, 1)
    if change == 5:
        return text[:at] + random.choice((b"[", b'{"a":')) * 20_000 + text[at:]
    return text[:at] + text[random.randint(0, len(text)) :]


def odd_path_part(random: Random) -> str:
    """Return a part of a URL's path in its encoded form."""
    return random.choice((
        "..", ".", "%2e%2e", "%2F", "%00", "%ff", "%ed%a0%80", "%", "%zz", "a%20b", "+", "x" * 300,
        "%F0%9F%98%80", "*", "'", "a;b", "a%0d%0ab", "arn:openstack:heat::p:stacks/a/b", "None",
        "1", "-1", quote("é" * 80), "{}", "%7B%7D", "a?b", "preview", "detail", "resources",
    ))  # fmt: skip


def odd_query_value(random: Random) -> str:
    """Return the value of a query parameter in its encoded form."""
    if random.random() < 0.4:
        return odd_path_part(random)
    value = random.choice(ODD_TEXTS + tuple(str(number)[:200] for number in ODD_NUMBERS))
    return quote(value.encode("utf-8", "surrogatepass"), safe="")
