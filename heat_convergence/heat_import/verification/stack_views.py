"""The public views of one stack, read from both services side by side.

Called by ``verifier``. Items of lists are compared by name or id where the order has no meaning.
One view is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from heat_convergence.heat_import.verification.differences import (
    ABSENT,
    Difference,
    find_differences,
)
from heat_convergence.heat_import.verification.view_client import (
    ViewClient,
    ViewResponse,
    quoted,
)

Json = Any
_CONFIG_TYPES = frozenset(
    f"OS::Heat::{name}"
    for name in (
        *("CloudConfig", "MultipartMime", "SoftwareComponent", "SoftwareConfig"),
        "StructuredConfig",
    )
)
_DEPLOYMENT_TYPES = frozenset({"OS::Heat::SoftwareDeployment", "OS::Heat::StructuredDeployment"})
_SERVER_TYPES = frozenset({"OS::Nova::Server", "OS::Heat::DeployedServer"})
_UNORDERED = frozenset({"encrypted_param_names", "links", "required_by"})
# Events get new ids with the import; a link of an event ends in its id.
_EVENT_IDENTITY = ("id", "links")


@dataclass(frozen=True, slots=True)
class StackLocation:
    """A stack, as a list of stacks has it."""

    id: str
    name: str
    parent: str | None

    @property
    def path(self) -> str:
        """The path of the stack in the API."""
        return f"/stacks{quoted(self.name, self.id)}"


@dataclass(frozen=True, slots=True)
class StackComparison:
    """The comparison of one stack.

    Attributes:
        heat: Client of Heat.
        own: Client of this service.
        stack: The stack, which both have.
    """

    heat: ViewClient
    own: ViewClient
    stack: StackLocation

    def find_differences(self) -> Iterator[Difference]:
        """Yield every difference of the views."""
        for view, key in (("", "stack"), ("/outputs", "outputs"), ("/snapshots", "snapshots")):
            yield from self._compare_view(key, view)
        for name in ("template", "environment", "files"):
            yield from self._compare_view(name, f"/{name}")
        yield from self._compare_resources()
        yield from self._compare_events()

    def _compare_view(self, label: str, view: str) -> Iterator[Difference]:
        path = self.stack.path + view
        yield from _compare(label, self.heat.get(path), self.own.get(path))

    # -- resources

    def _compare_resources(self) -> Iterator[Difference]:
        path = f"{self.stack.path}/resources"
        heat, own = self.heat.get(path), self.own.get(path)
        types = _types_by_name(heat)
        heat, own = (_with_types(each, types) for each in (heat, own))
        yield from _compare("resources", heat, own)
        if not (heat.is_found and own.is_found):
            return
        own_names = {each["resource_name"] for each in own.body["resources"]}
        for each in heat.body["resources"]:
            if each["resource_name"] in own_names:
                for found in self._compare_resource(each, types):
                    yield replace(found, resource_type=each["resource_type"])

    def _compare_resource(self, listed: Json, types: Mapping[str, str]) -> Iterator[Difference]:
        name, physical_id = listed["resource_name"], listed["physical_resource_id"]
        path = f"/resources{quoted(name)}"
        label = f"resources/{name}"
        shown = (each.get(self.stack.path + path) for each in (self.heat, self.own))
        yield from _compare(f"{label}/show", *(_with_types(each, types) for each in shown))
        yield from self._compare_view(f"{label}/metadata", f"{path}/metadata")
        if physical_id:
            yield from self._compare_software(label, listed["resource_type"], physical_id)

    def _compare_software(
        self, label: str, resource_type: str, physical_id: str
    ) -> Iterator[Difference]:
        for types, part, path in (
            (_CONFIG_TYPES, "config", "/software_configs"),
            (_DEPLOYMENT_TYPES, "deployment", "/software_deployments"),
            (_SERVER_TYPES, "deployments", "/software_deployments/metadata"),
        ):
            if resource_type in types:
                target = path + quoted(physical_id)
                found = self.heat.get(target), self.own.get(target)
                yield from _compare(f"{label}/{part}", *found)

    # -- events

    def _compare_events(self) -> Iterator[Difference]:
        """Compare the newest events, as many as were imported.

        Both lists are read a page at a time. Only this service has a limit.
        """
        for number, (heat, own) in enumerate(
            zip_longest(self._events(self.heat), self._events(self.own), fillvalue=ABSENT)
        ):
            if own is ABSENT:
                return
            yield from find_differences(f"events/{number}", heat, own)

    def _events(self, client: ViewClient) -> Iterator[Json]:
        pages = client.list_pages(f"{self.stack.path}/events", "events", sort_dir="desc")
        for each in chain.from_iterable(pages):
            yield {name: item for name, item in each.items() if name not in _EVENT_IDENTITY}


def _types_by_name(listed: ViewResponse) -> dict[str, str]:
    found = listed.body["resources"] if listed.is_found else ()
    return {each["resource_name"]: each["resource_type"] for each in found}


def _with_types(response: ViewResponse, types: Mapping[str, str]) -> ViewResponse:
    """Return the view with ``required_by`` as types by name, so that each name is compared."""
    if not response.is_found:
        return response
    [(key, content)] = response.body.items()
    items = content if isinstance(content, list) else [content]
    changed = [
        {**each, "required_by": {name: types.get(name) for name in each["required_by"]}}
        for each in items
    ]
    return replace(response, body={key: changed if content is items else changed[0]})


def _compare(label: str, heat: ViewResponse, own: ViewResponse) -> Iterator[Difference]:
    if heat.status != own.status:
        yield Difference(label, f"status {heat.status}", f"status {own.status}")
    elif heat.is_found:
        yield from find_differences(label, *(_content(each.body) for each in (heat, own)))


def _content(body: Json) -> Json:
    """Return the document without its envelope, with its lists of named items as maps."""
    if isinstance(body, Mapping) and len(body) == 1:
        (key,) = body
        if isinstance(body[key], list):
            return _by_name(body[key])
        if key in ("stack", "resource", "software_config", "software_deployment"):
            return _ordered(body[key])
    return _ordered(body) if isinstance(body, Mapping) else body


def _ordered(document: Json) -> Json:
    found = dict(document)
    for name in _UNORDERED & found.keys():
        if isinstance(found[name], list):
            found[name] = sorted(found[name], key=str)
    if isinstance(found.get("outputs"), list):
        found["outputs"] = _by_name(found["outputs"])
    return found


def _by_name(items: Json) -> Json:
    """Return items by their names, or as they are if they have none or share one."""
    for key in ("resource_name", "output_key", "id"):
        if all(isinstance(each, Mapping) and key in each for each in items):
            found = {str(each[key]): _ordered(each) for each in items}
            if len(found) == len(items):
                return found
    return items
