"""A reader that builds JSON data from YAML parser events.

Called by the document loader alone.  Decides the meaning of scalars, anchors and
merge keys.  Must not recurse, and must count what aliases expand to before any other
code walks the data.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from heat_convergence.common import strict_json
from heat_convergence.common.values.packed_map import JSON, MapPacker
from heat_convergence.template.evaluation_budget import charge_if_bounded
from heat_convergence.template.limits import TemplateLimits

Json = Any
SCALAR_TYPES = (str, int, float, bool, type(None))

_TAG = "tag:yaml.org,2002:"
_MERGE_KEY = "<<"
_TEXT_TAGS = frozenset({_TAG + "str", _TAG + "timestamp", _TAG + "value", "!"})
_CONSTRUCT = yaml.constructor.SafeConstructor()
_NUMBERS = frozenset({int, float})
_EVENTS_PER_CHARGE = 1_000
_STEPS_PER_EVENT = 2
_PARSER_DEPTH_EXCEEDED = "exceeded maximum nesting depth"  # libyaml's words, since 0.2.6
_MAX_NUMBER_CHARS = 400  # of a scalar that is no text; in base 60 they take quadratic time


class LimitExceeded(Exception):
    """A limit was exceeded; the text names it and continues a sentence about the document."""


@dataclass(slots=True)
class _Frame:
    """A map or list under construction.

    ``nodes``, ``size`` and ``height`` are measured with aliases expanded.
    """

    value: Any
    mark: Any
    anchor: str | None
    key: Json = None
    has_key: bool = False
    merged: list[dict[str, Json]] = field(default_factory=list)
    nodes: int = 1
    size: int = 0
    height: int = 1


def read_yaml(text: str, limits: TemplateLimits, packed_sections: Collection[str] = ()) -> Json:
    """Return the one document in the text as JSON data.

    Args:
        text: The text.
        limits: Limits on the document.
        packed_sections: Keys of the document at which a map of very many members is packed.

    Raises:
        yaml.YAMLError: The text is not a YAML document, or uses a tag that is refused.
        ValueError: A scalar cannot be converted.
        LimitExceeded: A limit was exceeded.
        RequestLimitExceeded: The request has no steps left to read it.
    """
    return _Reader(limits, packed_sections).read(text)


def json_key(key: Json) -> str:
    """Return a map key as JSON would spell it."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)


