"""Keys that stand twice in one map of a YAML or JSON text, of which the last one counts.

Called by the linter with texts that could be parsed. Reads the events of the parser, so that its
cost grows with the length of the text alone, whatever aliases it has. Must not raise for any text.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template.parsing.yaml_reader import iter_yaml_events

_MERGE_KEY = "<<"  # may stand twice


@dataclass(frozen=True, slots=True)
class DuplicateKey:
    """A key that its map has already.

    Attributes:
        line: The line of the later one, from 1.
        column: The column, from 1.
        first_line: The line of the first one.
    """

    name: str
    line: int
    column: int
    first_line: int


@dataclass(slots=True)
class _OpenNode:
    """An open map or list; ``lines`` has the keys of a map so far."""

    is_map: bool
    lines: dict[str, int] = field(default_factory=dict)
    expects_key: bool = True


def find_duplicate_keys(text: str) -> list[DuplicateKey]:
    """Return the keys that stand in their map for a second time, in the order of the text."""
    found: list[DuplicateKey] = []
    with contextlib.suppress(yaml.YAMLError, RequestLimitExceeded):
        found.extend(_iterate(text))
    return found


def _iterate(text: str) -> Iterator[DuplicateKey]:
    stack: list[_OpenNode] = []
    for event in iter_yaml_events(text):
        if isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            yield from _read_member(stack[-1] if stack else None, event)
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append(_OpenNode(isinstance(event, yaml.MappingStartEvent)))


def _read_member(node: _OpenNode | None, event: Any) -> Iterator[DuplicateKey]:
    """Yield the event if it is a key that the map has already."""
    if node is None or not node.is_map:
        return
    is_key, node.expects_key = node.expects_key, not node.expects_key
    name = getattr(event, "value", None)
    if not is_key or name is None or name == _MERGE_KEY:
        return
    line = event.start_mark.line + 1
    if name in node.lines:
        yield DuplicateKey(name, line, event.start_mark.column + 1, node.lines[name])
    else:
        node.lines[name] = line
