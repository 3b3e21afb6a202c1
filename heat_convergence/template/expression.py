"""Function calls that wait for the value of a resource.

A partly evaluated value is plain JSON in which some nodes are ``Expression``.  Decides
how such a value is stored as plain JSON and loaded again.  Called by the evaluator and
by definitions.  Must not evaluate anything.

The stored form has four marks, each a map with a single key.  User data that looks
like a mark is wrapped, so that loading returns exactly what was dumped:

* ``{"$call": [function, variant, arguments]}``  an expression
* ``{"$data": {...}}``  a map of the user that has a mark as its only key
* ``{"$content": hash}``  a long string, stored by its hash (see ``deduplicate_value``)
* ``{"$json": hash}``  a long map or list, stored by the hash of its JSON
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from heat_convergence.common.stored_values import parse_content

Json = Any  # plain JSON
Value = Any  # JSON with expressions in it

_CALL, _DATA, _CONTENT, _JSON = "$call", "$data", "$content", "$json"
# Stored definitions depend on it: changing it needs a migration.
MIN_SHARED_LENGTH = 4096
_LEAVES = frozenset({str, int, float, bool, type(None)})  # checked first: most nodes are leaves
_MARKS = frozenset({_CALL, _DATA, _CONTENT, _JSON})
_MAPS = (dict, Mapping)  # isinstance() tries dict first, which takes a tenth of the time


@dataclass(frozen=True, slots=True)
class Expression:
    """A function call that cannot be evaluated yet; its arguments are partly evaluated.

    ``variant`` names the behaviour that the template's version gives the function, so that
    the template is not needed to resolve the call.
    """

    function: str
    variant: str
    arguments: Value


def is_known(value: Value) -> bool:
    """Return whether the value contains no expression."""
    if type(value) in _LEAVES:
        return True
    if isinstance(value, dict):
        return all(is_known(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(is_known(item) for item in value)
    return not isinstance(value, Expression)


def iter_expressions(value: Value, location: str = "") -> Iterator[tuple[str, Expression]]:
    """Yield every expression with its location, such as ``a.b[0]``; outer before inner."""
    if type(value) in _LEAVES:
        return
    if isinstance(value, Expression):
        yield location, value
        yield from iter_expressions(value.arguments, _child_location(location, value.function))
    elif isinstance(value, _MAPS):
        for key, item in value.items():
            yield from iter_expressions(item, _child_location(location, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from iter_expressions(item, f"{location}[{index}]")


def to_template_form(value: Value) -> Json:
    """Return the value with its expressions written as the template's calls, for display."""
    if isinstance(value, Expression):
        return {value.function: to_template_form(value.arguments)}
    if isinstance(value, _MAPS):
        return {key: to_template_form(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_template_form(item) for item in value]
    return value


def dump(value: Value) -> Json:
    """Return the value in its stored form; its maps and lists of plain JSON are its own."""
    if type(value) in _LEAVES:
        return value
    if isinstance(value, Expression):
        return {_CALL: [value.function, value.variant, dump(value.arguments)]}
    if isinstance(value, _MAPS):
        plain = _own_if_equal(value, {key: dump(item) for key, item in value.items()})
        return {_DATA: plain} if _looks_marked(plain) else plain
    if isinstance(value, list | tuple):
        items = [dump(item) for item in value]
        unchanged = isinstance(value, list) and all(map(operator.is_, items, value))
        return value if unchanged else items
    return value


def _own_if_equal(value: Mapping[str, Any], plain: dict[str, Json]) -> dict[str, Json]:
    """Return the map itself if ``plain`` has the same objects: large stacks keep it once."""
    if isinstance(value, dict) and all(map(operator.is_, plain.values(), value.values())):
        return value
    return plain


def load(data: Json) -> Value:
    """Return the value that ``dump`` was called with; raises ``ValueError`` for other data."""
    if type(data) in _LEAVES:
        return data
    if isinstance(data, list):
        return [load(item) for item in data]
    if not isinstance(data, _MAPS):
        return data
    if not _looks_marked(data):
        return {key: load(item) for key, item in data.items()}
    mark, body = next(iter(data.items()))
    if mark == _CALL and isinstance(body, list) and len(body) == 3:
        return Expression(body[0], body[1], load(body[2]))
    if mark == _DATA and isinstance(body, _MAPS):
        return {key: load(item) for key, item in body.items()}
    raise ValueError(f"a dumped value has a malformed {mark}")


def deduplicate_value(
    dumped: Json, contents: dict[str, str], *, min_chars: int = MIN_SHARED_LENGTH
) -> Json:
    """Move long strings of a dumped value into ``contents``, keyed by their SHA-256.

    Definitions that carry the same file then store only its hash.
    """
    if isinstance(dumped, str):
        if len(dumped) < min_chars:
            return dumped
        return {_CONTENT: _move_text(dumped, contents)}
    if isinstance(dumped, list):
        return [deduplicate_value(item, contents, min_chars=min_chars) for item in dumped]
    if isinstance(dumped, _MAPS):
        return {k: deduplicate_value(v, contents, min_chars=min_chars) for k, v in dumped.items()}
    return dumped


def dump_values(values: Mapping[str, Value]) -> dict[str, Json]:
    """Dump each value of a map separately."""
    return {name: dump(value) for name, value in values.items()}


def deduplicate_values(
    dumped: Mapping[str, Json], contents: dict[str, str], *, min_chars: int = MIN_SHARED_LENGTH
) -> dict[str, Json]:
    """Deduplicate each value of a dumped map separately.

    Long maps and lists are moved as a whole unless they contain expressions; of the others,
    only their long strings are moved.
    """
    shared: dict[str, Json] = {}
    for name, value in dumped.items():
        text = ""
        if isinstance(value, (*_MAPS, list)):
            text = json.dumps(value, sort_keys=True, separators=(",", ":"))
        if len(text) >= min_chars and not _contains_call(value):
            shared[name] = {_JSON: _move_text(text, contents)}
        elif len(text) >= min_chars or isinstance(value, str):
            shared[name] = deduplicate_value(value, contents, min_chars=min_chars)
        else:
            shared[name] = value
    return _own_if_equal(dumped, shared)


def deduplicate_plain_values(
    values: Mapping[str, Json], contents: dict[str, str]
) -> dict[str, Json]:
    """Return ``deduplicate_values(dump_values(values))``; faster without expressions."""
    shared = {}
    for name, value in values.items():
        if type(value) in _LEAVES and not isinstance(value, str):
            shared[name] = value
            continue
        text = _unmarked_text(value)
        if text is None:
            shared.update(deduplicate_values({name: dump(value)}, contents))
        elif len(text) >= MIN_SHARED_LENGTH:
            shared[name] = {_JSON: _move_text(text, contents)}
        else:
            shared[name] = value
    return shared


def _move_text(text: str, contents: dict[str, str]) -> str:
    """Add a text to contents, and return its hash."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    contents[digest] = text
    return digest


def _unmarked_text(value: Value) -> str | None:
    """Return a map or list as JSON; None for strings and for values that may hold marks."""
    if isinstance(value, str):
        return None
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except TypeError:  # an expression, or keys of different types
        return None
    return None if _may_have_marks(text) else text


def _may_have_marks(text: str) -> bool:
    """Return whether JSON written by this module might contain a mark."""
    return any(f'"{mark}"' in text for mark in _MARKS)


def deduplicate_map(dumped: Mapping[str, Json], contents: dict[str, str]) -> dict[str, Json]:
    """Deduplicate the values of a dumped map, which may itself be one expression."""
    if not _looks_marked(dumped):
        return deduplicate_values(dumped, contents)
    mark, body = next(iter(dumped.items()))
    if mark == _DATA:
        return {_DATA: deduplicate_values(body, contents)}
    shared: dict[str, Json] = deduplicate_value(dumped, contents)
    return shared


def _contains_call(dumped: Json) -> bool:
    if type(dumped) in _LEAVES:
        return False
    if isinstance(dumped, _MAPS):
        called = _looks_marked(dumped) and _CALL in dumped
        return called or any(_contains_call(item) for item in dumped.values())
    return isinstance(dumped, list) and any(_contains_call(item) for item in dumped)


def restore_value(shared: Json, content: Callable[[str], str]) -> Json:
    """Return the dumped value; ``content`` returns a text by its hash."""
    if type(shared) in _LEAVES:
        return shared
    if isinstance(shared, list):
        return [restore_value(item, content) for item in shared]
    if not isinstance(shared, _MAPS):
        return shared
    if _looks_marked(shared):
        mark, body = next(iter(shared.items()))
        if mark == _CONTENT:
            return content(body)
        if mark == _JSON:
            return parse_content(content(body))
        if mark == _DATA:  # The inner map is user data even if it resembles a mark.
            return {_DATA: {key: restore_value(item, content) for key, item in body.items()}}
    return {key: restore_value(item, content) for key, item in shared.items()}


def load_deduplicated(
    shared: Json, content: Callable[[str], str], cache: dict[str, Value] | None = None
) -> Value:
    """Load a deduplicated value.

    Args:
        shared: The deduplicated, dumped value.
        content: Returns a text by its hash.
        cache: Values by hash.  Values loaded with the same cache share objects, which must
            therefore not be changed.
    """
    if type(shared) in _LEAVES:
        return shared
    cache = {} if cache is None else cache
    if isinstance(shared, list):
        items = [load_deduplicated(item, content, cache) for item in shared]
        return shared if all(map(operator.is_, items, shared)) else items
    if not isinstance(shared, _MAPS):
        return shared
    if not _looks_marked(shared):
        loaded = {key: load_deduplicated(item, content, cache) for key, item in shared.items()}
        return _own_if_equal(shared, loaded)
    mark, body = next(iter(shared.items()))
    if mark == _JSON:
        if body not in cache:
            cache[body] = _parsed(content(body))
        return cache[body]
    if mark == _CONTENT:
        return content(body)
    return load(restore_value(shared, content))


def _parsed(text: str) -> Value:
    value = parse_content(text)
    return load(value) if _may_have_marks(text) else value


def collect_content_hashes(shared: Json) -> frozenset[str]:
    """Return the hashes of the contents that a deduplicated value refers to."""
    found: set[str] = set()

    def collect(digest: str) -> str:
        found.add(digest)
        return ""

    restore_value(shared, collect)
    return frozenset(found)


def _looks_marked(value: Mapping[str, Json]) -> bool:
    return len(value) == 1 and next(iter(value)) in _MARKS


def _child_location(location: str, key: str) -> str:
    return f"{location}.{key}" if location else key
