"""Requests about one REST resource of a cloud.

Decides paths, bodies and pages. Used by the driver, by types with behaviour and by lookups;
bodies are the service's own JSON, without their outer key. It must not retry.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from heat_convergence.clients.rest_client import CloudClient, CloudRequest, CloudResponse
from heat_convergence.common.failures import ResourceFailure, ResourceGone
from heat_convergence.resources.driver.rest_resources import RestResource

Json = Any
MAX_PAGES = 10_000
IDS_PER_QUERY = 50  # keeps a URL below the 4 KiB that proxies take


class RestResourceClient:
    """A client of one REST resource at one cloud."""

    def __init__(
        self,
        cloud: CloudClient,
        rest_resource: RestResource,
        path_values: Mapping[str, str] | None = None,
    ):
        """Bind the resource to a cloud; ``path_values`` fill the names in its path."""
        self.cloud = cloud
        self.rest_resource = rest_resource
        self._path_values = dict(path_values or {})

    def get(self, path_id: str) -> dict[str, Json]:
        """Return one object's body.

        Raises:
            ResourceGone: There is none.
        """
        return self._one(self.send("GET", self.path(path_id)))

    def create(self, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Create an object and return its body."""
        body = dict(arguments)
        return self._one(self.send("POST", self.path(), self._wrapped(body)))

    def update(self, path_id: str, arguments: Mapping[str, Json]) -> dict[str, Json]:
        """Update an object and return its body."""
        method, body = self.rest_resource.update_method, self._wrapped(dict(arguments))
        if self.rest_resource.updates_by_patch:
            body = [_patch(name, value) for name, value in sorted(arguments.items())]
        return self._one(self.send(method, self.path(path_id), body))

    def delete(self, path_id: str) -> bool:
        """Delete an object; return False when it is missing already."""
        try:
            self.send("DELETE", self.path(path_id))
        except ResourceGone:
            return False
        return True

    def action(self, path_id: str, name: str, arguments: Json = None) -> Json:
        """Call an ``action`` of Nova or Cinder and return the response's body."""
        return self.send("POST", self.path(path_id, "action"), {name: arguments}).body

    def list(self, **query: Json) -> Iterator[dict[str, Json]]:
        """Yield the bodies that match the query, page by page."""
        parameters: dict[str, Json] = dict(self.rest_resource.list_query)
        parameters.update((name, value) for name, value in query.items() if value is not None)
        path = self._filled(self.rest_resource.list_path_template)
        last, count = None, 0
        for _ in range(MAX_PAGES):
            body = self.send("GET", path, query=parameters).body
            items = [self._bare(item) for item in _items(body, self.rest_resource.list_key)]
            yield from items
            marker = items[-1].get(self.rest_resource.id_key) if items else None
            if not _has_next_page(body, self.rest_resource.list_key) or marker in (None, last):
                return
            last, count = marker, count + len(items)
            if self.rest_resource.paged_by_offset:
                parameters["offset"] = count
            else:
                parameters["marker"] = marker

    def list_by_ids(self, ids: Sequence[str]) -> dict[str, dict[str, Json]]:
        """Return id → body of the objects that exist, for services that filter by id."""
        found: dict[str, dict[str, Json]] = {}
        for start in range(0, len(ids), IDS_PER_QUERY):
            for body in self.list(id=list(ids[start : start + IDS_PER_QUERY])):
                found[str(body[self.rest_resource.id_key])] = body
        return found

    def find_by_name(self, name: str, **query: Json) -> builtins.list[dict[str, Json]]:
        """Return the bodies of objects with exactly this name."""
        key = self.rest_resource.name_key
        if key is None:
            return []
        if self.rest_resource.name_query is not None:
            query = {self.rest_resource.name_query: name, **query}
        return [body for body in self.list(**query) if body.get(key) == name]

    def path(self, *parts: str) -> str:
        """Return the resource's path with segments appended.

        ``parts`` are ids, which may hold any character, or names of the service.
        """
        if self.rest_resource.ids_are_urls:
            parts = tuple(part.rstrip("/").rpartition("/")[2] for part in parts)
        return "/".join(
            (
                self._filled(self.rest_resource.path_template),
                *(quote(part, safe="") for part in parts),
            )
        )

    def send(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        query: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> CloudResponse:
        """Send a request to the resource's service."""
        request = CloudRequest(
            service=self.rest_resource.service,
            method=method,
            path=path,
            body=body,
            query=dict(query or {}),
            headers={**dict(self.rest_resource.headers), **(headers or {})},
            microversion=self.rest_resource.microversion,
        )
        return self.cloud.send(request)

    def _filled(self, path: str) -> str:
        try:
            return path % {
                name: quote(value, safe="") for name, value in self._path_values.items()
            }
        except KeyError as error:
            raise ResourceFailure(f"{path}: {error} is not known") from error

    def _wrapped(self, body: dict[str, Json]) -> Json:
        return body if self.rest_resource.item_key is None else {self.rest_resource.item_key: body}

    def _bare(self, item: dict[str, Json]) -> dict[str, Json]:
        """Remove the outer key of a list's item, which Nova's key pairs have."""
        one = self.rest_resource.item_key
        return dict(item[one]) if one is not None and set(item) == {one} else item

    def _one(self, answer: CloudResponse) -> dict[str, Json]:
        body = answer.body
        if isinstance(body, Mapping) and self.rest_resource.item_key is not None:
            body = body.get(self.rest_resource.item_key, body)
        return dict(body) if isinstance(body, Mapping) else {}


def _patch(name: str, value: Json) -> dict[str, Json]:
    """Return the operation of a JSON patch that sets a field, or removes it for None."""
    path = f"/{name}"
    if value is None:
        return {"op": "remove", "path": path}
    return {"op": "replace", "path": path, "value": value}


def _items(body: Json, key: str | None) -> list[dict[str, Json]]:
    if isinstance(body, Mapping):
        body = body.get(key) if key is not None else body
    return list(body) if isinstance(body, Iterable) and not isinstance(body, Mapping) else []


def _has_next_page(body: Json, key: str | None) -> bool:
    """Return whether a list response links to another page.

    Nova, Cinder, Neutron and Octavia link in ``<key>_links``, Keystone and Zaqar in ``links``,
    Glance and Barbican in ``next``. Zaqar's last page links to an empty one.
    """
    if not isinstance(body, Mapping):
        return False
    own = body.get("links")
    links = body.get(f"{key}_links") or (own if isinstance(own, Sequence) else ())
    if any(link.get("rel") == "next" for link in links):
        return True
    return bool(body.get("next") or (isinstance(own, Mapping) and own.get("next")))
