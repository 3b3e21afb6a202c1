"""Where in a YAML text something stands.

Called when a mistake is to be told, and then only: the text is read anew.  Must
not fail on text that only JSON can read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from heat_convergence.template.parsing.yaml_reader import iter_yaml_events


def find_position(text: str, path: tuple[str | int, ...]) -> tuple[int, int] | None:
    """Line and column, from 1, of the deepest part of the path that the text has."""
    best: tuple[int, tuple[int, int]] | None = None
    try:
        for depth, mark in _matches(text, path):
            if best is None or depth >= best[0]:
                best = (depth, (mark.line + 1, mark.column + 1))
    except yaml.YAMLError:
        pass  # JSON that YAML cannot read, say with tabs: what was found so far counts
    return best[1] if best else None


def _matches(text: str, path: tuple[str | int, ...]) -> Iterator[tuple[int, Any]]:
    """Every place that lies on the path: how many of its parts, and the mark.

    ``on_path`` is how many of the open maps and lists, from the root, lie on it;
    ``stack`` holds for each open one the key or index that comes next.
    """
    stack: list[Any] = []
    on_path = 0
    for event in iter_yaml_events(text):
        kind = type(event)
        if isinstance(event, yaml.DocumentStartEvent | yaml.StreamStartEvent):
            continue
        if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            on_path = min(on_path, len(stack))
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        follows = _advance(stack, event)
        if follows is _IS_KEY:
            key = getattr(event, "value", None)
            if on_path == len(stack) <= len(path) and key == str(path[on_path - 1]):
                yield on_path, event.start_mark
            continue
        here = not stack or (
            on_path == len(stack) <= len(path) and str(follows) == str(path[on_path - 1])
        )
        if here and stack and isinstance(follows, int):
            yield on_path, event.start_mark
        if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            if here and on_path == len(stack):
                on_path += 1
            stack.append(_Keys() if kind is yaml.MappingStartEvent else -1)


class _Keys:
    """An open map: the key that was read last, if its value is to come."""

    key: Any = None


_IS_KEY: Any = object()


def _advance(stack: list[Any], event: Any) -> Any:
    """The key or index under which the event stands, or ``_IS_KEY``."""
    if not stack:
        return None
    top = stack[-1]
    if isinstance(top, int):
        stack[-1] = top + 1
        return top + 1
    if top.key is None:
        top.key = (event.value if isinstance(event, yaml.ScalarEvent) else "",)
        return _IS_KEY
    key = top.key[0]
    top.key = None
    return key
