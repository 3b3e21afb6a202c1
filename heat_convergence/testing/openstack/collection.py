"""A collection of an emulated service: its resources and their changes over time.

Decides ids, filters, pages and due changes.  Used by ``emulation``, whose clock it reads.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

Json = Any
MAX_PAGE_SIZE = 1000


@dataclass(slots=True)
class EmulatedResource:
    """A resource of an emulated service.

    Attributes:
        body: Its JSON, as lists and reads show it.
        scheduled_changes: Pairs of a time in seconds and the changes of the body then;
            None deletes the resource.
    """

    body: dict[str, Json]
    scheduled_changes: list[tuple[float, Mapping[str, Json] | None]] = field(default_factory=list)


class EmulatedCollection:
    """Resources by id, in the order of their creation."""

    def __init__(self, now_s: Callable[[], float], id_key: str = "id") -> None:
        self._now_s = now_s
        self._id_key = id_key
        self._items: dict[str, EmulatedResource] = {}
        self.on_add: Callable[[EmulatedResource], None] = lambda _item: None

    def add(self, body: dict[str, Json]) -> EmulatedResource:
        """Add a resource, with a new id unless the body has one."""
        item_id = str(body.get(self._id_key) or uuid.uuid4())
        body[self._id_key] = body.get(self._id_key) or item_id
        item = self._items[item_id] = EmulatedResource(body)
        self.on_add(item)
        return item

    def get(self, item_id: str) -> EmulatedResource | None:
        """Return the resource of this id as it is now."""
        self._apply_due_changes()
        return self._items.get(item_id)

    def remove(self, item_id: str) -> None:
        """Remove the resource of this id, if there is one."""
        self._items.pop(item_id, None)

    def __len__(self) -> int:
        self._apply_due_changes()
        return len(self._items)

    def bodies(self) -> list[dict[str, Json]]:
        """Return the bodies of all resources as they are now."""
        self._apply_due_changes()
        return [item.body for item in self._items.values()]

    def list_page(self, query: Mapping[str, list[str]]) -> tuple[list[dict[str, Json]], bool]:
        """Return a page of the bodies that match, and whether there are more.

        Args:
            query: The query string's parameters: filters, ``limit`` and ``marker``.
        """
        filters = {
            name: values
            for name, values in query.items()
            if name not in ("limit", "marker", "changes-since", "sort_key", "sort_dir")
        }
        marker = query.get("marker", [""])[0]
        limit = min(int(query.get("limit", [MAX_PAGE_SIZE])[0]), MAX_PAGE_SIZE)
        matching = (
            body for body in self._bodies_after(marker, filters) if _matches(body, filters)
        )
        page = list(islice(matching, limit + 1))
        return page[:limit], len(page) > limit

    def _bodies_after(
        self, marker: str, filters: Mapping[str, list[str]]
    ) -> Iterator[dict[str, Json]]:
        """Return the bodies after that of the marker, or all if it is in no page."""
        bodies = self.bodies()
        item = self._items.get(marker)
        known = item is not None and _matches(item.body, filters)
        return islice(bodies, list(self._items).index(marker) + 1 if known else 0, None)

    def _apply_due_changes(self) -> None:
        now_s = self._now_s()
        for item_id, item in list(self._items.items()):
            while item.scheduled_changes and item.scheduled_changes[0][0] <= now_s:
                _, changes = item.scheduled_changes.pop(0)
                if changes is None:
                    self._items.pop(item_id, None)
                else:
                    item.body.update(changes)


def _matches(body: Mapping[str, Json], filters: Mapping[str, list[str]]) -> bool:
    for name, values in filters.items():
        if name == "fixed_ips":
            _, _, subnet = values[0].partition("subnet_id=")
            if subnet not in [ip.get("subnet_id") for ip in body.get("fixed_ips") or ()]:
                return False
        elif name == "tags":
            if not set(values[0].split(",")) <= set(body.get("tags") or ()):
                return False
        elif name in body and str(body[name]) not in values:
            return False
    return True
