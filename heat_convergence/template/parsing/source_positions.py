"""Lines and columns of keys in a YAML text.

Called to report an error, and only then: the text is parsed again.  Must not fail
on text that only a JSON parser accepts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from heat_convergence.template.parsing.yaml_reader import iter_yaml_events


def find_position(text: str, path: tuple[str | int, ...]) -> tuple[int, int] | None:
    """Return line and column, both from 1, of the deepest part of the path in the text."""
    best: tuple[int, tuple[int, int]] | None = None
    try:
        for depth, mark in _matches(text, path):
            if best is None or depth >= best[0]:
                best = (depth, (mark.line + 1, mark.column + 1))
    except yaml.YAMLError:
        pass  # JSON that YAML cannot parse, for example with tabs: keep what was found.
    return best[1] if best else None


def _matches(text: str, path: tuple[str | int, ...]) -> Iterator[tuple[int, Any]]:
    """Yield the number of matched path parts and the mark of every node on the path.

    ``on_path`` counts the open maps and lists, from the root, that lie on the path;
    ``stack`` holds the next key or index of each open one.
    """
    stack: list[Any] = []
    on_path = 0
    for event in iter_yaml_events(text):
        event_type = type(event)
        if isinstance(event, yaml.DocumentStartEvent | yaml.StreamStartEvent):
            continue
        if event_type is yaml.MappingEndEvent or event_type is yaml.SequenceEndEvent:
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
        is_match = not stack or (
            on_path == len(stack) <= len(path) and str(follows) == str(path[on_path - 1])
        )
        if is_match and stack and isinstance(follows, int):
            yield on_path, event.start_mark
        if event_type is yaml.MappingStartEvent or event_type is yaml.SequenceStartEvent:
            if is_match and on_path == len(stack):
                on_path += 1
            stack.append(_Keys() if event_type is yaml.MappingStartEvent else -1)


class _Keys:
    """An open map, with the key that was read last while its value is still to come."""

    key: Any = None


_IS_KEY: Any = object()


def _advance(stack: list[Any], event: Any) -> Any:
    """Return the key or index of the event in its parent, or ``_IS_KEY``."""
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