class _Reader:
    """The state of one reading."""

    def __init__(self, limits: TemplateLimits, packed_sections: Collection[str]) -> None:
        self._limits = limits
        self._packed_sections = packed_sections
        self._anchors: dict[str, tuple[Json, int, int, int]] = {}
        self._stack: list[_Frame] = []
        self._plain: dict[str, Json] = {}
        self._resolve: Callable[..., str] = yaml.resolver.Resolver().resolve
        self._root: Json = None

    def read(self, text: str) -> Json:
        """Read the only document of the text."""
        documents = 0
        for event in _within_parser_depth(iter_yaml_events(text)):
            event_type = type(event)
            if event_type is yaml.ScalarEvent:
                self._place(self._scalar(event), event)
            elif event_type is yaml.MappingStartEvent or event_type is yaml.SequenceStartEvent:
                self._open(event, event_type is yaml.MappingStartEvent)
            elif event_type is yaml.MappingEndEvent or event_type is yaml.SequenceEndEvent:
                self._close()
            elif event_type is yaml.AliasEvent:
                self._alias(event)
            elif event_type is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise _error("a second document begins", event.start_mark)
        return self._root

    def _open(self, event: Any, is_map: bool) -> None:
        tag = event.tag
        if tag not in (None, "!", _TAG + ("map" if is_map else "seq")):
            raise _error(f"the tag {tag!r} is not allowed", event.start_mark)
        self._check_depth(len(self._stack) + 1, event.start_mark)
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        value = self._new_map(event) if is_map else []
        self._stack.append(_Frame(value, event.start_mark, event.anchor))

    def _new_map(self, event: Any) -> Json:
        root = self._stack[0] if len(self._stack) == 1 else None
        if root is None or event.anchor:  # its aliases may be anywhere
            return {}
        return MapPacker(JSON) if root.has_key and root.key in self._packed_sections else {}

    def _close(self) -> None:
        frame = self._stack.pop()
        if isinstance(frame.value, MapPacker):
            frame.value = frame.value.finish()
        if frame.merged:
            merged: dict[str, Json] = {}
            for source in reversed(frame.merged):
                merged.update(source)
            frame.value = {**merged, **frame.value}
        measured = (frame.value, frame.nodes, frame.size, frame.height)
        if frame.anchor:
            self._anchors[frame.anchor] = measured
        self._add(*measured, mark=frame.mark)

    def _place(self, value: Json, event: Any) -> None:
        size = len(event.value)
        if event.anchor:
            self._anchors[event.anchor] = (event.value if value is _MERGE else value, 1, size, 0)
        self._add(value, 1, size, 0, mark=event.start_mark)

    def _alias(self, event: Any) -> None:
        known = self._anchors.get(event.anchor)
        if known is None:
            # An anchor of a map or list that is still open would make it contain itself.
            raise _error(f"the alias {event.anchor!r} has no anchor", event.start_mark)
        charge_if_bounded(known[1])
        self._add(*known, mark=event.start_mark)

    def _check_depth(self, depth: int, mark: Any) -> None:
        if depth > self._limits.max_depth:
            raise LimitExceeded(
                f"is nested deeper than {self._limits.max_depth} at line {mark.line + 1}"
            )

    def _add(self, value: Json, nodes: int, size: int, height: int, *, mark: Any) -> None:
        if not self._stack:
            self._root = value
            return
        frame = self._stack[-1]
        self._check_depth(len(self._stack) + height, mark)
        frame.height = max(frame.height, height + 1)
        frame.nodes += nodes
        frame.size += size
        self._check_growth(frame)
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif not frame.has_key:
            self._key(frame, value, mark)
        else:
            frame.has_key = False
            if frame.key is _MERGE:
                frame.merged.extend(_merge_sources(value, frame.mark))
            else:
                frame.value[frame.key] = value

    def _check_growth(self, frame: _Frame) -> None:
        if frame.nodes > self._limits.max_nodes:
            raise LimitExceeded(
                f"has more than {self._limits.max_nodes} nodes with aliases followed"
            )
        if frame.size > self._limits.max_expanded_size:
            raise LimitExceeded(
                f"grows beyond {self._limits.max_expanded_size} characters with aliases followed"
            )

    def _key(self, frame: _Frame, value: Json, mark: Any) -> None:
        if isinstance(value, dict | list):
            raise _error("a map or list cannot be a key", mark)
        frame.key = value if value is _MERGE else json_key(value)
        frame.has_key = True

    def _scalar(self, event: Any) -> Json:
        text: str = event.value
        if event.style == '"':
            _check_text(text, event.start_mark)  # escapes can make any character
        if event.tag is None and not event.implicit[0]:
            return text  # quoted
        if event.tag is None or (event.tag == "!" and event.implicit[0]):
            if text in self._plain:
                return self._plain[text]
            tag: str = self._resolve(yaml.ScalarNode, text, (True, False))
            value = self._typed(text, tag, event)
            if len(text) < 64 and tag != _TAG + "merge":
                self._plain[text] = value
            return value
        return self._typed(text, event.tag, event)

    def _typed(self, text: str, tag: str, event: Any) -> Json:
        if tag in _TEXT_TAGS:
            return text
        if tag == _TAG + "merge":
            return self._merge_mark(text)
        if len(text) > _MAX_NUMBER_CHARS:
            what = f"a {tag.removeprefix(_TAG)} of {len(text)} characters"
            raise _error(f"{what}; at most {_MAX_NUMBER_CHARS} are allowed", event.start_mark)
        node = yaml.ScalarNode(tag, text, event.start_mark, event.end_mark)
        try:
            value = self._constructed(tag, node)
        except OverflowError as error:
            raise _error(f"{text} is larger than a number can be", event.start_mark) from error
        except (ValueError, KeyError, IndexError) as error:
            raise _error(f"{text!r} is not of the type {tag!r}", event.start_mark) from error
        if type(value) in _NUMBERS:
            _check_number(value, text, event.start_mark)
        return value

    def _constructed(self, tag: str, node: yaml.ScalarNode) -> Json:
        if tag == _TAG + "null":
            return None
        if tag == _TAG + "bool":
            return _CONSTRUCT.construct_yaml_bool(node)
        if tag == _TAG + "int":
            return _CONSTRUCT.construct_yaml_int(node)
        if tag == _TAG + "float":
            return _CONSTRUCT.construct_yaml_float(node)
        raise _error(f"the tag {tag!r} is not allowed", node.start_mark)

    def _merge_mark(self, text: str) -> Json:
        frame = self._stack[-1] if self._stack else None
        if frame is not None and not isinstance(frame.value, list) and not frame.has_key:
            return _MERGE
        return text


class _Merge:
    """The key of a merge (``<<``), wherever a key is expected."""


_MERGE: Any = _Merge()


def _merge_sources(value: Json, mark: Any) -> Iterator[dict[str, Json]]:
    """Yield the maps to merge, the one with the highest precedence first."""
    for source in value if isinstance(value, list) else [value]:
        if not isinstance(source, dict):
            raise _error("only maps can be merged into a map", mark)
        yield source


def iter_yaml_events(text: str) -> Iterator[Any]:
    """Yield the events of the C parser.

    Raises:
        yaml.YAMLError: The text is not YAML.
        RequestLimitExceeded: The request has no steps left to read it.
    """
    loader = yaml.CSafeLoader(text)
    count = 0
    try:
        while loader.check_event():
            if count % _EVENTS_PER_CHARGE == 0:
                charge_if_bounded(_EVENTS_PER_CHARGE * _STEPS_PER_EVENT)
            count += 1
            yield loader.get_event()
    finally:
        loader.dispose()


def _within_parser_depth(events: Iterator[Any]) -> Iterator[Any]:
    """Yield the events, with the parser's own bound of nesting as an exceeded limit.

    The scanner reads ahead, so newer parsers meet their bound before the reader meets the limit.

    Raises:
        LimitExceeded: The text is nested deeper than the parser reads.
    """
    try:
        yield from events
    except yaml.scanner.ScannerError as error:
        if error.problem != _PARSER_DEPTH_EXCEEDED:
            raise
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise LimitExceeded(f"is nested deeper than YAML parsers read at line {line}") from error


def _check_number(number: float, text: str, mark: Any) -> None:
    try:
        strict_json.check_number(number)
    except ValueError as error:
        raise _error(f"{text} is not a number that JSON has: {error}", mark) from error


def _check_text(text: str, mark: Any) -> None:
    try:
        strict_json.check_text(text)
    except ValueError as error:
        raise _error(str(error), mark) from error


def _error(message: str, mark: Any) -> yaml.YAMLError:
    return yaml.MarkedYAMLError(problem=message, problem_mark=mark)
