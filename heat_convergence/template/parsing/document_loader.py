"""Conversion of text or a map to plain JSON data within limits.

Decides which documents are accepted before their meaning is known.  Called for
templates and environments.  Must not resolve tags beyond JSON's own types: dates
stay text, and no document can name a Python object.

YAML is read from the events of the C parser, one at a time and without recursion:
the C composer overflows the stack on a hundred thousand brackets.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from heat_convergence.common import strict_json
from heat_convergence.common.errors import HTTPBadRequest, RequestLimitExceeded
from heat_convergence.common.values.json_members import PACKED, PackedPaths
from heat_convergence.common.values.packed_map import PackedMap
from heat_convergence.template.diagnostics import SourcePath, SourcePosition
from heat_convergence.template.limits import DEFAULT_LIMITS, TemplateLimits
from heat_convergence.template.parsing import source_positions, yaml_reader

Json = Any
_STRING = frozenset({str})

PACKED_SECTIONS: PackedPaths = {"resources": PACKED, "Resources": PACKED}
"""The sections of a template that are a ``PackedMap`` if they have very many resources."""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document.

    Attributes:
        data: Plain JSON data with string keys.
        text: The source text, or None if the document arrived as a map.
    """

    data: Json
    text: str | None = None

    def find_position(self, path: SourcePath) -> SourcePosition | None:
        """Return the position of the key at the path, or of its nearest parent, in the text.

        Parses the text again, so that only a document with errors pays for positions.
        """
        return self.find_positions((path,)).get(path)

    def find_positions(self, paths: Collection[SourcePath]) -> dict[SourcePath, SourcePosition]:
        """Return what ``find_position`` does, for several paths at once."""
        return {} if self.text is None else source_positions.find_positions(self.text, paths)


def load_document(
    source: str | bytes | Mapping[str, Json],
    *,
    limits: TemplateLimits = DEFAULT_LIMITS,
    document_type: str = "template",
    packed: PackedPaths | None = None,
) -> Document:
    """Parse a document into plain JSON data.

    Args:
        source: The document.
        limits: Limits on its size and depth.
        document_type: How messages call it.
        packed: The places of maps that are a ``PackedMap`` if they have very many members.

    Raises:
        HTTPBadRequest: The document cannot be parsed.
        RequestLimitExceeded: The document is too long, too deep, or too large once its
            aliases are expanded.
    """
    if isinstance(source, Mapping):
        return Document(_within_limits(source, limits, document_type))
    text = _decoded(source, document_type)
    check_document_size(text, limits, document_type)
    if text.lstrip()[:1] == "{":
        try:
            data = strict_json.parse_json(text, packed)
        except (ValueError, RecursionError):
            pass  # YAML's flow style starts alike, and its parser reports errors better.
        else:
            return Document(_within_limits(data, limits, document_type), text)
    return Document(_yaml(text, limits, document_type, packed or {}), text)


def check_document_size(
    text: str, limits: TemplateLimits, document_type: str = "template"
) -> None:
    """Raise ``RequestLimitExceeded`` if the text is longer than a user's document may be."""
    if len(text) > limits.max_template_size:
        raise RequestLimitExceeded(
            f"The {document_type} has {len(text)} characters; at most"
            f" {limits.max_template_size} are allowed."
        )


def _decoded(source: str | bytes, document_type: str) -> str:
    if isinstance(source, str):
        return source
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise HTTPBadRequest(f"The {document_type} is not UTF-8 text: {error}") from error


def _yaml(text: str, limits: TemplateLimits, document_type: str, packed: PackedPaths) -> Json:
    try:
        return yaml_reader.read_yaml(text, limits, packed)
    except yaml_reader.LimitExceeded as error:
        raise RequestLimitExceeded(f"The {document_type} {error}.") from error
    except RequestLimitExceeded as error:
        error.path = error.path or document_type
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise HTTPBadRequest(f"Error parsing {document_type}: {error}") from error


def _within_limits(source: Json, limits: TemplateLimits, document_type: str) -> Json:
    """Return the data if it is within the limits, copied only if it is not plain JSON."""
    check = _LimitCheck(limits, document_type)
    check.walk([source], depth=0)
    return source if check.plain else _copied(source)


class _LimitCheck:
    """The check of one document.

    Attributes:
        plain: Whether all of it is plain JSON so far.
    """

    def __init__(self, limits: TemplateLimits, document_type: str) -> None:
        self.plain = True
        self._limits = limits
        self._document_type = document_type
        self._count = 0

    def walk(self, level: list[Json], depth: int) -> None:
        """Check values that are below so many others, with all that they hold."""
        while level:
            depth += 1
            self._charge(len(level), depth)
            following: list[Json] = []
            for node in level:
                if type(node) is str:
                    continue  # most of them
                if type(node) is PackedMap:
                    for values in node.value_parts():
                        self.walk(values, depth)
                elif type(node) is dict or isinstance(node, Mapping):
                    following.extend(node.values())
                    self.plain &= type(node) is dict and _STRING.issuperset(map(type, node))
                elif isinstance(node, list | tuple):
                    following.extend(node)
                    self.plain &= type(node) is list
                else:
                    self._check_scalar(node)
            level = following

    def _charge(self, count: int, depth: int) -> None:
        self._count += count
        if depth > self._limits.max_depth:
            raise RequestLimitExceeded(
                f"The {self._document_type} is nested deeper than {self._limits.max_depth}."
            )
        if self._count > self._limits.max_nodes:
            raise RequestLimitExceeded(
                f"The {self._document_type} has more than {self._limits.max_nodes} nodes."
            )

    def _check_scalar(self, node: Json) -> None:
        if not isinstance(node, yaml_reader.SCALAR_TYPES):
            raise HTTPBadRequest(
                f"The {self._document_type} holds a {type(node).__name__}, which JSON does not"
                " have."
            )
        if isinstance(node, int | float):
            _check_number(node, self._document_type)


def _check_number(number: float, document_type: str) -> None:
    try:
        strict_json.check_number(number)
    except ValueError as error:
        raise HTTPBadRequest(f"The {document_type} cannot be used: {error}.") from error


def _copied(node: Json) -> Json:
    if isinstance(node, Mapping):
        return {yaml_reader.json_key(key): _copied(item) for key, item in node.items()}
    if isinstance(node, list | tuple):
        return [_copied(item) for item in node]
    return node
