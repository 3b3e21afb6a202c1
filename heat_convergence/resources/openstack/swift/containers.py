"""``OS::Swift::Container``: the service tells and takes everything in headers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from heat_convergence.common.errors import ResourceGone
from heat_convergence.convergence.model.action import Action
from heat_convergence.convergence.model.job import ObservedState
from heat_convergence.resources.driver.declarative import DeclarativeType
from heat_convergence.resources.protocol.resource_type import ResourceContext, VerbResult

Json = Any
PURGE_ON_DELETE = "PurgeOnDelete"
_ACCESS = ("X-Container-Read", "X-Container-Write")
_METADATA = {"X-Container-Meta": "X-Container-Meta-", "X-Account-Meta": "X-Account-Meta-"}
_COUNTS = {"ObjectCount": "x-container-object-count", "BytesUsed": "x-container-bytes-used"}


class Container(DeclarativeType):
    """Its name is its id; making one that is there changes its headers alone."""

    def create(self, view: ResourceContext) -> VerbResult:
        calls, name = self.client(view), self._name(view)
        account = _headers(view.properties, ("X-Account-Meta",))
        if account:
            calls.send("POST", "/", headers=account)
        access = {key: view.properties[key] for key in _ACCESS if view.properties.get(key)}
        headers = {**access, **_headers(view.properties, ("X-Container-Meta",))}
        calls.send("PUT", _path(name), headers=headers)
        return self._seen(view, name)

    def resume_create(self, view: ResourceContext) -> VerbResult:
        return self.create(view)

    def find(self, view: ResourceContext) -> str | None:
        name = self._name(view)
        return name if self._head(view, name) is not None else None

    def observe(self, view: ResourceContext) -> VerbResult:
        return (
            VerbResult(ObservedState.ABSENT)
            if view.physical_id is None
            else (self._seen(view, view.physical_id))
        )

    def observe_many(self, views: Any) -> Mapping[str, VerbResult]:
        return {view.resource_id: self.observe(view) for view in views}

    def delete(self, view: ResourceContext) -> VerbResult:
        if view.physical_id is None:
            return VerbResult(ObservedState.ABSENT)
        calls = self.client(view)
        if view.properties.get(PURGE_ON_DELETE):
            self._purge(view, view.physical_id)
        with contextlib.suppress(ResourceGone):
            calls.send("DELETE", _path(view.physical_id))
        return VerbResult(ObservedState.ABSENT)

    def _purge(self, view: ResourceContext, name: str) -> None:
        calls = self.client(view)
        try:
            listed = calls.send("GET", _path(name), query={"format": "json"}).body or ()
        except ResourceGone:
            return
        for item in listed:
            calls.send("DELETE", f"{_path(name)}/{quote(item['name'], safe='')}")

    def _seen(self, view: ResourceContext, name: str) -> VerbResult:
        shown = self._head(view, name)
        if shown is None:
            return VerbResult(ObservedState.ABSENT, reason="it is not there")
        if view.action is Action.DELETE:
            return VerbResult(ObservedState.BUSY, physical_id=name)
        url = f"{self.cloud(view).endpoint_url(self.spec.rest_resource.service).rstrip('/')}{_path(name)}"  # noqa: E501
        return VerbResult(ObservedState.READY, name, {"show": shown, "url": url})

    def _head(self, view: ResourceContext, name: str) -> dict[str, str] | None:
        try:
            answer = self.client(view).send("HEAD", _path(name))
        except ResourceGone:
            return None
        return {key.lower(): value for key, value in answer.headers.items()}

    def attribute(self, view: ResourceContext, name: str) -> Json:
        shown, url = view.attributes.get("show"), view.attributes.get("url")
        if not shown or not url:
            return None
        if name in ("show", "HeadContainer"):
            return shown
        if name in _COUNTS:
            return int(shown.get(_COUNTS[name], 0))
        parts = urlsplit(url)
        return {
            "DomainName": parts.hostname,
            "WebsiteURL": url,
            "RootURL": f"{parts.scheme}://{parts.netloc}{parts.path.rpartition('/')[0]}",
        }.get(name)

    @staticmethod
    def _name(view: ResourceContext) -> str:
        return str(view.properties.get("name") or view.physical_name)


def _headers(properties: Mapping[str, Json], names: tuple[str, ...]) -> dict[str, str]:
    return {
        f"{_METADATA[name]}{key}": str(value)
        for name in names
        for key, value in (properties.get(name) or {}).items()
    }


def _path(name: str) -> str:
    return "/" + quote(name, safe="")
