"""Replacement of ids, times and random names by words that are the same on both sides."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

Json = Any
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])")
_MEMBER_NAME = re.compile(r"[a-z0-9]{12}")  # of a scaling group, unless the story has it
_PORT_HOST = re.compile(r"\bhost(-\d+){4}\b")
_HOST_ID = re.compile(r"\b[0-9a-f]{56}\b")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
_RANDOM_NAME = re.compile(r"(?<=[0-9A-Za-z_.])-[a-z0-9]{12}(?![0-9a-zA-Z])")
_REQUEST_ID = re.compile(r"req-<uuid>")
_MAC = re.compile(r"\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b")
_ALLOCATED_ADDRESS = re.compile(
    r"\b10\.\d+\.0\.(?!0/|1\b|[29]\b|254\b)\d+\b|\b172\.24\.\d+\.(?!0/)\d+\b"
)
_PASSWORD = re.compile(r'(?<="password": )"(\\.|[^"\\])*"')
_BOUNDARY = re.compile(r"={15}[0-9a-f]+==")
_SHORTEST_ID = 8
_RESOURCE_ID = re.compile(r"<id of (.+) \d+>")
# Heat returns snapshots and configurations in the order of their random ids.
_UNORDERED = frozenset({
    "required_by", "subnets", "template_functions", "added", "deleted", "replaced", "unchanged",
    "updated", "snapshots", "software_configs",
})  # fmt: skip
_NAMES_OF_ITEMS = ("functions", "resource_name", "name")


class Normaliser:
    """The words for one service's ids, learned as they are seen.

    The n-th physical id of a resource is ``<id of NAME n>``, so that a replacement shows.
    NAME has the stack before it for a resource of a nested stack.

    Args:
        texts: texts of the side and the words for them.
        root_name: the name of the story's stack.
        story_text: the story, whose own names are not random.
    """

    def __init__(
        self, texts: Mapping[str, str], root_name: str = "", story_text: str = ""
    ) -> None:
        self._root_name = root_name
        self._story_text = story_text
        self._texts = dict(texts)
        self._counts: dict[str, int] = {}

    def learn(self, name: str, identifier: object) -> None:
        """Note the next physical id of a resource."""
        if not isinstance(identifier, str) or len(identifier) < _SHORTEST_ID:
            return
        if identifier in self._texts:
            return
        self._counts[name] = self._counts.get(name, 0) + 1
        self._texts[identifier] = f"<id of {name} {self._counts[name]}>"

    def learn_views(self, views: Json) -> None:
        """Note the ids in events, in their order, and in the list of resources."""
        events = _maps(views.get("events"))
        # In the order of their names, as services begin members of a group in any order.
        for place in sorted(events):
            self._learn_member(place.rpartition(" ")[2])
        # A resource names its nested stack, whose own events come in any order with its own.
        for place in sorted(events, key=lambda each: (_is_of_stack(each), each)):
            lines = events[place]
            for line in lines if isinstance(lines, list) else ():
                identifier = line.split(" | ")[1]
                self.learn(self._label(place), None if identifier == "None" else identifier)
        for place, each in _maps(views.get("resources")).items():
            self._learn_item(self._label(place), each)

    def _label(self, place: str) -> str:
        """Return the name by which a resource's ids are numbered."""
        stack, _, name = place.removeprefix("@").rpartition(" ")
        # Until a nested stack is complete, Heat has its name as the physical id of its resource.
        if stack == name and (known := _RESOURCE_ID.fullmatch(self._texts.get(name, ""))):
            return known[1]
        return name if stack in ("", self._root_name) else self.text(f"{stack} {name}")

    def _learn_member(self, name: str) -> None:
        """Number the members of scaling groups, whose names are random."""
        if name in self._texts or name in self._story_text:
            return
        if _MEMBER_NAME.fullmatch(name):
            self._counts["member"] = self._counts.get("member", 0) + 1
            self._texts[name] = f"<member {self._counts['member']}>"

    def _learn_item(self, label: str, item: Json) -> None:
        if isinstance(item, dict) and item.get("physical_resource_id") and "links" in item:
            self.learn(label, item["physical_resource_id"])
            value = _maps(item.get("attributes")).get("value")
            if item.get("resource_type") == "OS::Heat::RandomString":
                self.learn(f"value of {label}", value)

    def apply(self, value: Json) -> Json:
        """Return a value with all ids, times and random names replaced."""
        if isinstance(value, dict):
            return {
                self.text(str(key)): self.apply(
                    sorted(inner, key=_set_order) if _is_set(key, inner) else inner
                )
                for key, inner in value.items()
            }
        if isinstance(value, list):
            return [self.apply(each) for each in value]
        return self.text(_sorted_map(value)) if isinstance(value, str) else value

    def text(self, text: str) -> str:
        """Return a text with all ids, times and random names replaced."""
        for known in sorted(self._texts, key=len, reverse=True):
            if known in text:
                text = text.replace(known, self._texts[known])
        text = _TIME.sub("<time>", text)
        text = _UUID.sub("<uuid>", text)
        text = _HEX.sub("<hex>", text)
        text = _PORT_HOST.sub("<host>", text)
        text = _HOST_ID.sub("<host>", text)
        text = _REQUEST_ID.sub("<request>", text)
        text = _MAC.sub("<mac>", text)
        text = _ALLOCATED_ADDRESS.sub("<address>", text)
        text = text.replace('/v3/"', '/v3"')  # Keystone's address in signals
        text = _PASSWORD.sub('"<password>"', text)
        text = _BOUNDARY.sub("<boundary>", text)
        return _RANDOM_NAME.sub("-<random>", text)


def _is_set(key: object, value: Json) -> bool:
    """Return whether a value is a list without an order."""
    return key in _UNORDERED and isinstance(value, list)


def _set_order(item: Json) -> str:
    """Return what orders an item: its name, else its text."""
    if not isinstance(item, dict):
        return str(item)
    return str(next((item[key] for key in _NAMES_OF_ITEMS if key in item), item))


def _sorted_map(text: str) -> str:
    """Return a map in JSON with its keys in order, any other text as it is."""
    if not text.startswith("{"):
        return text
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except ValueError:
        return text


def _is_of_stack(place: str) -> bool:
    """Return whether a place is that of a stack's own events."""
    stack, _, name = place.removeprefix("@").partition(" ")
    return stack == name


def _maps(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}
