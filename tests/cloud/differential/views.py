"""All views of one stack, as maps whose keys are names rather than positions.

Keys of named things begin with ``@``, so that a report can group what differs alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from tests.cloud.differential.service_side import Answer, ServiceSide

Json = Any
_MOST_SHOWN = 6


class StackViews:
    """Reads of one stack; remembers which events it has returned."""

    def __init__(self, side: ServiceSide, name: str) -> None:
        self._side = side
        self._name = name
        self._known_event_ids: set[str] = set()

    def read(self, path: str) -> Json:
        """Return every view of the stack; only events that are new."""
        if not path:
            return {"stack": 404}
        get = self._side.get
        shown = get(path)
        if shown.code != 200 or shown.body["stack"]["stack_status"] == "DELETE_COMPLETE":
            return {"stack": _by_relation(shown.as_json()), "listed": self._listed()}
        views = {"stack": _by_relation(shown.body["stack"]), "listed": self._listed()}
        views["stack"]["outputs"] = _named(shown.body["stack"].get("outputs") or [], "output_key")
        views.update(self._events(path))
        views.update(self._resources(path))
        for name in ("template", "environment", "files", "snapshots"):
            views[name] = _by_relation(_content(get(f"{path}/{name}")))
        views["output list"] = _named(get(f"{path}/outputs").body["outputs"], "output_key")
        for output in shown.body["stack"].get("outputs") or []:
            key = output["output_key"]
            views.setdefault("output", {})[f"@{key}"] = _content(
                get(f"{path}/outputs/{quote(key, safe='')}"))  # fmt: skip
        return views

    def _listed(self) -> Json:
        answer = self._side.get(f"/stacks?show_nested=False&name={quote(self._name)}")
        if answer.code != 200:
            return answer.as_json()
        return [_by_relation(each) for each in answer.body["stacks"]]

    def _resources(self, path: str) -> dict[str, Json]:
        answer = self._side.get(f"{path}/resources?nested_depth=5&with_detail=true")
        if answer.code != 200:
            return {"resources": answer.as_json()}
        listed = answer.body["resources"]
        tops = [each["resource_name"] for each in listed if "parent_resource" not in each]
        views: dict[str, Json] = {"resources": {}, "resource": {}, "metadata": {}}
        for each in listed:
            views["resources"][f"@{_location(each)}"] = _by_relation(each)
        for name in sorted(tops)[:_MOST_SHOWN]:
            target = f"{path}/resources/{quote(name, safe='')}"
            views["resource"][f"@{name}"] = _by_relation(_content(self._side.get(target)))
            metadata = _content(self._side.get(f"{target}/metadata"))
            views["metadata"][f"@{name}"] = metadata
        return views

    def _events(self, path: str) -> dict[str, Json]:
        """Return the events as lines, and each resource's last one in detail."""
        own = self._side.get(f"{path}/events?sort_dir=asc")
        nested = self._side.get(f"{path}/events?nested_depth=5&sort_dir=asc")
        if own.code != 200 or nested.code != 200:
            return {"events": own.as_json(), "nested events": nested.as_json()}
        # Heat's second list is empty for a stack without resources.
        listed = {each["id"]: each for each in [*nested.body["events"], *own.body["events"]]}
        fresh = [each for id_, each in listed.items() if id_ not in self._known_event_ids]
        self._known_event_ids.update(each["id"] for each in fresh)
        lines: dict[str, list[str]] = {}
        last: dict[str, Json] = {}
        for each in fresh:
            place = f"@{_location(each)}"
            lines.setdefault(place, []).append(_event_line(each))
            last[place] = each
        shown = {}
        # Heat has no events of nested stacks without resources: they would take others' places.
        detailed = [place for place in sorted(last) if not _is_of_nested_stack(place, self._name)]
        for place in detailed[:_MOST_SHOWN]:
            link = _link(last[place], "self").removeprefix(self._side.url)
            shown[place] = _by_relation(_content(self._side.get(link)))
        return {"events": lines, "event links": _by_relation(last), "event": shown,
                "has nested events": bool(nested.body["events"])}  # fmt: skip


def _is_of_nested_stack(place: str, root_name: str) -> bool:
    """Return whether a place is that of a nested stack's own events."""
    stack, _, name = place.removeprefix("@").partition(" ")
    return stack == name != root_name


def _content(answer: Answer) -> Json:
    return answer.body if answer.code == 200 else answer.as_json()


def _named(items: Iterable[Json], key: str) -> dict[str, Json]:
    return {f"@{each[key]}": each for each in items}


def _link(item: Json, relation: str) -> str:
    return next((each["href"] for each in item["links"] if each["rel"] == relation), "")


def _location(item: Json) -> str:
    """Return stack name and resource name of a resource or an event."""
    stack = _link(item, "stack").split("/stacks/")[-1].split("/")[0]
    return f"{stack} {item['resource_name']}"


def _event_line(event: Json) -> str:
    return " | ".join(
        str(event[key])
        for key in ("resource_status", "physical_resource_id", "resource_status_reason")
    )


def _by_relation(value: Json) -> Json:
    """Replace lists of links by maps of their relations, at any depth."""
    if isinstance(value, dict):
        changed = {key: _by_relation(inner) for key, inner in value.items()}
        links = value.get("links")
        if isinstance(links, list) and all(isinstance(each, dict) for each in links):
            changed["links"] = {str(each.get("rel")): each.get("href") for each in links}
        return changed
    if isinstance(value, list):
        return [_by_relation(each) for each in value]
    return value
