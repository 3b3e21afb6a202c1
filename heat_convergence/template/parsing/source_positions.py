"""Lines and columns of keys in a YAML text.

Called to report an error, and only then: the text is parsed again.  Must not fail
on text that only a JSON parser accepts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import yaml

from heat_convergence.common.errors import RequestLimitExceeded
from heat_convergence.template.diagnostics import SourcePath, SourcePosition
from heat_convergence.template.parsing.yaml_reader import iter_yaml_events


@dataclass(slots=True)
class _Node:
    """A part of the paths that are sought, with the parts below it."""

    position: SourcePosition | None = None
    children: dict[str, _Node] = field(default_factory=dict)


_UNNAMED = _Node()  # whatever no path leads to


def find_positions(text: str, paths: Collection[SourcePath]) -> dict[SourcePath, SourcePosition]:
    """Return, by path, the position of its deepest part that the text has.

    The text is read once, however many paths there are.
    """
    root = _Node()
    for path in paths:
        node = root
        for part in path:
            node = node.children.setdefault(str(part), _Node())
    # JSON that YAML cannot parse, for example with tabs, or a request without steps to read the
    # text again: keep what was found.
    with contextlib.suppress(yaml.YAMLError, RequestLimitExceeded):
        _locate(text, root)
    found = {path: _deepest(root, path) for path in paths}
    return {path: position for path, position in found.items() if position is not None}


def _deepest(root: _Node, path: SourcePath) -> SourcePosition | None:
    best, node = None, root
    for part in path:
        node = node.children[str(part)]
        best = node.position or best
    return best


def _locate(text: str, root: _Node) -> None:
    """Set the position of every node that the text has."""
    stack: list[_Open] = []
    for event in iter_yaml_events(text):
        event_type = type(event)
        if event_type is yaml.MappingEndEvent or event_type is yaml.SequenceEndEvent:
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            node = stack[-1].child(event) if stack else root
            if isinstance(event, yaml.CollectionStartEvent):
                is_list = event_type is yaml.SequenceStartEvent
                stack.append(_Open(node or _UNNAMED, is_list))


def _found(node: _Node, event: Any) -> _Node:
    """Record that the event is what the node stands for."""
    mark = event.start_mark
    node.position = (mark.line + 1, mark.column + 1)
    return node


@dataclass(slots=True)
class _Open:
    """An open map or list, with the key or index of what comes next."""

    node: _Node
    is_list: bool
    index: int = -1
    key: str | None = None

    def child(self, event: Any) -> _Node | None:
        """Return the node of a member, None for a key or for a member that no path names."""
        if self.is_list:
            self.index += 1
            node = self.node.children.get(str(self.index))
            return node and _found(node, event)
        if self.key is None:
            self.key = str(getattr(event, "value", ""))
            node = self.node.children.get(self.key)
            if node is not None:
                _found(node, event)
            return None
        key, self.key = self.key, None
        return self.node.children.get(key)
